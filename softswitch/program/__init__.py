"""The program that a switch runs: BMv2 JSON to a typed model (`load_program`)."""

from softswitch.program.errors import ProgramError, Source, UnsupportedProgram
from softswitch.program.load import load_program
from softswitch.program.model import Program

__all__ = ["Program", "ProgramError", "Source", "UnsupportedProgram", "load_program"]
