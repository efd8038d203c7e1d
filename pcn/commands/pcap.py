"""`pcn pcap`: a capture for Wireshark."""

from __future__ import annotations

import signal
import sys
from dataclasses import asdict
from itertools import count as numbers
from pathlib import Path
from types import FrameType

import click

from pcn.commands.common import FilePath, Quantity, network_option, print_json
from pcn.commands.output import output_options, say, tell
from pcn.complete import complete_node, complete_port


@click.command()
@click.argument("node", shell_complete=complete_node)
@click.argument("port", type=int, required=False, shell_complete=complete_port)
@click.option(
    "--for",
    "duration",
    type=Quantity("time"),
    help="Nominal time, e.g. 10ms (default: until Ctrl-C).",
)
@click.option("--count", type=click.IntRange(1), help="Number of frames (default: unlimited).")
@click.option(
    "--out", "-o", type=FilePath(allow_dash=True), help="File (default: NODE-PORT.pcapng)."
)
@click.option("--overwrite", is_flag=True, help="Overwrite an existing file.")
@click.option("--real-time", is_flag=True, help="Real time stamps instead of nominal ones.")
@network_option
@output_options
def pcap(
    node: str,
    port: int | None,
    duration: float | None,
    count: int | None,
    out: Path | None,
    overwrite: bool,
    real_time: bool,
    network: str | None,
    as_json: bool,
) -> None:
    """Capture at PORT of NODE, for Wireshark.

    Both ways, in pcapng. Wireshark decodes RoCEv2 and PFC by itself. Time stamps are nominal. The
    file holds the whole time, in order; frames that this machine was too busy for are counted.
    `--out -` writes to stdout.

    \b
    Examples:
      pcn pcap s1 3 --for 10ms
      pcn pcap h0 --count 100 --out h0.pcapng
      pcn pcap s0 1 --for 5ms --out - | tshark -r -
    """
    from pcn.controller.texts import dilated_text
    from pcn.lab.attach import attach
    from pcn.lab.capture import capture
    from pcn.lab.running import endpoint

    stopped = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True

    to_stdout = out == Path("-")
    with attach(network) as lab:
        end = endpoint(lab.topology, node, port)
        path = out or _free(f"{end.node}-{end.port}")
        lasts = "" if duration is None else f" for {dilated_text(duration, lab.record.dilation)}"
        most = "" if count is None else f", {count} frames at most"
        tell(f"capturing at {end}{lasts}{most}; Ctrl-C ends it")
        before = signal.signal(signal.SIGINT, stop)
        try:
            captured = capture(
                lab,
                end.node,
                end.port,
                sys.stdout.buffer if to_stdout else path,
                duration_s=duration,
                count=count,
                real_time=real_time,
                overwrite=overwrite,
                stopped=lambda: stopped,
            )
        except BrokenPipeError:  # who read it has seen enough
            sys.stderr.close()
            return
        finally:
            signal.signal(signal.SIGINT, before)
    if as_json:
        print_json({**asdict(captured), "file": None if to_stdout else str(path)})
        return
    kinds = ", ".join(f"{number} {kind}" for kind, number in captured.kinds.items())
    summary = (
        f"{captured.frames} frames in {captured.nominal_s * 1e3:.3f} ms "
        f"nominal{f' ({kinds})' if kinds else ''}"
    )
    lost = (
        f"; {captured.lost} MORE AREN'T IN IT: this machine was too busy to take them"
        if captured.lost
        else ""
    )
    where = "" if to_stdout else f"; {captured.time} time stamps; {path}"
    (tell if to_stdout else say)(f"{end}: {summary}{lost}{where}")


def _free(stem: str) -> Path:
    """Chooses the name of a new file."""
    paths = (Path(f"{stem}{'' if number == 1 else f'-{number}'}.pcapng") for number in numbers(1))
    return next(path for path in paths if not path.exists())
