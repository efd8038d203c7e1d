"""HPCC (SIGCOMM'19): windows by what in-band telemetry has of each link's load. What it gives under
traffic is in the study of PCN beside today's transports."""

from __future__ import annotations

from pcn.experiments.define.experiment import Paper

PAPER = Paper(
    6,
    "HPCC (SIGCOMM'19)",
    __name__,
    figures={
        "hpcc-eta": "eta:Eta",
        "hpcc-fig9": "fig9:Fig9",
        "hpcc-fig10": "fig10:Fig10",
        "hpcc-fig11": "fig11:Fig11",
        "hpcc-fig13": "fig13:Reference",
        "hpcc-fig14": "fig13:ByWAi",
    },
)
