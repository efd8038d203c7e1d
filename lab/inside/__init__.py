"""A network whose nodes are all inside one engine of virtual time, at the pace of real time:
`pcn up --inside`.

What changes it are commands. Each enters at the simulated time that the run has reached, and is
written down with that time, so that a session can be played again (`replay`). Clients find and
drive it as they do a live network: by its record, its hosts' control sockets and its switches'
P4Runtime; `client` has the rest.
"""
