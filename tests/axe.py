"""axe-core in a page: which of its rules for accessible pages the page breaks."""

import json
from functools import cache
from pathlib import Path

from browser import Browser

_ASK = """
axe.run().then(result => JSON.stringify(result.violations.map(rule =>
    [rule.id, rule.nodes.slice(0, 3).map(node => node.html.slice(0, 160))])))
"""


@cache
def _source() -> str:
    import axe_core_python

    return (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def violations(chromium: Browser) -> list[tuple[str, list[str]]]:
    """Returns the rules that the open page breaks, each with some of its elements."""
    chromium.call("Runtime.evaluate", expression=_source())
    answer = chromium.call(
        "Runtime.evaluate", expression=_ASK, awaitPromise=True, returnByValue=True
    )
    return [(rule, nodes) for rule, nodes in json.loads(answer["result"]["value"])]
