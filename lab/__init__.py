"""A network that is up: Mininet, switch programs and agents as processes, their record, and what
can be done with them: flows, pause frames, captures, what they count and log."""
