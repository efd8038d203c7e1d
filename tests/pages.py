"""The live page in Chromium, as tests use it: opened, moved through its frames, read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import pytest
from browser import Browser
from waiting import wait_until

COUNT = "$('#slider').max"


@pytest.fixture
def chromium() -> Iterator[Browser]:
    with browser.page(offline=False) as running:
        yield running


def load(chromium: Browser, url: str, frames: int, width: int = 1400, dark: bool = False):
    chromium.open(url, width, dark=dark)
    wait_until(lambda: chromium.ask(COUNT) == str(frames - 1), "all frames")
    wait_until(
        lambda: chromium.ask("$('#time').textContent") != "–",
        "the first drawing",
    )


def load_saved(
    chromium: Browser, page: Path, width: int = 1400, height: int = 900, dark: bool = False
):
    chromium.open(page, width, height, dark)
    over = "$('#state').dataset.over || ''"
    wait_until(lambda: chromium.ask(over).startswith("the end"), "all frames")
    drawn(chromium)


def go(chromium: Browser, frame: int):
    chromium.ask(
        f"(s => {{ s.value = {frame}; s.dispatchEvent(new Event('input')); }})($('#slider'))"
    )
    drawn(chromium)


def drawn(chromium: Browser):
    """Until what was changed is shown."""
    chromium.ask(
        "window.drawn = false; requestAnimationFrame(() => requestAnimationFrame(() => { "
        "window.drawn = true; }))"
    )
    wait_until(lambda: chromium.ask("window.drawn"), "the drawing")


def command(chromium: Browser, words: str):
    chromium.ask(f"$('#words').value = {words!r}")
    chromium.ask("$('#command button').click()")


def rows(chromium: Browser, table: str) -> dict[str, dict[str, Any]]:
    """The values of a table as the page has them, by row and field."""
    cells = (
        "Object.fromEntries([...row.cells].slice(1).map(cell => [cell.dataset.field, "
        "cell.dataset.value]))"
    )
    pairs = f"$$('#{table} tbody tr').map(row => [row.dataset.id, {cells}])"
    text = chromium.ask(f"JSON.stringify(Object.fromEntries({pairs}))")
    texts = json.loads(text)
    return {
        name: {field: json.loads(value) for field, value in row.items()}
        for name, row in texts.items()
    }
