"""Measurements: how fast the embedded switch and virtual time are, and how much memory they
take."""
