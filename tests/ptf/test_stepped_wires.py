"""The traffic manager by which tests move a model of the chip (ptf-tests/steps.py), beside a
stand-in for the model that only forwards: the first byte of a frame is its port, the second its
class."""

import struct
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

ROOT = Path(__file__).resolve().parents[2]
RATES = {1: 8e9, 2: 1e9}
Sent = tuple[int, int, int]  # port, class, length


@pytest.fixture(scope="module")
def steps() -> Iterator[Any]:
    sys.path.insert(0, str(ROOT / "ptf-tests"))
    import steps as module

    yield module
    sys.path.remove(str(ROOT / "ptf-tests"))


class Model:
    """Keeps its side of the shared file: what came waits until it may leave."""

    class PollSuccess(SimpleNamespace):
        pass

    def __init__(self, memory, steps):
        self._memory, self._steps = memory, steps
        self._came, self._left = deque[bytes](), {port: deque[bytes]() for port in RATES}
        self._queues: dict[tuple[int, int], deque[bytes]] = {}
        self._more, self.ends = threading.Condition(), False

    def flush(self):
        """As ptf's data plane."""

    def send(self, _device: int, _port: int, frame: bytes):
        with self._more:
            self._came.append(frame)

    def poll(self, device_number: int, port_number: int, timeout: float):
        with self._more:
            assert self._more.wait_for(lambda: self._left[port_number], timeout)
            return self.PollSuccess(packet=self._left[port_number].popleft())

    def _add(self, form: str, at: int, value: int):
        struct.pack_into(
            form, self._memory, at, struct.unpack_from(form, self._memory, at)[0] + value
        )

    def run(self):
        packets, permits = (
            self._steps._DEPTHS + self._steps._ARRAY,
            self._steps._DEPTHS + 2 * self._steps._ARRAY,
        )
        while not self.ends:
            with self._more:
                while self._came:
                    frame = self._came.popleft()
                    self._add("<Q", self._steps._PENDING, 1)
                    self._queues.setdefault((frame[0], frame[1]), deque()).append(frame)
                    self._add("<I", packets + 4 * (8 * frame[0] + frame[1]), 1)
                    self._add("<Q", self._steps._ARRIVED, 1)
                for (port, number), queue in self._queues.items():
                    cell = 4 * (8 * port + number)
                    if queue and struct.unpack_from("<I", self._memory, permits + cell)[0]:
                        struct.pack_into("<I", self._memory, permits + cell, 0)
                        self._left[port].append(queue.popleft())
                        self._add("<I", packets + cell, -1)
                        self._add("<Q", self._steps._PENDING, -1)
                        self._add("<Q", self._steps._DEQUEUED, 1)
                        self._more.notify()
            threading.Event().wait(1e-5)


@contextmanager
def wires(steps, folder: Path) -> Iterator[Any]:
    path = folder / "control"
    path.write_bytes(bytes(steps.BYTES))
    control = steps.Control(path)
    model = Model(control._memory, steps)
    thread = threading.Thread(target=model.run)
    thread.start()
    try:
        yield steps.SteppedWires(model, control, RATES)
    finally:
        model.ends = True
        thread.join()
        control.close()


def frame(port: int, number: int, length: int, serial: int) -> bytes:
    return bytes((port, number)) + serial.to_bytes(4, "big") + bytes(length - 6)


def pause(steps, quanta: int, number: int) -> bytes:
    return steps.wire.encode_pfc(steps.wire.PfcFrame(bytes(6), {number: quanta}))


SENT = st.tuples(
    st.sampled_from(sorted(RATES)), st.integers(0, 7), st.sampled_from((64, 1000, 1514))
)


@given(sent=st.lists(SENT, max_size=12))
def test_stepped_wires_serve_each_line_at_its_rate(sent, steps, tmp_path_factory):
    """A line is never idle while packets wait, the highest class goes first, and a class keeps its
    order."""
    with wires(steps, tmp_path_factory.mktemp("control")) as stepped:
        frames = [frame(*fields, serial) for serial, fields in enumerate(sent)]
        stepped.send(1, *frames)
        for port, rate in RATES.items():
            due = [payload for payload in frames if payload[0] == port]
            order = due[:1] + sorted(
                due[1:], key=lambda payload: -payload[1]
            )  # the first leaves at once
            arrivals = stepped.receive(port, len(due), 1.0)
            assert [arrival.frame for arrival in arrivals] == order
            at = 0
            for arrival in arrivals:
                at += round(8e9 * len(arrival.frame) / rate)
                assert round(arrival.at * 1e9) == at


def test_stepped_wires_pause_one_class(steps, tmp_path):
    with wires(steps, tmp_path) as stepped:
        stepped.send(2, pause(steps, 1, 3))  # a quantum is a millisecond
        stepped.send(1, frame(2, 3, 1000, 0), frame(2, 1, 1000, 1))
        assert stepped.packets(2, 3) == 1
        arrivals = stepped.receive(2, 2, 1.0)
        assert [round(arrival.at * 1e9) for arrival in arrivals] == [8_000, 1_008_000]


def test_stepped_wires_resume_at_once(steps, tmp_path):
    with wires(steps, tmp_path) as stepped:
        stepped.send(2, pause(steps, 60_000, 3))
        stepped.send(1, frame(2, 3, 1000, 0))
        stepped.advance(0.5)
        stepped.send(2, pause(steps, 0, 3))
        assert [round(arrival.at * 1e9) for arrival in stepped.receive(2, 1, 1.0)] == [500_008_000]
