"""What ends a switch before it has begun."""


class StartError(Exception):
    """The switch cannot start; the message is the line the user sees."""
