// Congestion notification messages (IEEE 802.1Qau): the feedback that they carry, and how a clone becomes one.
//
// A message starts as a clone that goes to RECIRC_PORT, as PFC frames do, and is made into an IPv4 packet from the
// culprit's destination to its source: 802.1Qau's frames are addressed by MAC, which no router keeps. From there on it
// is a packet like others. The culprit is the flow that is told, not always that of the packet that was cloned.
//
// TNA twin: mirroring in place of clones; w is 2, and a table over F_b in steps is in place of the product with the scale.

#ifndef PCN_V1MODEL_CNM_P4
#define PCN_V1MODEL_CNM_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"

// How far the queue is above its set point and how fast it grows, 0 unless that is positive:
//
//     F_b = (Q - Q_eq) + w (Q - Q_old)        (the papers' -F_b)
//
// in 6 bits: 63 F_b / ((2 w + 1) Q_eq), 63 at most. scale_q32: 63 / ((2 w + 1) Q_eq), times 2^32.
bit<6> feedback_of(in bit<32> queue, in bit<32> old, in bit<32> q_eq, in bit<8> w, in bit<32> scale_q32) {
    // Both sides of F_b's minus sign, so that nothing is negative.
    bit<64> raises = (bit<64>) queue * (1 + (bit<64>) w);
    bit<64> lowers = (bit<64>) q_eq + (bit<64>) old * (bit<64>) w;
    bit<64> above = raises > lowers ? raises - lowers : 0;
    bit<64> quantised = (above * (bit<64>) scale_q32) >> 32;
    return quantised > 63 ? 63 : (bit<6>) quantised;
}

flow_t flow_of(in headers_t hdr) {
    return hdr.ipv4.src_addr ++ hdr.ipv4.dst_addr ++ hdr.bth.dest_qp;
}

// A clone with feedback, at RECIRC_PORT: becomes the message to meta.culprit's source.
control CnmFromClone(inout headers_t hdr, inout metadata_t meta) {
    @hidden action build() {
        hdr.ipv4.src_addr = meta.culprit[55:24];
        hdr.ipv4.dst_addr = meta.culprit[87:56];
        hdr.ipv4.dscp = DSCP_CNM;
        hdr.ipv4.ecn = ECN_NOT_ECT;
        hdr.ipv4.total_len = IPV4_BYTES + CNM_UDP_BYTES;
        hdr.ipv4.ttl = TTL_CNM;
        hdr.udp.dst_port = UDP_PORT_CNM;
        hdr.udp.length = CNM_UDP_BYTES;
        hdr.udp.checksum = 0;
        hdr.cnm.setValid();
        hdr.cnm.version = 0;
        hdr.cnm.reserved = 0;
        hdr.cnm.feedback = meta.feedback;
        hdr.cnm.queue_bytes = meta.queue_bytes;
        hdr.bth.dest_qp = meta.culprit[23:0];
    }

    apply {
        build();
        // What is recirculated can't be truncated yet.
        meta.kind = kind_t.CNM;
        recirculate_preserving_field_list(LIST_CNM);
    }
}

#endif
