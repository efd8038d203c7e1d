"""What `pcn run` runs of PCN: the dumbbell, the victim flow, Fig. 5."""
