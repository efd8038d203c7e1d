"""The templates of the pages, compiled once, with what all of them need."""

from __future__ import annotations

import functools
import hashlib
import re
import sys
from contextlib import suppress
from pathlib import Path

import jinja2
from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from pcn.experiments.data.parts import PART_TEXTS
from pcn.experiments.define.tables import aligned_rows
from pcn.experiments.draw.palette import DARK, LIGHT
from pcn.softswitch.cache.objects import BuildError, cache_dir, digest, keep, read_intact

_TEMPLATES = Path(__file__).parent / "templates"


class _TemplateCache(BytecodeCache):
    """Templates as Python compiled them, in the cache: jinja2 takes an eighth of a short run for
    it."""

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(BuildError):
            if (code := read_intact(self._place(bucket))) is not None:
                # jinja2 compares Python's version and the template
                bucket.bytecode_from_string(bytes(code))

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(BuildError):
            keep(self._place(bucket), bucket.bytecode_to_string())

    def _place(self, bucket: Bucket) -> Path:
        """Returns the file, whose name has what decides about the code besides the template: jinja2
        compares a part."""
        identity = (
            f"{bucket.key} {jinja2.__version__} {sys.implementation.cache_tag} "
            f"{digest([Path(__file__)])}"
        )
        return cache_dir() / f"template-{hashlib.sha256(identity.encode()).hexdigest()[:32]}.bin"


@functools.cache
def environment() -> Environment:
    """Returns where the pages' templates are, with what all of them need: colours, style, what
    opens what is known."""
    templates = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        bytecode_cache=_TemplateCache(),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {
        "light_css": LIGHT.css(),
        "dark_css": DARK.css(),
        "style": Markup(_packed("report.css")),
        "flow_colours": len(LIGHT.flows),
        "part_texts": PART_TEXTS,
    }
    templates.filters["aligned"] = aligned_rows
    templates.filters["unbroken"] = _unbroken
    templates.filters["code"] = _code
    return templates


def _unbroken(cell: str) -> str:
    """Returns a table's text, whose lines don't end within an interval."""
    return re.sub(
        r"\[[^\]]*\]| to ", lambda match: match[0].replace(" ", "\N{NO-BREAK SPACE}"), cell
    )


def _code(text: str) -> Markup:
    """Returns a sentence with what stands in backticks, as terminals and Markdown have it, as
    code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def script(*names: str) -> Markup:
    """Returns what a page runs."""
    return Markup("\n".join(map(_packed, names)))


def _packed(name: str) -> str:
    """Returns a script or a style without indents and lines of comments, a tenth of its bytes."""
    text = (_TEMPLATES / name).read_text(encoding="utf-8")
    return re.sub(r"^ *//.*\n|^/\*.*\*/\n|^ +", "", text, flags=re.MULTILINE)
