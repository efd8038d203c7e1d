"""Mininet's own command, kept to itself."""

OWN_PIDS = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
"""Before `mn`: where it fails it ends, by name, the shells of all networks that it sees, those of
other tests and of this machine's users too. In a namespace of process ids it sees its own."""
