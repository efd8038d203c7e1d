"""A run from its plan to its recording, on either clock."""
