"""A recording's file: a line of JSON that names the case, then what BMv2 made of it, deflated. The
case itself is generate.py's: its packets are the dictionary of what is deflated, which repeats most
of their bytes, and zlib refuses a dictionary that has changed."""

import json
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from generate import Case, generate

CASE = ("made_by", "program", "seed", "packets")
ANSWERS = ("state", "outputs", "digests")


def _dictionary(case: Case) -> bytes:
    setup, packets = case
    frames = [[packet.port, packet.frame.hex()] for packet in packets]
    return json.dumps([asdict(setup), frames]).encode()


def write(path: Path, recording: dict[str, Any]):
    case = generate(recording["program"], recording["seed"], recording["packets"])
    packer = zlib.compressobj(9, zdict=_dictionary(case))
    answers = json.dumps({key: recording[key] for key in ANSWERS}).encode()
    head = json.dumps({key: recording[key] for key in CASE}).encode()
    path.write_bytes(head + b"\n" + packer.compress(answers) + packer.flush())


def read(path: Path) -> tuple[dict[str, Any], Case]:
    """The recording and its case."""
    head, _, deflated = path.read_bytes().partition(b"\n")
    known = json.loads(head)
    case = generate(known["program"], known["seed"], known["packets"])
    try:
        answers = zlib.decompressobj(zdict=_dictionary(case)).decompress(deflated)
    except zlib.error as error:
        raise SystemExit(
            f"{path.name}: generate.py no longer draws the case that was recorded; "
            "drive.py --record makes recordings anew"
        ) from error
    return known | json.loads(answers), case
