"""Topologies in files of this and other projects: docs/formats.md has the formats, `known` finds
one."""

from pcn.topologies.formats.source import (
    Format as Format,
    FormatError as FormatError,
    Source as Source,
)
