"""Networks that a Python script builds with Mininet or p4-utils: the script runs against stand-ins
that record what it builds, and the record becomes a network's file.

`script` is the way in. `child` is the process that runs the script, in which `modules` serves the
stand-ins: `nodes`, `mininet`, `network_api`; `started` stands for programs that a script starts.
`sandbox` starts the child, `network_file` writes what it recorded.
"""
