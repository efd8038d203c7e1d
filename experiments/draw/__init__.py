"""Pictures: charts as PNG and SVG, a topology as SVG."""
