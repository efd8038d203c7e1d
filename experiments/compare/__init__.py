"""Results that were kept, side by side: `pcn compare`."""
