"""Numbers of counters and meters."""

from __future__ import annotations

from dataclasses import dataclass

from pcn.base.p4rt import p4r


@dataclass(kw_only=True, slots=True)
class MeterConfig:
    """Rates in units a second, bursts in units: of bytes or packets, as the meter counts. `eburst`:
    of single-rate meters."""

    cir: int
    cburst: int
    pir: int
    pburst: int
    eburst: int = 0

    def encode(self) -> p4r.MeterConfig:
        """Returns P4Runtime's form."""
        return p4r.MeterConfig(
            cir=self.cir, cburst=self.cburst, pir=self.pir, pburst=self.pburst, eburst=self.eburst
        )

    @classmethod
    def decode(cls, message: p4r.MeterConfig) -> MeterConfig:
        """Returns what a message has."""
        return cls(
            cir=message.cir,
            cburst=message.cburst,
            pir=message.pir,
            pburst=message.pburst,
            eburst=message.eburst,
        )


@dataclass(kw_only=True, slots=True)
class CounterData:
    """What a counter has counted."""

    byte_count: int = 0
    packet_count: int = 0

    def encode(self) -> p4r.CounterData:
        """Returns P4Runtime's form."""
        return p4r.CounterData(byte_count=self.byte_count, packet_count=self.packet_count)

    @classmethod
    def decode(cls, message: p4r.CounterData) -> CounterData:
        """Returns what a message has."""
        return cls(byte_count=message.byte_count, packet_count=message.packet_count)


@dataclass(kw_only=True, slots=True)
class MeterCounterData:
    """What a meter has counted, by colour."""

    green: CounterData
    yellow: CounterData
    red: CounterData

    def encode(self) -> p4r.MeterCounterData:
        """Returns P4Runtime's form."""
        return p4r.MeterCounterData(
            green=self.green.encode(), yellow=self.yellow.encode(), red=self.red.encode()
        )

    @classmethod
    def decode(cls, message: p4r.MeterCounterData) -> MeterCounterData:
        """Returns what a message has."""
        return cls(
            green=CounterData.decode(message.green),
            yellow=CounterData.decode(message.yellow),
            red=CounterData.decode(message.red),
        )
