"""Topologies: what is connected to what (`model`), the ones of the papers, and the Mininet side
(`network`)."""
