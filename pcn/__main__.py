"""The `pcn` command, and `python -m pcn`."""

from pcn.base import startup

startup.begin()

from pcn.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
