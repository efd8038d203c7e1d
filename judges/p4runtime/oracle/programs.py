"""The programs that are fuzzed: all that the tests load, and all that the project brings along."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from google.protobuf import text_format

from pcn.base import packed
from pcn.base.p4rt import p4i, p4r, p4t

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = (
    "tests/p4runtime/programs",
    "judges/differential/programs",
    "p4src/compiled",
    "examples/aimd",
)
FIXED = '@p4runtime_translation_mappings({{"uplink", 4}, {"host", 0x1f}})'


@dataclass(frozen=True)
class Program:
    """A program by name, with its files. `change`: what makes its p4info another one that it can be
    loaded with."""

    name: str
    path: Path
    change: Callable[[p4i.P4Info], None] | None = None

    @cached_property
    def config(self) -> p4r.ForwardingPipelineConfig:
        """What a controller sends to load it."""
        info = text_format.Parse(
            packed.read_text(self.path.with_suffix(".p4info.txtpb")), p4i.P4Info()
        )
        if self.change:
            self.change(info)
        return p4r.ForwardingPipelineConfig(
            p4info=info, p4_device_config=packed.read_bytes(self.path.with_suffix(".json"))
        )


def programs() -> dict[str, Program]:
    by_name = {}
    for folder in FOLDERS:
        for info in packed.files(ROOT / folder, ".p4info.txtpb"):
            name = info.name.removesuffix(".p4info.txtpb")
            path = info.with_name(f"{name}.json")
            plain = by_name.get(name.removesuffix(packed.NATIVE))
            if plain is None or packed.read_bytes(path) != packed.read_bytes(plain.path):
                by_name[name] = Program(name, path)
    for name, change in (("bench", translate), ("indirect", count_members), ("state", one_rate)):
        by_name[f"{name}-{change.__name__}"] = Program(
            f"{name}-{change.__name__}", by_name[name].path, change
        )
    return by_name


def translate(info: p4i.P4Info):
    """As if a program's ports and reasons were of types that are translated to strings (8.4.6,
    18.1)."""
    for name, fixed in (("port_t", [FIXED]), ("reason_t", [])):
        translated = p4t.P4NewTypeTranslation(uri="u", sdn_string={})
        info.type_info.new_types[name].CopyFrom(
            p4t.P4NewTypeSpec(translated_type=translated, annotations=fixed)
        )
    things = [*(match for table in info.tables for match in table.match_fields)]
    params = [param for action in info.actions for param in action.params]
    for thing in (*things, *params):
        if thing.name in ("port", "reason"):
            thing.bitwidth = 0
            thing.type_name.name = f"{thing.name}_t"


def count_members(info: p4i.P4Info):
    """As if selectors were annotated to measure groups by how many members they have (6.4.3)."""
    for profile in info.action_profiles:
        if profile.with_selector:
            profile.sum_of_members.max_member_weight = 3


def one_rate(info: p4i.P4Info):
    """As if all meters had one rate and two colours (9.4)."""
    for meter in (*info.meters, *info.direct_meters):
        meter.spec.type = p4i.MeterSpec.SINGLE_RATE_TWO_COLOR
