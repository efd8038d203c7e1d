"""Runs examples/python.ipynb and keeps what its cells show: python release/notebook.py [NOTEBOOK],
which `make notebook` runs.

Cells run one after the other in an empty folder, as in Jupyter, whose packages aren't needed. Of
the last expression of a cell its text and its HTML are kept; pictures have few colours, so that
the tree doesn't grow by much.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parent.parent / "examples/python.ipynb"
_DPI, _COLOURS = 70, 24


def picture() -> dict[str, Any]:
    """Returns the open figure as an output, and closes it."""
    import matplotlib.pyplot as plt
    from PIL import Image

    drawn, packed = io.BytesIO(), io.BytesIO()
    plt.gcf().savefig(drawn, format="png", dpi=_DPI, bbox_inches="tight")
    plt.close("all")
    few = Image.open(drawn).convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    few.save(packed, "png", optimize=True)
    data = {
        "image/png": base64.b64encode(packed.getvalue()).decode(),
        "text/plain": ["<Figure>"],
    }
    return {"output_type": "display_data", "data": data, "metadata": {}}


def shown(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Returns the outputs of a cell, which runs in `names`."""
    import matplotlib.pyplot as plt

    outputs: list[dict[str, Any]] = []
    body = ast.parse(source).body
    last = body[-1] if body else None
    expression = last.value if isinstance(last, ast.Expr) else None
    if expression is not None:
        body = body[:-1]
    printed = io.StringIO()
    plt.show = lambda *_, **__: outputs.append(picture())
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        exec(compile(ast.Module(body, []), f"cell {count}", "exec"), names)
        value = (
            eval(compile(ast.Expression(expression), f"cell {count}", "eval"), names)
            if expression is not None
            else None
        )
    if text := printed.getvalue():
        outputs.insert(0, {"output_type": "stream", "name": "stdout", "text": _lines(text)})
    if value is not None:
        data: dict[str, Any] = {"text/plain": _lines(repr(value))}
        if (as_html := getattr(value, "_repr_html_", None)) is not None:
            table = re.sub(r"<style.*?</style>", "", as_html(), flags=re.S)
            data["text/html"] = re.sub(r"\n\s*", "", table)
        result = {"output_type": "execute_result", "data": data, "metadata": {}}
        outputs.append({**result, "execution_count": count})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def ran(document: dict[str, Any]) -> dict[str, Any]:
    """Returns a notebook with what its cells show. They run in the present folder."""
    import matplotlib

    matplotlib.use("Agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    for count, cell in enumerate(code, start=1):
        outputs = shown("".join(cell["source"]), names, count)
        cell |= {"execution_count": count, "outputs": outputs}
    return document


def main() -> None:
    """Entry point."""
    notebook = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else NOTEBOOK
    document = json.loads(notebook.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.path.insert(0, str(NOTEBOOK.parents[1]))
        document = ran(document)
        os.chdir("/")
    text = json.dumps(document, indent=1, ensure_ascii=False)
    notebook.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
