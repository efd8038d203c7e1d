"""Studies of ours about PCN: what its results depend on."""
