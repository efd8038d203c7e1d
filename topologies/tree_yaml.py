"""YAML as a tree with lines, by the events of PyYAML's parser: no tag makes an object, and aliases
are counted."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from pcn.topologies.tree_parts import (
    ComposeError,
    Composer,
    Document,
    Lines,
    MappingOf,
    Part,
    Plain,
    Tree,
    line_of,
)

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's is ten times as fast


def compose(text: str) -> Document | None:
    """Returns the tree of a YAML text of one document; None of an empty one. Raises
    ComposeError."""
    composer, anchors, named = (
        Composer(),
        dict[str, tuple[Part, int]](),
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
            scalar = Part(Plain(event.value) if event.implicit[0] else event.value, line)
            composer.add(scalar)
            if event.anchor:
                anchors[event.anchor] = (scalar, 1)
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            named.append((event.anchor, composer.values))
            tree: Tree = [] if isinstance(event, yaml.SequenceStartEvent) else MappingOf([])
            composer.begin(Part(tree, (line, [])))
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            inner = composer.end()
            if isinstance(inner.tree, MappingOf):
                _merge(composer, inner.tree, inner.lines)
            anchor, before = named.pop()
            if anchor:
                anchors[anchor] = (inner, composer.values - before)
    root = composer.root
    if root is None or (isinstance(root.tree, Plain) and not root.tree):
        return None
    return Document(root.tree, lambda: root.lines)


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


def _merge(composer: Composer, inner: MappingOf, lines: Lines) -> None:
    """`<<: *other`: the other's pairs whose keys aren't there."""
    is_merge = [isinstance(key, Plain) and key == "<<" for key, _ in inner.pairs]
    if not any(is_merge):
        return
    of_pairs = list(zip(lines[1][::2], lines[1][1::2], strict=True))
    merges = [
        (value, at)
        for (_, value), (_, at), merge in zip(inner.pairs, of_pairs, is_merge, strict=True)
        if merge
    ]
    pairs = [(pair, at) for pair, at in zip(inner.pairs, of_pairs, strict=True) if pair[0] != "<<"]
    there = {key for (key, _), _ in pairs if isinstance(key, str)}
    merged = [
        Part(tree, at)
        for value, lines_of_value in merges
        for tree, at in (
            zip(value, lines_of_value[1], strict=True)
            if isinstance(value, list)
            else [(value, lines_of_value)]
        )
    ]
    for part in merged:
        if not isinstance(part.tree, MappingOf):
            raise ComposeError(line_of(part.lines), "`<<` wants a mapping, or a list of mappings")
        of_part = zip(part.lines[1][::2], part.lines[1][1::2], strict=True)
        for pair, at in zip(part.tree.pairs, of_part, strict=True):
            key = pair[0]
            if isinstance(key, str) and key not in there:
                composer.count(lines[0], 2)
                there.add(key)
                pairs.append((pair, at))
    inner.pairs[:] = [pair for pair, _ in pairs]
    lines[1][:] = [line for _, at in pairs for line in at]
