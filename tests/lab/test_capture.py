"""What a capture gives out of what the kernel has: all of its time, in order, however late it is
read. The clock, the sockets and what they hold are the test's."""

import socket
import struct
from collections import deque

import pytest

from pcn.lab.capture import CaptureError, Merged, Tap

MS = 1_000_000
START = 1_000 * MS


class Kernel:
    """A packet socket: frames by their stamps, which are all there, and drops by when they
    happened."""

    def __init__(self, stamps: list[int]):
        self.stamps = deque(stamps)
        self.dropped = 0

    def recvmsg(
        self, _size: int, _space: int
    ) -> tuple[bytes, list[tuple[int, int, bytes]], int, None]:
        if not self.stamps:
            raise BlockingIOError
        stamp = self.stamps.popleft()
        data = struct.pack("@qq", *divmod(stamp, 10**9))
        return str(stamp).encode(), [(socket.SOL_SOCKET, 35, data)], 0, None

    def getsockopt(self, *_arguments: int) -> bytes:
        dropped, self.dropped = self.dropped, 0
        return struct.pack("II", 0, dropped)


class Taps:
    def __init__(self):
        self.kernels: list[Kernel] = []

    def __call__(self, stamps: list[int], incoming: bool = True, before_s: float = 0.0) -> Tap:
        kernel = Kernel(stamps)
        self.kernels.append(kernel)
        return Tap(kernel, incoming, before_s)


@pytest.fixture
def tap() -> Taps:
    return Taps()


class Clocks:
    """The machine's clock, which has these times, one a look, and then the last one; and one that
    can't be set, which is behind it by the second numbers, one a look at it."""

    def __init__(self, times: list[int], behind: list[int]):
        self._times = deque(times)
        self._behind = deque(behind)
        self._last = times[0]

    def now_ns(self) -> int:
        self._last = self._times.popleft() if len(self._times) > 1 else self._times[0]
        return self._last

    def steady_ns(self) -> int:
        return self._last - (self._behind.popleft() if len(self._behind) > 1 else self._behind[0])


def merged(
    taps: list[Tap],
    end_ns: float,
    times: list[int],
    stops: bool = False,
    behind: tuple[int, ...] = (0,),
) -> Merged:
    clocks = Clocks(times, list(behind))
    return Merged(taps, START, end_ns, lambda: stops, clocks.now_ns, clocks.steady_ns)


def test_what_waits_when_the_time_is_over_is_read_to_its_end(tap: Taps):
    """More than a batch in one direction, little in the other, and this process is late by a
    minute."""
    end = START + 10 * MS
    many = list(range(START, end + 300 * MS, 1000))
    few = list(range(START + 1, end, MS))
    stream = merged([tap(many, False), tap(few)], end, [end + 60_000 * MS])
    frames = list(stream)
    assert [at for at, _, _ in frames] == sorted([at for at in many if at <= end] + few)
    assert [at for at, incoming, _ in frames if incoming] == few
    assert all(int(frame) == at for at, _, frame in frames)
    assert stream.lost() == 0


def test_a_batch_that_ends_before_the_other_direction_s_frames_holds_these_back(tap: Taps):
    """The newest frame of one direction is read in the first batch, far ahead of the other
    direction's backlog."""
    end = START + 1000 * MS
    many = list(range(START, end, 100_000))
    stream = merged([tap(many, False), tap([end - 1])], end, [end + 500 * MS])
    stamps = [at for at, _, _ in stream]
    assert stamps == sorted([*many, end - 1])


def test_frames_of_two_cores_are_put_in_order(tap: Taps):
    end = START + 400 * MS
    late = START + 50 * MS
    stamps = [START, START + 100 * MS, late, START + 150 * MS]
    stream = merged([tap(stamps)], end, [START + 151 * MS, START + 151 * MS, end + 201 * MS])
    assert [at for at, _, _ in stream] == sorted(stamps)
    assert stream.lost() == 0


def test_a_frame_that_comes_after_later_ones_were_given_out_counts_as_lost(tap: Taps):
    end = START + 1000 * MS
    port_tap = tap([START + 100 * MS])
    stream = merged(
        [port_tap], end, [START + 500 * MS, START + 500 * MS, START + 500 * MS, end + 300 * MS]
    )
    frames = iter(stream)
    assert next(frames)[0] == START + 100 * MS
    tap.kernels[0].stamps.extend([START + 50 * MS, START + 600 * MS])
    assert [at for at, _, _ in frames] == [START + 600 * MS]
    assert stream.lost() == 1


def test_only_frames_that_were_at_the_port_within_the_time_count(tap: Taps):
    """The far end has them a link's delay later."""
    end, delay = START + 10 * MS, 5 * MS
    inside = [START, START + MS, end]
    far = [START - 1, *inside, end + 1]
    stream = merged([tap([at + delay for at in far], False, delay / 1e9)], end, [end + 1000 * MS])
    assert [at for at, _, _ in stream] == inside


def test_drops_after_the_end_do_not_count(tap: Taps):
    """A look reports those since the previous look."""
    end = START + 20 * MS
    port_tap = tap([])
    kernel = tap.kernels[0]
    times = {
        START + 10 * MS: 7,
        START + 15 * MS: 0,
        end + 5 * MS: 3,
        end + 10 * MS: 100,
        end + 400 * MS: 0,
    }
    for now, dropped in times.items():
        kernel.dropped = dropped
        port_tap.read(now)
    assert port_tap.dropped(START, end) == 7 + 3
    assert port_tap.dropped(START, START + 12 * MS) == 7
    assert port_tap.dropped(end + 5 * MS, end + 1000 * MS) == 3 + 100


def test_a_capture_that_is_stopped_ends_now_and_whole(tap: Taps):
    now = START + 30 * MS
    stamps = list(range(START, START + 60 * MS, 10_000))
    stream = merged([tap(stamps)], float("inf"), [now, now, now, now, now + 500 * MS], stops=True)
    assert [at for at, _, _ in stream] == [at for at in stamps if at <= now]
    assert stream.end_ns == now


def test_an_interface_that_goes_down_ends_no_capture():
    class Down(Kernel):
        refused = False

        def recvmsg(
            self, size: int, space: int
        ) -> tuple[bytes, list[tuple[int, int, bytes]], int, None]:
            if not self.refused:
                self.refused = True
                raise OSError(100, "Network is down")
            return super().recvmsg(size, space)

    kernel = Down([START + MS])
    stream = merged([Tap(kernel, True, 0.0)], START + 10 * MS, [START + 400 * MS])
    assert [at for at, _, _ in stream] == [START + MS]


@pytest.mark.parametrize(
    ("jump", "words"), [(3600 * 1000 * MS, "forward by 3600.00 s"), (-MS * 50, "back by 0.05 s")]
)
def test_capture_refuses_a_clock_that_is_set_meanwhile(tap: Taps, jump, words):
    port_tap = tap([START + 5 * MS])
    stream = merged(
        [port_tap], START + 1000 * MS, [START + 400 * MS], behind=(0, 0, 0, 0, jump, jump)
    )
    frames = iter(stream)
    assert next(frames)[0] == START + 5 * MS
    port_tap.connection.stamps.append(START + 6 * MS + jump)
    with pytest.raises(CaptureError, match=words):
        next(frames)


def test_capture_goes_on_where_its_process_is_preempted_between_two_clocks(tap: Taps):
    """The two readings of the steady clock around the machine's are a second apart."""
    end = START + 500 * MS
    second = 1000 * MS
    for apart in ((second, 0), (0, -second)):
        stream = merged(
            [tap([START + MS])], end, [START] * 8 + [end + 300 * MS], behind=(0, 0, *apart, 0)
        )
        assert [at for at, _, _ in stream] == [START + MS]
