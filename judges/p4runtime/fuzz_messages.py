"""Coverage-guided fuzzing of P4Runtime messages, against the whole service except gRPC's transport.

    fuzz_messages.py fuzz PROGRAM SECONDS FOLDER   needs atheris and clang; FOLDER keeps what it
                                                   found
    fuzz_messages.py keep PROGRAM FOLDER           puts the shortest inputs that reach something new
                                                   into corpus/

What is kept is replayed by test_p4rt_fuzz.py, and under the sanitizers by test_sanitizers.py
(`replay`).

An input is a row of messages: a byte for the RPC, two bytes length, the serialised request. Each is
carried out or refused with a code. Afterwards everything can be read, and what was read can be
written into a fresh switch.
"""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "judges"), str(ROOT / "tests/p4runtime")]
NAMES = ("bench", "indirect", "valuesets", "idle")
CPU_PORT = 255
CLANG = "clang -g -fsanitize=address"
REPLAYED = 500  # one input of so many is also written into a fresh switch
KEPT_LENGTH = 600  # bytes of an input in corpus/
ARRAYS = ("register_entry", "counter_entry", "meter_entry")  # thousands of cells

INSIDE = __name__ == "__main__" and "inside" in sys.argv
if INSIDE:
    import atheris

from google.protobuf.message import DecodeError, Message  # noqa: E402
from kept_inputs import Corpus  # noqa: E402
from oracle.programs import programs  # noqa: E402

from pcn.base.p4rt import p4i, p4r  # noqa: E402

# What is imported in the block tells libFuzzer where it goes.
with atheris.instrument_imports(include=["softswitch"]) if INSIDE else nullcontext():
    from p4rt_outlet import ListOutlet

    from pcn.softswitch.codegen.build import build_runtime
    from pcn.softswitch.native import NativeSwitch, load_library
    from pcn.softswitch.p4runtime.checked_config import verify
    from pcn.softswitch.p4runtime.entities import Forwarding
    from pcn.softswitch.p4runtime.errors import BatchError, RpcError
    from pcn.softswitch.p4runtime.pipeline import Pipeline
    from pcn.softswitch.p4runtime.service import Service

CORPUS, PROGRAMS = Corpus(Path(__file__).with_name("corpus")), programs()
ELECTION = p4r.Uint128(low=1)
CALL: Any = None  # of which methods use nothing but of streams
KINDS = (
    p4r.WriteRequest,
    p4r.ReadRequest,
    p4r.StreamMessageRequest,
    p4r.GetForwardingPipelineConfigRequest,
    p4r.CapabilitiesRequest,
)


class Target:
    """A service whose state is that of a fresh pipeline at the start of each input."""

    def __init__(self, name: str):
        config = PROGRAMS[name].config
        self.info = config.p4info
        self._library = load_library(build_runtime())
        self._verified = verify(config)
        self._native = NativeSwitch(self._library, cpu_port=CPU_PORT)
        self._pipeline = Pipeline(self._native, self._library)
        self._native.start()
        self._inputs = 0

    def run(self, data: bytes):
        """Raises whatever is no refusal."""
        self._pipeline.commit(self._verified)
        service = Service(self._native, self._pipeline, 1, CPU_PORT)
        with self._stream(service) as hear:
            for message in messages(data):
                with suppress(RpcError, BatchError):
                    self._call(service, hear, message)
        state = self._pipeline.state
        assert state is not None
        for field in p4r.Entity.DESCRIPTOR.fields:
            if field.name not in ("extern_entry", *ARRAYS):
                everything = p4r.ReadRequest(device_id=1, entities=[p4r.Entity(**{field.name: {}})])
                list(service.Read(everything, CALL))
        self._inputs += 1
        if self._inputs % REPLAYED == 0:
            self._write_elsewhere(state)

    def _call(self, service: Service, hear, message: Message):
        if isinstance(message, p4r.WriteRequest):
            message.device_id, message.role = 1, ""
            message.election_id.CopyFrom(ELECTION)
            service.Write(message, CALL)
        elif isinstance(message, p4r.ReadRequest):
            message.device_id = 1
            list(service.Read(message, CALL))
        elif isinstance(message, p4r.StreamMessageRequest):
            hear(message)
        elif isinstance(message, p4r.GetForwardingPipelineConfigRequest):
            service.GetForwardingPipelineConfig(message, CALL)
        elif isinstance(message, p4r.CapabilitiesRequest):
            service.Capabilities(message, CALL)

    def _stream(self, service: Service):
        """The primary controller's stream, without the thread that reads it."""
        from contextlib import contextmanager

        from pcn.softswitch.p4runtime.arbitration import Session

        @contextmanager
        def opened() -> Iterator[Any]:
            session = Session(ListOutlet())
            first = p4r.MasterArbitrationUpdate(device_id=1, election_id=ELECTION)
            service.hear(session, p4r.StreamMessageRequest(arbitration=first))

            def hear(message: p4r.StreamMessageRequest):
                with suppress(RpcError):  # ends a stream; here it goes on
                    service.hear(session, message)

            yield hear

        return opened()

    def _write_elsewhere(self, state: Forwarding):
        """RECONCILE_AND_COMMIT relies on it: a snapshot is accepted, and gives the same
        snapshot."""
        with NativeSwitch(self._library) as native:
            native.load(self._verified.shared_object)
            fresh = Forwarding(self._verified.schema, native)
            updates = list(state.snapshot())
            for update in updates:
                fresh.apply(update)
            assert list(fresh.snapshot()) == updates


def messages(data: bytes) -> Iterator[Message]:
    """The messages of an input; what can't be parsed is left out."""
    for kind, body in pieces(data):
        with suppress(DecodeError):
            yield KINDS[kind].FromString(body)


def pieces(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and body of each message, cut where the input ends."""
    while len(data) >= 3:
        length = int.from_bytes(data[1:3], "big")
        yield data[0] % len(KINDS), data[3 : 3 + length]
        data = data[3 + length :]


def joined(parts: list[Message]) -> bytes:
    """The input of these messages."""
    out = b""
    for message in parts:
        body = message.SerializeToString()[:0xFFFF]
        out += bytes((KINDS.index(type(message)),)) + len(body).to_bytes(2, "big") + body
    return out


# ---- inputs that make sense ----


class Mutator:
    """Changes messages where bytes alone would break them: fields that exist, ids that the program
    has."""

    def __init__(self, info: p4i.P4Info):
        things = [
            *info.tables, *info.actions, *info.counters, *info.registers, *info.meters,
            *info.digests,
        ]  # fmt: skip
        things += [
            *info.action_profiles, *info.value_sets, *info.direct_counters, *info.direct_meters,
        ]  # fmt: skip
        self._ids = [thing.preamble.id for thing in things]

    def change(self, message: Message, rng: random.Random, depth: int = 0):
        """One field of the message, or of a message in it."""
        if not message.DESCRIPTOR.fields:
            return
        field = rng.choice(message.DESCRIPTOR.fields)
        value = getattr(message, field.name)
        if field.message_type is None:
            if field.is_repeated:
                value.append(self.scalar(field, rng))
            else:
                setattr(message, field.name, self.scalar(field, rng))
        elif field.message_type.GetOptions().map_entry:
            self.change(value[rng.choice([*value, "x"])], rng, depth + 1)
        elif field.is_repeated:
            if len(value) and rng.random() < 0.15:
                del value[rng.randrange(len(value))]
            elif len(value) and rng.random() < 0.3:
                value.add().CopyFrom(rng.choice(value))
            else:
                self.change(
                    rng.choice(value) if len(value) and rng.random() < 0.8 else value.add(),
                    rng,
                    depth + 1,
                )
        elif rng.random() < 0.05:
            message.ClearField(field.name)
        else:
            present = [
                descriptor
                for descriptor, _ in message.ListFields()
                if descriptor.message_type and not descriptor.is_repeated
            ]
            if present and rng.random() < 0.7:  # stay within what a oneof has
                value = getattr(message, rng.choice(present).name)
            value.SetInParent()
            if depth < 9:
                self.change(value, rng, depth + 1)

    def scalar(self, field, rng: random.Random):
        """Often small, an edge, or an id."""
        if field.type == field.TYPE_BYTES:
            return rng.randbytes(rng.choice((0, 1, 1, 2, 4, 6, 9)))
        if field.type == field.TYPE_STRING:
            return rng.choice(("", "x", "role"))
        if field.type == field.TYPE_BOOL:
            return rng.random() < 0.5
        if field.type == field.TYPE_ENUM:
            return rng.choice(field.enum_type.values).number
        bits = 64 if field.cpp_type in (field.CPPTYPE_INT64, field.CPPTYPE_UINT64) else 32
        signed = field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_INT64)
        top = (1 << (bits - signed)) - 1
        if rng.random() < 0.4 and bits == 32:
            return min(rng.choice(self._ids), top)
        return rng.choice(
            (0, 1, 2, 3, 4, 32, 255, 1000, top, rng.randrange(top), *([-1, -top] if signed else []))
        )

    def custom(self, data: bytes, most: int, seed: int) -> bytes:
        """libFuzzer's custom mutator."""
        rng = random.Random(seed)
        parts = list(messages(data))
        draw = rng.random()
        if not parts or draw < 0.1:
            parts.append(p4r.WriteRequest() if rng.random() < 0.7 else rng.choice(KINDS)())
        elif draw < 0.2:
            duplicate = (
                type(part)()
                if not isinstance(part := rng.choice(parts), p4r.WriteRequest)
                else p4r.WriteRequest()
            )
            duplicate.CopyFrom(part)
            parts.append(duplicate)
        elif draw < 0.25:
            del parts[rng.randrange(len(parts))]
        for _ in range(rng.choice((1, 1, 2, 4))):
            if parts:
                self.change(rng.choice(parts), rng)
        out = joined(parts)
        return out if len(out) <= most else data[:most]


def starts(info: p4i.P4Info) -> list[bytes]:
    """An entry of each table with each action, something of each array, wildcard reads, a
    packet-out, a digest."""
    rng, inserts = random.Random(1), []
    actions = {action.preamble.id: action for action in info.actions}
    entities: list[p4r.Entity] = []
    for table in info.tables:
        for ref in table.action_refs:
            entry = p4r.TableEntry(table_id=table.preamble.id)
            for key in table.match_fields:
                size = (key.bitwidth + 7) // 8
                match = entry.match.add(field_id=key.id)
                value = rng.randrange(1 << min(key.bitwidth, 8)).to_bytes(1, "big")
                if key.match_type == key.EXACT:
                    match.exact.value = value
                elif key.match_type == key.LPM:
                    match.lpm.value, match.lpm.prefix_len = bytes(1), key.bitwidth
                elif key.match_type == key.OPTIONAL:
                    match.optional.value = value
                elif key.match_type == key.TERNARY:
                    match.ternary.value, match.ternary.mask = value, b"\xff"
                else:
                    match.range.low, match.range.high = b"\1", bytes((1,)) * size
            if any(k.match_type in (k.TERNARY, k.RANGE, k.OPTIONAL) for k in table.match_fields):
                entry.priority = 5
            action = entry.action.action
            if table.implementation_id:
                action = entry.action.action_profile_action_set.action_profile_actions.add(
                    weight=2
                ).action
            action.action_id = ref.id
            for param in actions[ref.id].params:
                action.params.add(param_id=param.id, value=b"\1")
            entities.append(p4r.Entity(table_entry=entry))
    for profile in info.action_profiles:
        table = next(table for table in info.tables if table.preamble.id in profile.table_ids)
        for number, ref in enumerate(table.action_refs, 1):
            member = p4r.ActionProfileMember(
                action_profile_id=profile.preamble.id, member_id=number
            )
            member.action.action_id = ref.id
            for param in actions[ref.id].params:
                member.action.params.add(param_id=param.id, value=b"\1")
            entities.append(p4r.Entity(action_profile_member=member))
        group = p4r.ActionProfileGroup(
            action_profile_id=profile.preamble.id, group_id=1, max_size=4
        )
        group.members.add(member_id=1, weight=2)
        entities.append(p4r.Entity(action_profile_group=group))
    replicas = [p4r.Replica(egress_port=1, instance=1), p4r.Replica(egress_port=2, instance=1)]
    groups = p4r.MulticastGroupEntry(multicast_group_id=1, replicas=replicas)
    clones = p4r.CloneSessionEntry(session_id=1, replicas=replicas, packet_length_bytes=40)
    for entry in ({"multicast_group_entry": groups}, {"clone_session_entry": clones}):
        replication = p4r.PacketReplicationEngineEntry(**entry)
        entities.append(p4r.Entity(packet_replication_engine_entry=replication))
    entities += [
        p4r.Entity(digest_entry=p4r.DigestEntry(digest_id=d.preamble.id)) for d in info.digests
    ]
    changed: list[p4r.Entity] = []
    for register in info.registers:
        cell = p4r.RegisterEntry(register_id=register.preamble.id)
        cell.index.index, cell.data.bitstring = 1, b"\1"
        changed.append(p4r.Entity(register_entry=cell))
    for counter in info.counters:
        counted = p4r.CounterEntry(counter_id=counter.preamble.id)
        counted.index.index, counted.data.packet_count = 1, 7
        changed.append(p4r.Entity(counter_entry=counted))
    for meter in info.meters:
        metered = p4r.MeterEntry(meter_id=meter.preamble.id)
        metered.index.index = 1
        metered.config.cir, metered.config.cburst, metered.config.pir, metered.config.pburst = (
            1, 2, 3, 4,
        )  # fmt: skip
        changed.append(p4r.Entity(meter_entry=metered))
    for value_set in info.value_sets:
        changed.append(
            p4r.Entity(value_set_entry=p4r.ValueSetEntry(value_set_id=value_set.preamble.id))
        )
    inserts = [p4r.Update(type=p4r.Update.INSERT, entity=entity) for entity in entities]
    writes = [
        p4r.WriteRequest(updates=inserts),
        p4r.WriteRequest(updates=inserts, atomicity="ROLLBACK_ON_ERROR"),
    ]
    writes += [p4r.WriteRequest(updates=[update]) for update in inserts]
    writes += [
        p4r.WriteRequest(updates=[p4r.Update(type=p4r.Update.MODIFY, entity=e)]) for e in changed
    ]
    deletes = p4r.WriteRequest(
        updates=[p4r.Update(type=p4r.Update.DELETE, entity=entity) for entity in entities]
    )
    out = p4r.StreamMessageRequest(packet=p4r.PacketOut(payload=bytes(60)))
    for number, _ in enumerate(
        info.controller_packet_metadata and info.controller_packet_metadata[-1].metadata, 1
    ):
        out.packet.metadata.add(metadata_id=number, value=b"\1")
    others = [out, p4r.StreamMessageRequest(digest_ack=p4r.DigestListAck(digest_id=1, list_id=1))]
    return (
        [joined([write]) for write in writes]
        + [joined([request]) for request in others]
        + [joined([writes[0], deletes])]
    )


# ---- with atheris ----


def fuzz(name: str, options: list[str]) -> int:
    """libFuzzer in a separate process, with these of its options."""
    where = (
        "import atheris, glob; print(atheris.path(), *glob.glob(atheris.__path__[0] + "
        "'/custom_mutator.*.so'))"
    )
    paths = subprocess.run(
        [sys.executable, "-c", where], capture_output=True, text=True, check=True
    ).stdout.split()
    library = f"{paths[0]}/asan_with_fuzzer.so {paths[1]}"
    environment = os.environ | {
        "CC": CLANG,
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": "detect_leaks=0",
    }
    return subprocess.run(
        [sys.executable, __file__, "inside", name, *options], env=environment, check=False
    ).returncode


def inside(name: str, options: list[str]):
    """Never returns: libFuzzer ends the process."""
    del os.environ["LD_PRELOAD"]  # not for the compiler
    target = Target(name)
    mutator = Mutator(target.info)
    atheris.Setup([sys.argv[0], *options], target.run, custom_mutator=mutator.custom)
    atheris.Fuzz()


def run(name: str, seconds: str, folder: Path) -> int:
    """Fuzzes from the kept inputs, the first ones and what FOLDER has."""
    first = starts(PROGRAMS[name].config.p4info)
    return fuzz(name, CORPUS.begin(name, first, folder, seconds, 4000))


def keep(name: str, folder: Path):
    """Of FOLDER's inputs, the shortest first, those that go from a line to a line as none before
    them did."""
    target = Target(name)
    seen: set[tuple[str, int, int]] = set()
    last: dict[int, int] = {}

    def trace(frame: FrameType, event: str, _):
        if "/softswitch/p4runtime/" not in frame.f_code.co_filename:
            return None
        if event in ("call", "line"):
            seen.add((frame.f_code.co_filename, last.get(id(frame), 0), frame.f_lineno))
            last[id(frame)] = frame.f_lineno
        else:
            last.pop(id(frame), None)
        return trace

    chosen = []
    for data in sorted(
        (path.read_bytes() for path in folder.iterdir()), key=lambda data: (len(data), data)
    ):
        if len(data) > KEPT_LENGTH:
            break
        known = len(seen)
        sys.settrace(trace)
        try:
            target.run(data)
        finally:
            sys.settrace(None)
        if len(seen) > known:
            chosen.append(data)
    CORPUS.write(name, chosen)


def main(words: list[str]) -> int:
    """See above."""
    match words:
        case ["fuzz", name, seconds, folder] if name in NAMES:
            return run(name, seconds, Path(folder))
        case ["keep", name, folder] if name in NAMES:
            keep(name, Path(folder))
        case ["inside", name, *options]:
            inside(name, options)
        case ["replay"]:
            for name in NAMES:
                target, inputs = Target(name), CORPUS.inputs(name)
                for data in inputs:
                    target.run(data)
                print(f"{name}: {len(inputs)} inputs")
        case _:
            print(f"{__doc__}\nPROGRAM: {', '.join(NAMES)}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
