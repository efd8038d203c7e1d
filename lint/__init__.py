"""Checks of the project's own texts, which `make lint` runs."""
