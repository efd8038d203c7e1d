"""The compiled template of a report, and the cache that has it."""

from pathlib import Path

import jinja2
from jinja2 import Environment

from pcn.experiments.page.environment import environment


def test_template_is_compiled_once(tmp_path, monkeypatch):
    """And again where the cache has a damaged one or another jinja2's, or can't be written."""
    compiled: list[str] = []

    def compiles(cache: Path) -> int:
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        before = len(compiled)
        assert (
            environment.__wrapped__().get_template("comparison.html.j2").name
            == "comparison.html.j2"
        )
        return len(compiled) - before

    generate = Environment._generate

    def noted(self: Environment, *rest, **more) -> str:
        compiled.append(generate(self, *rest, **more))
        return compiled[-1]

    monkeypatch.setattr(Environment, "_generate", noted)
    assert [compiles(tmp_path), compiles(tmp_path)] == [1, 0]
    (cached,) = (tmp_path / "pcn-lab").iterdir()
    cached.write_bytes(cached.read_bytes()[:-4] + bytes(4))
    assert [compiles(tmp_path), compiles(tmp_path)] == [1, 0]
    monkeypatch.setattr(jinja2, "__version__", "another")
    assert [compiles(tmp_path), compiles(tmp_path)] == [1, 0]
    assert compiles(cached / "no folder") == 1
