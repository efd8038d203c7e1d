"""The compiled programs, their tables filled by the controller, and packets through them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assembly import Egress, Ingress
from google.protobuf import text_format
from qcn_rules import WRAP, Point

from pcn.base import packed
from pcn.base.p4rt import p4i
from pcn.controller.constants import ROCE_CLASS
from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.tofino import qcn
from pcn.hosts import wire

COMPILED = Path(__file__).parents[2] / "p4src/compiled/tna/tofino"
KINDS = ("NEW", "SAMPLE", "CNM")
ETHERNET_BYTES = 14
SOURCE, DESTINATION = 0x0A000001, 0x0A000002


def entries_of(program: str, at: int, point: Point) -> list[TableEntry]:
    """Of one port, and class 3."""
    match = TableMatch({"port": at, "class": ROCE_CLASS})
    apart = qcn.sampling(point.sample)
    if program == "qcn":
        ports = [
            TableEntry(
                "qcn_config",
                match=match,
                action=TableAction("set_qcn", q_eq_bytes=point.q_eq, **apart),
            )
        ]
    else:
        mask = qcn.dice_mask(point.longest_ns)
        departures = {
            "choice": int(point.culprit),
            "q_eq_bytes": point.q_eq,
            "sojourn_mask_ns": mask,
        }
        ports = [
            TableEntry("qcn_in_arrivals", match=match, action=TableAction("set_arrivals", **apart)),
            TableEntry(
                "qcn_in_departures", match=match, action=TableAction("set_departures", **departures)
            ),
        ]
    return [*ports, *qcn.feedback_entries(point.q_eq)]


@dataclass(frozen=True)
class Out:
    """What leaves egress: `kind` of the copy that the mirror makes of it, if any, with feedback and
    queue; whether the frame itself ends there; and its headers, if it was made into a message."""

    copied: tuple[int, int] | None
    ends: bool
    message: dict[str, int] | None


class Program:
    """With class 3 of the ingress port `at`, or of the egress port, as a congestion point."""

    def __init__(self, name: str, at: int, point: Point, leaves_by: int):
        folder = COMPILED / name
        info = text_format.Parse(packed.read_text(folder / "p4info.txtpb"), p4i.P4Info())
        self.at, self.leaves_by = at, leaves_by
        self.ingress, self.egress = (half(folder) for half in (Ingress, Egress))
        route = TableAction("ipv4_forward", dst_mac=0x020000000002, port=leaves_by)
        table_entries = [
            TableEntry("ipv4_lpm", match=TableMatch(dst_addr=DESTINATION), action=route)
        ]
        for half in (self.ingress, self.egress):
            self._fill(half, info, [*table_entries, *entries_of(name, at, point)])

    def clear(self):
        for half in (self.ingress, self.egress):
            half.memory.clear()
            half.counted.clear()

    def register(self, name: str, cell: int) -> int:
        half, key = self._register(name, cell)
        return half.memory[key][0]

    def set_register(self, name: str, cell: int, value: int):
        half, key = self._register(name, cell)
        half.memory[key] = value, 0

    def counted(self, name: str) -> dict[int, int]:
        return {
            cell: n
            for (counter, cell), n in self.egress.counted.items()
            if counter.endswith(f".{name}")
        }

    def _register(self, name: str, cell: int) -> tuple[Egress, tuple[str, int]]:
        for half in (self.ingress, self.egress):
            for unit in half.units:
                if unit.endswith(f".{name}"):
                    return half, (unit, cell)
        raise AssertionError(name)

    def arrives(
        self, length: int, draw: int, number: int = ROCE_CLASS, roce: bool = True
    ) -> dict[str, int]:
        """A frame that comes in at `at`; all fields as it leaves ingress."""
        self.ingress.random = draw
        return self.ingress.run(
            {
                "ig_intr_md.ingress_port": self.at, **headers(length, number, roce),
                "hdr.ipv4.version": 4, "hdr.ipv4.ihl": 5, "hdr.ipv4.ttl": 64,
                "hdr.udp.length": length - ETHERNET_BYTES - 20,
            }
        )  # fmt: skip

    def departs(
        self,
        length: int,
        draw: int,
        queued_ns: int = 0,
        ingress_ns: int = 0,
        cells: int = 0,
        now: int = 1 << 20,
    ) -> Out:
        self.egress.random = draw
        return self._out(
            {
                **self._to_egress(0, self.leaves_by),
                **headers(length),
                "eg_intr_md_from_prsr.global_tstamp.0-31": now % WRAP,
                "meta.bridge.arrival": (now - queued_ns - ingress_ns) % WRAP,
                "eg_intr_md.deq_timedelta": queued_ns % (1 << 18),
                "eg_intr_md.enq_qdepth": cells,
            }
        )

    def copied(self, kind: str, number: int, feedback: int = 0) -> Out:
        """A copy that is at the recirculation port, with `bytes`."""
        fields = {**self._to_egress(KINDS.index(kind), 68), **headers(1058)}
        return self._out({**fields, "meta.origin.bytes": number, "meta.origin.feedback": feedback})

    def _to_egress(self, kind: int, port: int) -> dict[str, int]:
        return {
            "eg_intr_md.egress_port": port,
            "meta.origin.kind": kind,
            "meta.origin.ingress_port": self.at,
        }

    def _out(self, fields: dict[str, int]) -> Out:
        known = self.egress.fields
        left = self.egress.run({name: value for name, value in fields.items() if name in known})
        mirrored = left["eg_intr_md_for_dprsr.mirror_type"] == 1
        if mirrored:
            assert (left["meta.origin.kind"], left["meta.session"]) == (KINDS.index("CNM"), 4)
        return Out(
            (left["meta.origin.feedback"], left["meta.origin.bytes"]) if mirrored else None,
            left["eg_intr_md_for_dprsr.drop_ctl"] == 1,
            left if left["hdr.cnm.$valid"] else None,
        )

    @staticmethod
    def _fill(half: Egress, info: p4i.P4Info, table_entries: Iterable[TableEntry]):
        tables = {table.preamble.alias: table for table in info.tables}
        actions = {action.preamble.id: action.preamble for action in info.actions}
        for entry in table_entries:
            table = tables[entry.table_id]
            if table.preamble.name not in half.tables:
                continue
            assert isinstance(entry.action, TableAction)
            parts = [entry.match.get(field.name) for field in table.match_fields]
            if parts[1:2] == [(0, 1 << 11)]:  # beyond all steps: whatever these are
                keys = [(parts[0], most, 0) for most in range(1, 1 << 11)]
            else:
                keys = [tuple(part[0] if isinstance(part, tuple) else part for part in parts)]
            (action,) = (
                actions[ref.id].name
                for ref in table.action_refs
                if actions[ref.id].alias == entry.action.name
            )
            for key in keys:
                half.entries[table.preamble.name, key] = action, dict(entry.action.args)


def headers(length: int, number: int = ROCE_CLASS, roce: bool = True) -> dict[str, int]:
    return {
        "hdr.ethernet.$valid": 1,
        "hdr.ipv4.$valid": 1,
        "hdr.ipv4.total_len": length - ETHERNET_BYTES,
        "hdr.ipv4.dscp": number << 3,
        "hdr.ipv4.ecn": wire.ECN_ECT0,
        "hdr.ipv4.src_addr": SOURCE,
        "hdr.ipv4.dst_addr": DESTINATION,
        "hdr.udp.$valid": int(roce),
        "hdr.bth.$valid": int(roce),
    }
