"""YAML as a tree with lines, by the events of PyYAML's parser: no tag makes an object, and aliases
are counted."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from pcn.topologies.tree_parts import ComposeError, Composer, ListOf, MappingOf, Scalar, Tree

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's is ten times as fast


def compose(text: str) -> Tree | None:
    """Returns the tree of a YAML text of one document; None of an empty one. Raises
    ComposeError."""
    composer, anchors, named = (
        Composer(),
        dict[str, tuple[Tree, int]](),
        list[tuple[str | None, int]](),
    )
    documents = 0
    for event in _events(text):
        line = int(event.start_mark.line) + 1
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise ComposeError(line, "a second document begins here: one is read")
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise ComposeError(line, f"this is no YAML: found undefined alias {event.anchor!r}")
            part, size = anchors[event.anchor]
            composer.count(line, size)
            composer.add(part)
        elif isinstance(event, yaml.ScalarEvent):
            scalar = Scalar(line, event.value, plain=event.implicit[0])
            composer.add(scalar)
            if event.anchor:
                anchors[event.anchor] = (scalar, 1)
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            named.append((event.anchor, composer.values))
            composer.begin(
                ListOf(line, [])
                if isinstance(event, yaml.SequenceStartEvent)
                else MappingOf(line, [])
            )
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            inner = composer.end()
            if isinstance(inner, MappingOf):
                _merge(composer, inner)
            anchor, before = named.pop()
            if anchor:
                anchors[anchor] = (inner, composer.values - before)
    root = composer.root
    return None if isinstance(root, Scalar) and root.plain and not root.text else root


def _events(text: str) -> Iterator[yaml.Event]:
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ComposeError(
            mark.line + 1 if mark else 1, f"this is no YAML: {error.problem or error.context}"
        ) from None
    except yaml.YAMLError as error:
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        raise ComposeError(
            line, f"this is no text in UTF-8: {str(error).splitlines()[0]}"
        ) from None


def _merge(composer: Composer, inner: MappingOf) -> None:
    """`<<: *other`: the other's pairs whose keys aren't there."""
    merges = [
        value
        for key, value in inner.pairs
        if isinstance(key, Scalar) and key.plain and key.text == "<<"
    ]
    if not merges:
        return
    inner.pairs = [
        (key, value)
        for key, value in inner.pairs
        if not (isinstance(key, Scalar) and key.text == "<<")
    ]
    there = {key.text for key, _ in inner.pairs if isinstance(key, Scalar)}
    others = [
        part for value in merges for part in (value.items if isinstance(value, ListOf) else [value])
    ]
    for mapping in others:
        if not isinstance(mapping, MappingOf):
            raise ComposeError(mapping.line, "`<<` wants a mapping, or a list of mappings")
        for key, value in mapping.pairs:
            if isinstance(key, Scalar) and key.text not in there:
                composer.count(inner.line, 2)
                there.add(key.text)
                inner.pairs.append((key, value))
