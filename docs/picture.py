"""Makes the README's picture from a result: .venv/bin/python docs/picture.py results/dumbbell/pcn
docs/dumbbell.png"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

WIDTH = 960
COLOURS = 64


def main(result: Path, picture: Path) -> None:
    parts = [Image.open(result / f"{name}.png").convert("RGB") for name in ("rates", "queue")]
    stacked = Image.new("RGB", (parts[0].width, sum(part.height for part in parts)), "white")
    top = 0
    for part in parts:
        stacked.paste(part, (0, top))
        top += part.height
    height = round(stacked.height * WIDTH / stacked.width)
    smaller = stacked.resize((WIDTH, height), Image.Resampling.LANCZOS)
    smaller.quantize(COLOURS, dither=Image.Dither.NONE).save(picture, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
