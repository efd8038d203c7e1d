"""Makes what the tests of several folders use importable."""
