"""A Tofino switch in a lab: what the compiler wrote, packed as its P4Runtime server loads it, and what it is told."""
