"""What ends a switch before it has begun."""


class StartError(Exception):
    """The switch cannot start; the message is the line the user sees."""


class OptionError(Exception):
    """The arguments make no sense; the message names which, and what would."""


class EndError(Exception):
    """A switch has ended, without what it was to write then: one line for the user."""
