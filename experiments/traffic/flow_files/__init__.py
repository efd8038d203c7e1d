"""Files of flows: this project's CSV and Parquet, HPCC's flow.txt, htsim's .cm, captures, Chakra's
traces. `reading` finds a file's format.

docs/formats.md has them."""

from pcn.experiments.traffic.flow_files.base import (
    LONGEST_S as LONGEST_S,
    MOST_FLOWS as MOST_FLOWS,
    FlowFile as FlowFile,
    FlowFormat as FlowFormat,
)
