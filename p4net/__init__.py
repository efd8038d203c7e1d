"""Networks of P4 switches with any v1model programs: as values, from files, in virtual time.
`pcn.lab.p4` runs them live.

docs/p4.md describes them.
"""
