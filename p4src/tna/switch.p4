// The switch for Tofino: RoCEv2 forwarding by class. PFC is the traffic manager's and the MACs': no PAUSE or RESUME comes
// here. A top program adds its marking point, see pcn.p4.
//
//   frame -> SwitchIngressParser, verifies the checksum
//     |
//   SwitchIngress  the arrival time, for egress
//     |            Validate --bad--> dropped[port, reason]
//     |            Forwarding --no route, TTL--> dropped
//     |
//   SwitchIngressDeparser -> traffic manager: queues by class, paused by neighbours -> SwitchEgressParser
//     |
//   SwitchEgress   transmitted[port, class]
//     |
//   marking point
//     |
//   SwitchEgressDeparser, computes the checksum -> frame
//
// v1model twin: emulates PFC where its target doesn't have it, and counts what waits. Its counters see frames as they are
// on the wire without FCS; Tofino's add what the chip itself adds, see docs/tofino.md.

#ifndef PCN_TNA_SWITCH_P4
#define PCN_TNA_SWITCH_P4

#include <core.p4>
#include "architecture.p4"

#include "../shared/constants.p4"
#include "../shared/headers.p4"
#include "metadata.p4"
#include "parser.p4"
#include "forwarding.p4"

control SwitchIngress(inout headers_t hdr,
                      inout ingress_metadata_t meta,
                      in ingress_intrinsic_metadata_t ig_md,
                      in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                      inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                      inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    // By port the packet came in at, and drop_reason_t.
    Counter<bit<64>, index_t>(N_INDEXES, CounterType_t.PACKETS_AND_BYTES) dropped;
    Validate() validate;
    Forwarding() forwarding;

    apply {
        meta.bridge.setValid();
        meta.bridge.arrival = ig_prsr_md.global_tstamp[31:0];
        validate.apply(hdr, meta);
        if (meta.discard == 0) {
            forwarding.apply(hdr, meta, ig_tm_md);
        }
        if (meta.discard == 1) {
            dropped.count(ig_md.ingress_port ++ (bit<3>) meta.reason);
            ig_dprsr_md.drop_ctl = 1;
        }
    }
}

control SwitchEgress(in headers_t hdr, out class_t class, in egress_intrinsic_metadata_t eg_md) {
    // By port and class.
    Counter<bit<64>, index_t>(N_INDEXES, CounterType_t.PACKETS_AND_BYTES) transmitted;

    apply {
        class = hdr.ipv4.dscp[5:3];
        transmitted.count(eg_md.egress_port ++ class);
    }
}

#endif
