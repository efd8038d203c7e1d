"""The subcommands of `pcn`, by subject. Each imports what it needs when it runs: help stays
quick."""
