"""Judges a switch by a test in STF: the program's entries over P4Runtime, its packets as the switch
takes them.

Each test has a separate switch.
"""

from __future__ import annotations

import queue
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import grpc

from pcn.base.p4rt import p4i, p4r, p4r_grpc, rpc_status

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in (str(HERE), str(HERE.parents[1])) if path not in sys.path]

from stf import Expect, Mirror, Packet, Step, table_entry  # noqa: E402
from switches import DEVICE_ID, Start, SwitchError  # noqa: E402

_CALL_S = 120


class JudgedError(Exception):
    """The switch's result differs from the test's; the message has the difference."""


def judge(start: Start, info: p4i.P4Info, config: bytes, steps: Sequence[Step]):
    """Plays a test. Raises JudgedError, or StfError where the test has what the program doesn't."""
    expected = defaultdict(list)
    received = defaultdict(list)
    with start() as switch, _Controller(switch.address) as controller:
        controller.configure(info, config)
        for step in steps:
            if isinstance(step, Packet):
                try:
                    left = switch.send(step.port, step.data)
                except SwitchError as error:
                    raise JudgedError(str(error)) from error
                for port, frame in left:
                    received[port].append(frame)
            elif isinstance(step, Expect):
                expected[step.port].append(step)
            elif isinstance(step, Mirror):
                session = p4r.CloneSessionEntry(
                    session_id=step.session, replicas=[p4r.Replica(egress_port=step.port)]
                )
                replication = p4r.PacketReplicationEngineEntry(clone_session_entry=session)
                controller.write("INSERT", packet_replication_engine_entry=replication)
            else:
                kind = "MODIFY" if step.default else "INSERT"
                controller.write(kind, table_entry=table_entry(step, info))
    _compare(expected, received)


def _compare(expected: dict[int, list[Expect]], received: dict[int, list[bytes]]):
    """Each port's frames come in the order of the test."""
    for port in sorted({*expected, *received}):
        wanted, got = expected.get(port, []), received.get(port, [])
        for index, (want, frame) in enumerate(zip(wanted, got, strict=False)):
            if not want.fits(frame):
                end = "$" if want.exact else ""
                raise JudgedError(
                    f"port {port} frame {index}: {want.pattern}{end} expected, got {frame.hex()}"
                )
        if len(wanted) != len(got):
            raise JudgedError(f"port {port}: {len(wanted)} frames expected, got {len(got)}")


class _Controller:
    """The primary controller. What the switch refuses is a JudgedError."""

    def __init__(self, address: str):
        self._channel = grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)])
        self._stub = p4r_grpc.P4RuntimeStub(self._channel)
        self._requests: queue.SimpleQueue[p4r.StreamMessageRequest | None] = queue.SimpleQueue()
        self._primary = {"device_id": DEVICE_ID, "election_id": p4r.Uint128(low=1)}

    def __enter__(self) -> _Controller:
        self._requests.put(
            p4r.StreamMessageRequest(arbitration=p4r.MasterArbitrationUpdate(**self._primary))
        )
        self._stream = self._stub.StreamChannel(iter(self._requests.get, None))
        next(self._stream)
        return self

    def __exit__(self, *_):
        self._requests.put(None)
        self._stream.cancel()
        self._channel.close()

    def configure(self, info: p4i.P4Info, config: bytes):
        request = p4r.SetForwardingPipelineConfigRequest(
            **self._primary, action="VERIFY_AND_COMMIT"
        )
        request.config.p4info.CopyFrom(info)
        request.config.p4_device_config = config
        self._call(self._stub.SetForwardingPipelineConfig, request)

    def write(self, kind: str, **entity):
        update = p4r.Update(type=kind, entity=p4r.Entity(**entity))
        self._call(self._stub.Write, p4r.WriteRequest(**self._primary, updates=[update]))

    def _call(self, method, request):
        try:
            method(request, timeout=_CALL_S)
        except grpc.RpcError as error:
            raise JudgedError(f"{type(request).__name__}: {_why(error)}") from error


def _why(error: grpc.RpcError) -> str:
    """The refusal's own words, those of the update where there are some."""
    packed = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    for detail in rpc_status.Status.FromString(packed).details:
        update = p4r.Error()
        if detail.Unpack(update) and update.message:
            return str(update.message)
    return f"{error.code().name} {error.details()}"
