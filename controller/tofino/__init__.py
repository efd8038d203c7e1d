"""A Tofino switch in a lab: the compiler's output, packed for its P4Runtime server, and its
entries."""
