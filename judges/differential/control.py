"""What a controller does with a program and a case: before the packets, after half of them, and at
the end."""

import contextlib
import queue
import threading
from pathlib import Path
from typing import Any

import p4rt_switch
from generate import Setup
from p4rt_client import Client, Names, RefusedError, update
from waiting import LIMIT_S

from pcn.base.p4rt import p4i, p4r
from pcn.controller.switch import RegisterAccess

PROGRAMS = Path(__file__).resolve().with_name("programs")
Result = dict[str, Any]


def load(program: str) -> tuple[Names, bytes]:
    """A program's names, and p4c's JSON."""
    loaded = p4rt_switch.load(PROGRAMS / program)
    return loaded.names, loaded.json


def _meter(committed: int, peak: int) -> p4r.MeterConfig:
    # Without refill within a run, so that colours depend on packets alone.
    return p4r.MeterConfig(cir=0, cburst=committed, pir=0, pburst=peak)


def prepare(client: Client, names: Names, setup: Setup):
    """Everything that the control plane does before the packets."""
    for entry in setup.entries:
        action = names.action(entry.action, **entry.params)
        client.insert(names.entry(entry.table, entry.keys, action, priority=entry.priority))
    for entry in setup.defaults:
        action = names.action(entry.action, **entry.params)
        client.modify(names.entry(entry.table, {}, action, is_default_action=True))
    for entry in setup.entries:
        if entry.meter is not None:
            direct_meter_entry = p4r.DirectMeterEntry(
                table_entry=names.entry(entry.table, entry.keys), config=_meter(*entry.meter)
            )
            client.modify(direct_meter_entry)
    for name, index, committed, peak in setup.meters:
        cell = p4r.MeterEntry(meter_id=names.id("meters", name), config=_meter(committed, peak))
        cell.index.index = index
        client.modify(cell)
    for number, copies in setup.groups.items():
        replicas = [p4r.Replica(egress_port=port, instance=instance) for port, instance in copies]
        group = p4r.MulticastGroupEntry(multicast_group_id=int(number), replicas=replicas)
        client.insert(group)
    for number, copies in setup.clones.items():
        replicas = [p4r.Replica(egress_port=port, instance=instance) for port, instance in copies]
        session = p4r.CloneSessionEntry(session_id=int(number), replicas=replicas)
        client.insert(session)
    if setup.digest:
        digest = p4r.DigestEntry(digest_id=names.id("digests", setup.digest))
        digest.config.max_list_size = 1
        client.insert(digest)


class Digests:
    """Collects and acknowledges what the switch learns, in a thread, as the stream only blocks."""

    def __init__(self, client: Client):
        self._client = client
        self._seen: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with contextlib.suppress(RefusedError, ValueError):
            while True:
                message = self._client.receive()
                if message.WhichOneof("update") != "digest":
                    continue
                for item in message.digest.data:
                    self._seen.put(
                        " ".join(member.bitstring.hex() for member in item.struct.members)
                    )
                ack = p4r.DigestListAck(
                    digest_id=message.digest.digest_id, list_id=message.digest.list_id
                )
                self._client.send(digest_ack=ack)

    def take(self, n: int | None) -> list[str]:
        """All there are, each once, as a switch may leave out repeats until acknowledged; n: how
        many must come."""
        digests: set[str] = set()
        with contextlib.suppress(queue.Empty):
            while True:
                digests.add(
                    self._seen.get(
                        timeout=0.5 if n is None else 0.05 if len(digests) >= n else LIMIT_S
                    )
                )
        return sorted(digests)


def change(client: Client, names: Names, setup: Setup):
    """What the control plane does after half of the packets."""
    for kind, number, params in setup.changes:
        entry = setup.entries[number]
        action = names.action(entry.action, **params) if kind == "modify" else None
        table_entry = names.entry(entry.table, entry.keys, action, priority=entry.priority)
        client.write(update(kind.upper(), table_entry))


def state(
    client: Client, names: Names, setup: Setup, registers: RegisterAccess | None
) -> dict[str, Any]:
    """Counters, direct counters and registers up to 64 bits (BMv2's Thrift has no wider ones).
    `registers` where P4Runtime doesn't have them."""
    readings: dict[str, Any] = {}
    for counter in names.info.counters:
        cells = client.read(p4r.CounterEntry(counter_id=counter.preamble.id))
        cells.sort(key=lambda cell: cell.index.index)
        readings[counter.preamble.alias] = [_count(cell.data, counter.spec.unit) for cell in cells]
    for counter in names.info.direct_counters:
        (table,) = (t for t in names.tables.values() if t.preamble.id == counter.direct_table_id)
        counts = []
        for entry in setup.entries:
            if entry.table == table.preamble.alias:
                query = names.entry(entry.table, entry.keys, priority=entry.priority)
                # An entry without a key that matters is also a wildcard: its answer is one of many.
                cells = client.read(p4r.DirectCounterEntry(table_entry=query))
                here = (len(query.match), query.priority)
                (cell,) = (
                    c for c in cells if (len(c.table_entry.match), c.table_entry.priority) == here
                )
                counts.append(_count(cell.data, counter.spec.unit))
        readings[counter.preamble.alias] = counts
    for register in names.info.registers:
        width = _width(register)
        if width > 64:
            continue
        if registers is not None:
            values = [value % (1 << width) for value in registers.read_all(register.preamble.name)]
        else:
            cells = client.read(p4r.RegisterEntry(register_id=register.preamble.id))
            values = [int.from_bytes(cell.data.bitstring, "big") % (1 << width) for cell in cells]
        readings[register.preamble.alias] = values
    return readings


def _count(data: p4r.CounterData, unit: int) -> list[int]:
    """Packets and bytes, of what the counter counts."""
    wanted = p4i.CounterSpec
    return [
        data.packet_count if unit in (wanted.PACKETS, wanted.BOTH) else 0,
        data.byte_count if unit in (wanted.BYTES, wanted.BOTH) else 0,
    ]


def _width(register: p4i.Register) -> int:
    kind = register.type_spec.bitstring
    return int(kind.bit.bitwidth or kind.int.bitwidth)
