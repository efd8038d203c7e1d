"""Fuzzing of programs' JSON by structure: sizes, ids, references, types, duplicates, nesting, what
is missing.

    fuzz_json.py fuzz SECONDS FOLDER [SEED]   mutants from a seed on; FOLDER keeps those with which
                                              something went wrong
    fuzz_json.py run FIRST LAST               the mutants of these seeds, in this process
    fuzz_json.py file FILE                    one program

A mutant is refused with one line that names a place, or it is compiled, loaded, given entries, and
forwards frames. Run by judges/sanitizers.py, under the sanitizers.
"""

import json
import lzma
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE), str(ROOT / "tests/softswitch_program")]

from json_mutants import mutant  # noqa: E402

from pcn.softswitch.cache import compiler_process  # noqa: E402
from pcn.softswitch.codegen.build import build_program, build_runtime  # noqa: E402
from pcn.softswitch.codegen.generate import generate  # noqa: E402
from pcn.softswitch.native import NativeError, NativeSwitch, Replica, load_library  # noqa: E402
from pcn.softswitch.native_state import MeterConfig  # noqa: E402
from pcn.softswitch.program.errors import ProgramError  # noqa: E402
from pcn.softswitch.program.load import load_program  # noqa: E402
from pcn.softswitch.program.model import Match, Program, Table  # noqa: E402

CASE_S = 600  # only a hang takes so long
MUTANTS = 12  # mutants of a process
FRAMES = 40
PORTS = (1, 2, 3)


@lru_cache(maxsize=1)
def frames() -> list[bytes]:
    """What the fuzzing of packets kept (judges/fuzz/corpus), of each input its first frame."""
    first_frames = []
    for path in sorted((ROOT / "judges/fuzz/corpus").glob("*.hex.xz")):
        for line in lzma.decompress(path.read_bytes()).decode().splitlines():
            data = bytes.fromhex(line)
            first_frames.append(data[2 : 2 + (int.from_bytes(data[:2], "big") & 0x1FFF)])
    return first_frames


# ---- judgement ----


def check(text: str, rng: random.Random, *, run: bool = True) -> str:
    """What became of a program, in a word. Raises AssertionError, or whatever should not have been
    raised."""
    try:
        program = load_program(text)
        generate(program)
        shared = build_program(text, ("-O1", "-Wno-frame-larger-than")) if run else None
    except ProgramError as error:
        wrong = complaint(error)
    else:
        return "generated" if shared is None else forward(shared, program, rng)
    assert not wrong, wrong
    return "refused"


def forward(shared: Path, program: Program, rng: random.Random) -> str:
    """What became of a compiled program."""
    with NativeSwitch(load_library(build_runtime()), manual=True, cpu_port=9) as native:
        try:
            native.load(shared)
        except NativeError:
            return "not loaded"
        prepare(native, program, rng)
        for _ in range(FRAMES):
            native.inject(rng.choice(PORTS), frame(rng))
            for _ in range(3):  # a packet that goes round for ever stops no clock
                native.advance(native.now_ns + 1000)
            native.departed()
        while native.next_event(0) is not None:
            pass
    return "ran"


def complaint(error: ProgramError) -> str:
    """What is wrong with a refusal: it isn't one line, or names no place. Empty where nothing
    is."""
    line = str(error)
    if not line or "\n" in line or len(line) > 4000:
        return f"not one line: {line[:200]!r}"
    named = any(
        place in line
        for place in (error.place or "\0", str(error.source) if error.source else "\0")
    )
    return "" if named or "program" in line or "JSON" in line else f"without a place: {line!r}"


def frame(rng: random.Random) -> bytes:
    """A kept one, changed or not, or noise."""
    if rng.random() < 0.3:
        return rng.randbytes(rng.choice((0, 1, 13, 60, rng.randint(0, 400), 9216)))
    data = bytearray(rng.choice(frames()))
    for _ in range(rng.choice((0, 1, 4))):
        if data:
            data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0xFF, rng.randrange(256)))
    return bytes(data)


def prepare(native: NativeSwitch, program: Program, rng: random.Random):
    """Ports, sessions, groups, and some entries; what the switch refuses by an error is refused."""
    for port in PORTS:
        native.port_add(port, None)
    native.start()
    for number in range(3):
        native.clone_session(number, [Replica(2, 0)])
        native.multicast_group(number + 1, [Replica(1, 0), Replica(3, 1)])
    for number, table in enumerate(program.tables[:200]):
        for _ in range(3):
            try:
                native.table_add(number, *entry(table, rng), *call(program, table, rng))
            except NativeError:
                continue
    for number, meter in enumerate(program.meters[:50]):
        if meter.size and meter.table is None:
            native.set_meter(number, 0, MeterConfig(1000, 100, 2000, 200))


def entry(table: Table, rng: random.Random) -> tuple[bytes, bytes, int, int]:
    """Key, mask, prefix, priority."""
    key = mask = b""
    prefix = 0
    for part in table.key:
        size, top = (part.width + 7) // 8, (1 << part.width) - 1
        number = rng.choice((0, 1, top, rng.randint(0, top)))
        bits = top if part.match is Match.EXACT else rng.choice((0, top, rng.randint(0, top)))
        if part.match is Match.LPM:
            prefix = rng.randint(0, part.width)
            bits = top & ~((1 << (part.width - prefix)) - 1)
        if part.match is Match.RANGE:
            number, bits = min(number, bits), max(number, bits)
        else:
            number &= bits
        key, mask = key + number.to_bytes(size, "big"), mask + bits.to_bytes(size, "big")
    return key, mask, prefix, rng.randint(1, 9)


def call(program: Program, table: Table, rng: random.Random) -> tuple[int, list[int]]:
    """An action and its words."""
    action = rng.choice(table.actions) if table.actions else 0
    if not program.actions:
        return 0, []
    words = sum((p.width + 63) // 64 for p in program.actions[action].parameters)
    return action, [rng.choice((0, 1, 2, rng.getrandbits(9))) for _ in range(words)]


# ---- processes ----


def run(seeds: Iterator[int]) -> Counter[str]:
    """The mutants of these seeds, in this process, each named before it is tried."""
    compiler_process.SECONDS = 100
    results: Counter[str] = Counter()
    for seed in seeds:
        print(seed, end=" ", flush=True)
        results[check(mutant(seed), random.Random(seed))] += 1
    print(dict(results), flush=True)
    return results


def fuzz(seconds: float, folder: Path, seed: int) -> int:
    """Runs processes of MUTANTS mutants. Where one ends badly, its last mutant stays, and the next
    begins behind it."""
    folder.mkdir(parents=True, exist_ok=True)
    end, failures, tried = time.monotonic() + seconds, 0, 0
    results: Counter[str] = Counter()
    environment = {
        **os.environ,
        "ASAN_OPTIONS": f"{os.environ.get('ASAN_OPTIONS', '')}:allocator_may_return_null=1",
    }
    while time.monotonic() < end:
        words = [sys.executable, __file__, "run", str(seed), str(seed + MUTANTS - 1)]
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
            errors="replace", start_new_session=True,
        )  # fmt: skip
        try:
            output, errors = process.communicate(timeout=MUTANTS * CASE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            errors += "hangs"
        if process.returncode == 0:
            seed, tried = seed + MUTANTS, tried + MUTANTS
            results.update(json.loads(output[output.index("{") :].replace("'", '"')))
            continue
        last = int(output.split()[-1])
        failures += 1
        (folder / f"{last}.json").write_text(mutant(last))
        (folder / f"{last}.txt").write_text(errors[-20000:])
        print(f"seed {last}: {process.returncode}: {errors.strip().splitlines()[-1:]}", flush=True)
        seed, tried = last + 1, tried + last + 1 - seed
    print(
        f"{tried} mutants up to seed {seed - 1}: {dict(results)}; {failures} processes failed, "
        "whose others aren't here"
    )
    return 1 if failures else 0


def main(words: list[str]) -> int:
    """See above."""
    match words:
        case ["fuzz", seconds, folder, *seed]:
            return fuzz(float(seconds), Path(folder), int(seed[0]) if seed else 1)
        case ["run", first, last]:
            run(iter(range(int(first), int(last) + 1)))
        case ["file", name]:
            print(check(Path(name).read_text(), random.Random(1)))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
