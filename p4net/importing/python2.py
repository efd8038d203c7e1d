"""Recognising a script of Python 2 by the error that it ends with."""

from __future__ import annotations

import re

_SYNTAX = re.compile(
    r"Missing parentheses in call to '(print|exec)'|multiple exception types must be parenthesized"
    r"|leading zeros in decimal integer literals|invalid (?:decimal|hexadecimal) literal"
    r"|inconsistent use of tabs"
)
_LINES = re.compile(
    r"^\s*print\s+[^=(.\s]|^\s*print\s*$|\bexcept\s+[\w.]+\s*,\s*\w+\s*:|^\s*exec\s+[\"'\w]"
    r"|^\s*raise\s+\w+\s*,|<>|`\w+`|\b0[0-7]+\b|\b\d+[lL]\b|\bur?\"",
    re.MULTILINE,
)
_MODULES = frozenset(
    (
        *("commands", "ConfigParser", "urllib2", "urlparse", "Queue", "StringIO", "cStringIO"),
        *("cPickle", "httplib", "SocketServer", "BaseHTTPServer", "HTMLParser", "Tkinter"),
        *("thread", "__builtin__", "exceptions", "sets", "md5", "SimpleXMLRPCServer", "xmlrpclib"),
    )
)
_NAMES = frozenset(
    ("raw_input", "unicode", "xrange", "unichr", "long", "reduce", "file", "execfile", "basestring")
)
_METHODS = re.compile(
    r"'dict' object has no attribute '(has_key|iteritems|iterkeys|itervalues)'"
    r"|'(?:dict_\w+|map|filter|range|zip)' object (?:is not subscriptable|has no attribute '\w+')"
    r"|'str' object has no attribute 'decode'"
)


def sign_of(error: BaseException) -> str:
    """Returns what is of Python 2 in the code that an error comes from; empty: nothing is."""
    if isinstance(error, SyntaxError):
        if isinstance(error, TabError):
            return "tabs beside spaces"
        line = (error.text or "").strip()
        if _SYNTAX.search(str(error.msg)) or _LINES.search(line):
            return line[:60] or str(error.msg)
    elif isinstance(error, ModuleNotFoundError):
        return f"import {error.name}" if error.name in _MODULES else ""
    elif isinstance(error, NameError):
        name = re.search(r"'(\w+)'", str(error))
        return name[1] if name is not None and name[1] in _NAMES else ""
    elif isinstance(error, (AttributeError, TypeError)) and _METHODS.search(str(error)):
        return str(error)
    return ""
