"""What an experiment is made of: checks, charts, outcomes, traffic, theory."""
