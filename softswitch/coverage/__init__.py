"""What of a program packets ran through: counts of covered programs (codegen/covering.py), merged
over switches and runs, as JSON, lcov, Cobertura and a page."""
