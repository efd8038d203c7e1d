"""The live page: a network that is up, a run in virtual time, or a kept result, in a browser on
this machine."""
