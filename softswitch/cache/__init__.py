"""Shared objects: compiled once, kept by their content."""
