"""What other packages may use of the switch: these modules, and these headers of csrc/. All else
may change."""

MODULES = (
    *(
        "embed.switch",
        "embed.served",
        "embed.library",
        "embed.p4info",
    ),  # a switch in one's own process, served or not; its C, for an engine that runs switches
    *(
        "trace.decoder",
        "trace.json_lines",
        "trace.lines",
        "trace.tracer",
    ),  # what traced programs report
    *(
        "coverage.counts",
        "coverage.files",
        "coverage.lines",
        "coverage.source_files",
    ),  # what covered ones count
    *(
        "p4c",
        "clock",
        "pace",
    ),  # compiling P4, a test's clock, the network's board of pace
    "thrift.idl",  # BMv2's runtime interface
    "cache.objects",  # C sources to shared objects
    "tick",  # of the clock that programs read
    "trimming",  # of a queue, as the live switch has it
    "native_types.TrimmingRecord",  # and its C structure
    "errors",
    "cli",  # the command, for who has an engine for it
)
HEADERS = (
    "cache_lines.h",
    "generator.h",
    "icrc.h",
    "internal.h",
    "packet.h",
    "pcap.h",
    "rules.h",
    "trim.h",
)
