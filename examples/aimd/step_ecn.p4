// The common switch, with a marking point: a packet that leaves more than K bytes behind in its queue is marked CE.

#include "switch.p4"

// By port and class: `pcn watch` and reports show it.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) marked;

control StepEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    SwitchEgress() departure;
    bit<32> k;

    action set_step(bit<32> k_bytes) {
        k = k_bytes;
    }

    table step_config {
        key = { meta.egress_port : exact @name("port"); }
        actions = { set_step; }
        default_action = set_step(0xFFFF_FFFF);
        size = 512;
    }

    apply {
        departure.apply(hdr, meta, std_meta);
        if (meta.departs == 1 && meta.class != HIGHEST_CLASS && hdr.ipv4.ecn != ECN_NOT_ECT) {
            step_config.apply();
            if (meta.left_bytes > k) {
                hdr.ipv4.ecn = ECN_CE;
                marked.count(meta.egress_port ++ meta.class);
            }
        }
    }
}

@pkginfo(name="step_ecn", version="1")
V1Switch(SwitchParser(), VerifyIpv4Checksum(), SwitchIngress(), StepEgress(), ComputeIpv4Checksum(), SwitchDeparser()) main;
