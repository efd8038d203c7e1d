"""Coverage-guided fuzzing of packets: any bytes, any length, through programs with entries, under
the sanitizers.

    fuzz_packets.py fuzz PROGRAM SECONDS FOLDER   needs clang; FOLDER keeps what it found, and
                                                  starts the next run
    fuzz_packets.py keep PROGRAM FOLDER           puts the smallest inputs with the same coverage
                                                  into corpus/

What is kept is replayed by test_sanitizers.py (`replay`), with whatever compiler there is.
"""

import ctypes
import os
import random
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from hostile import (
    PROGRAMS,
    Direct,
    Forwarding,
    Names,
    NativeSwitch,
    bind,
    build_program,
    build_runtime,
    generate,
    load_library,
    load_program,
    pcn,
    prepare,
    read,
)

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from kept_inputs import Corpus  # noqa: E402

CORPUS = Corpus(HERE / "corpus")
NAMES = ("pcn", *PROGRAMS)
SEED = 1
CLANG = (
    "env -u LD_PRELOAD clang -g -fsanitize=address,undefined,fuzzer-no-link "
    "-fno-sanitize-recover=all -shared-libasan"
)


def build_target(folder: Path) -> Path:
    """fuzz_packets.c as a shared object that uses the runtime's own functions."""
    from pcn.softswitch.codegen.build import COMMON_FLAGS, CSRC, compiler

    target = folder / "fuzz_packets.so"
    words = [
        *compiler(), *COMMON_FLAGS, f"-I{CSRC}", "-o", str(target), str(HERE / "fuzz_packets.c"),
    ]  # fmt: skip
    subprocess.run(words, check=True)
    return target


def target_of(name: str, target: Path) -> tuple[NativeSwitch, ctypes.CDLL]:
    """A switch without a worker that runs the program with its entries, and the functions that feed
    it."""
    loaded = load_library(build_runtime())
    text, info = read(name)
    setup = pcn(random.Random(SEED))[0] if name == "pcn" else generate(name, SEED, 0)[0]
    native = NativeSwitch(loaded, cpu_port=6)
    native.load(build_program(text))
    prepare(Direct(Forwarding(bind(info, load_program(text)), native)), Names(info), setup)
    functions = ctypes.CDLL(str(target))
    functions.fuzz_packets_of(ctypes.c_void_p(native._handle))
    return native, functions


def starts(name: str) -> list[bytes]:
    """Inputs to begin with: the packets of the differential test, three at a time."""
    rng = random.Random(SEED)
    frames = (
        pcn(rng)[1] if name == "pcn" else [packet.frame for packet in generate(name, SEED, 150)[1]]
    )
    packed = [
        (rng.randrange(1, 5) << 13 | len(f)).to_bytes(2, "big") + f
        for f in frames
        if len(f) < 0x1000
    ]
    return [b"".join(packed[i : i + 3]) for i in range(0, len(packed), 3)]


def replay():
    with tempfile.TemporaryDirectory() as folder:
        target = build_target(Path(folder))
        for name in NAMES:
            native, functions = target_of(name, target)
            with native:
                inputs = CORPUS.inputs(name)
                for data in inputs:
                    functions.fuzz_packets(data, ctypes.c_size_t(len(data)))
            print(f"{name}: {len(inputs)} inputs", flush=True)


# ---- with clang and libFuzzer ----


def fuzzing_environment(folder: Path) -> dict[str, str]:
    """libFuzzer's part that is no program, loaded before everything else together with the
    sanitizers."""
    where = Path(_output("clang", "-print-file-name=libclang_rt.asan-x86_64.so"))
    library = folder / "libfuzzer.so"
    archive = where.parent / "libclang_rt.fuzzer_no_main-x86_64.a"
    words = [
        "clang", "-shared", "-o", str(library), "-Wl,--whole-archive", str(archive),
        "-Wl,--no-whole-archive",
    ]  # fmt: skip
    subprocess.run([*words, "-lstdc++", "-lpthread", "-lm"], check=True)
    return os.environ | {
        "LD_PRELOAD": f"{library} {where}",
        "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def fuzz(name: str, options: list[str]) -> int:
    """libFuzzer in a separate process, with these of its options."""
    os.environ["CC"] = CLANG
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        words = [sys.executable, __file__, "inside", name, str(build_target(folder))]
        again = folder / "again"  # libFuzzer starts itself to merge
        again.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$0" "$@"\n')
        again.chmod(0o755)
        return subprocess.run(
            [*words, str(again), *options], env=fuzzing_environment(folder), check=False
        ).returncode


def inside(name: str, target: Path, options: list[str]):
    """Never returns: libFuzzer ends the process. The first of the options is its own name."""
    native, functions = target_of(name, target)
    arguments = [option.encode() for option in options]
    count = ctypes.c_int(len(arguments))
    values = (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None)
    pointer = ctypes.cast(values, ctypes.POINTER(ctypes.c_char_p))
    run = ctypes.CDLL(None).LLVMFuzzerRunDriver
    with native:
        sys.exit(run(ctypes.byref(count), ctypes.byref(pointer), functions.fuzz_packets))


def run(name: str, seconds: str, folder: Path) -> int:
    """Fuzzes from the kept inputs, the first ones and what FOLDER has."""
    return fuzz(name, CORPUS.begin(name, starts(name), folder, seconds, 20000))


def keep(name: str, folder: Path) -> int:
    """Merges FOLDER into the fewest inputs that reach what it reaches, and writes those of up to
    400 bytes."""
    with tempfile.TemporaryDirectory() as chosen:
        status = fuzz(name, ["-merge=1", "-max_len=400", chosen, str(folder)])
        if status == 0 and any(Path(chosen).iterdir()):
            inputs = sorted(
                (path.read_bytes() for path in Path(chosen).iterdir()),
                key=lambda data: (len(data), data),
            )
            CORPUS.write(name, inputs)
    return status


def main(words: list[str]) -> int:
    """See above."""
    match words:
        case ["replay"]:
            replay()
        case ["fuzz", name, seconds, folder] if name in NAMES:
            return run(name, seconds, Path(folder))
        case ["keep", name, folder] if name in NAMES:
            return keep(name, Path(folder))
        case ["inside", name, target, *options]:
            inside(name, Path(target), options)
        case _:
            print(f"{__doc__}\nPROGRAM: {', '.join(NAMES)}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
