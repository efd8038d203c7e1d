// HPCC's data plane: the common switch with in-band telemetry, which marks nothing.

#define CARRIES_TELEMETRY
#include "../switch.p4"
#include "../telemetry.p4"

// As in plain.p4.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) marked;

control HpccEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    SwitchEgress() departure;
    TelemetryPush() telemetry;

    apply {
        departure.apply(hdr, meta, std_meta);
        if (meta.departs == 1) {
            telemetry.apply(hdr, meta, std_meta.packet_length, std_meta.egress_global_timestamp);
        }
    }
}

@pkginfo(name="hpcc", version="1", organization="PCN Lab")
V1Switch(SwitchParser(), VerifyIpv4Checksum(), SwitchIngress(), HpccEgress(), ComputeIpv4Checksum(), SwitchDeparser()) main;
