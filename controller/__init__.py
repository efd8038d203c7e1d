"""The control plane: P4Runtime client, targets, what is programmed into each switch, and the `pcn` command."""
