"""JSON as a tree with lines. The standard library reads it, which has a line of an error alone; a
pass over the tokens counts those of values, where one is needed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pcn.topologies import tree_parts
from pcn.topologies.tree_parts import (
    DEEPEST,
    ComposeError,
    Document,
    Lines,
    MappingOf,
    Plain,
    Tree,
    too_deep,
    too_many,
)

_TOKEN = re.compile(r'[][{}]|"[^"\\]*(?:\\.[^"\\]*)*"|[^][{}:,"\s]+')
"""Of a text that is JSON: a value, or where a list or mapping begins or ends."""
_AROUND = re.compile(r'[][{}:,]|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|[^][{}:,"\s]+')
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SPACE = re.compile(r"[ \t\r\n]*")
_WANTED = {
    "Expecting value": "a value",
    "Expecting property name enclosed in double quotes": "a key",
    "Expecting ':' delimiter": ":",
    "Expecting ',' delimiter": "a comma",
    "Illegal trailing comma before end of object": "a key",
    "Illegal trailing comma before end of array": "a value",
}
"""What stands nowhere, by the standard library's word; the last two are those of Python 3.13 on,
about the comma before."""


class _ConstantError(ValueError):
    """NaN or Infinity, which are no JSON."""


def compose(text: str) -> Document | None:
    """Returns the tree of a JSON text; None of an empty one. Raises ComposeError."""
    if _SPACE.fullmatch(text):
        return None
    _require_few(text)
    try:
        tree: Tree = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _error(text, error.pos, error.msg) from None
    except _ConstantError as error:
        at = next(at for at, token in _tokens(text) if token.lstrip("-") == str(error).lstrip("-"))
        raise _error(text, at, "Expecting value") from None
    except RecursionError:
        raise _depth_error(text) from None
    _require_flat(text, tree)
    if _SURROGATE.search(text):
        _require_characters(text)
    return Document(tree, lambda: _lines(text))


def _refuse(word: str) -> Tree:
    raise _ConstantError(word)


_DECODER = json.JSONDecoder(
    object_pairs_hook=MappingOf,  # type: ignore[arg-type]  # whose keys are texts, as they are
    parse_int=Plain,
    parse_float=Plain,
    parse_constant=_refuse,
)


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    return ((match.start(), match[0]) for match in _TOKEN.finditer(text))


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _require_few(text: str) -> None:
    """Refuses a text of too many values before there is one of them: those in it are at most as
    many as the marks around them."""
    if sum(map(text.count, ",:[{")) < tree_parts.MOST_VALUES:
        return
    values = 0
    for at, token in _tokens(text):
        values += token not in "]}"
        if values > tree_parts.MOST_VALUES:
            raise too_many(_line(text, at))


def _require_flat(text: str, tree: Tree) -> None:
    level, depth = [tree], 0
    while level := [part for part in level if isinstance(part, (list, MappingOf))]:
        depth += 1
        if depth > DEEPEST:
            raise _depth_error(text)
        level = [
            value
            for part in level
            for value in (part if isinstance(part, list) else [value for _, value in part.pairs])
            if value.__class__ is list or value.__class__ is MappingOf
        ]


def _depth_error(text: str) -> ComposeError:
    depth = 0
    for at, token in _tokens(text):
        depth += (token in "[{") - (token in "]}")
        if depth > DEEPEST:
            return too_deep(_line(text, at))
    raise AssertionError("a text that is deep has a deepest place")


def _require_characters(text: str) -> None:
    r"""Refuses half of a character, "\ud800", which no file can be written with."""
    for at, token in _tokens(text):
        if _SURROGATE.search(token):
            try:
                json.loads(token).encode()
            except ValueError as error:
                raise ComposeError(_line(text, at), f"this is no JSON: {error}") from None


def _error(text: str, at: int, word: str) -> ComposeError:
    start = _SPACE.match(text, at + word.startswith("Illegal")).end()  # type: ignore[union-attr]
    line, wanted = _line(text, start), _WANTED.get(word)
    token = _AROUND.match(text, start)
    there = repr(token[0][:20] if token else text[start : start + 20])
    if word == "Extra data":
        return ComposeError(line, f"this is no JSON: {there} behind its end")
    if wanted is None:
        return ComposeError(line, f"this is no JSON: {word[:1].lower()}{word[1:]} {there}")
    if start == len(text):
        return ComposeError(line, f"this is no JSON: it ends where {wanted} is wanted")
    return ComposeError(line, f"this is no JSON: {there} where {wanted} is wanted")


def _lines(text: str) -> Lines:
    """Returns the lines of a text that `compose` has read."""
    inner: list[Lines] = []
    outer: list[list[Lines]] = []
    line, before = 1, 0
    for match in _TOKEN.finditer(text):
        at = match.start()
        line += text.count("\n", before, at)
        before, mark = at, text[at]
        if mark in "[{":
            parts: list[Lines] = []
            inner.append((line, parts))
            outer.append(inner)
            inner = parts
        elif mark in "]}":
            inner = outer.pop()
        else:
            inner.append(line)
    return inner[0]
