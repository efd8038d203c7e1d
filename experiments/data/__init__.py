"""What everything else reads: plans, recordings, series, and formulas over them."""
