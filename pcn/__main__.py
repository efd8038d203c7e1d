"""`python -m pcn`: the command."""

from pcn.cli import main

if __name__ == "__main__":
    main()
