"""The control plane: the P4Runtime client, and what is programmed into each switch (routes, PFC,
marking points)."""
