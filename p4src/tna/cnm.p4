// Congestion notification messages (IEEE 802.1Qau): the feedback that they carry, and how a copy becomes one.
//
// The packet whose source is told is copied (mirror.p4) unless it is a copy already. At a recirculation port the copy is
// made into an IPv4 packet from its destination to its source. From there on it is a packet like others.
//
// v1model twin: clones in place of the mirror; w is the table's, and a product with a scale quantises.

#ifndef PCN_TNA_CNM_P4
#define PCN_TNA_CNM_P4

#include "architecture.p4"
#include "../shared/headers.p4"
#include "metadata.p4"
#include "mirror.p4"

// How far the queue is above its set point and how fast it grows, with w = 2:
//
//     F_b = (Q - Q_eq) + 2 (Q - Q_old)        (the papers' -F_b)
//
// Differences are those of numbers with a sign, so that a queue may be below 0.
control Feedback(in bit<32> queue, in bit<32> old, in bit<32> q_eq, inout bit<8> feedback) {
    bit<32> above = 0;
    bit<32> growth = 0;

    @hidden action compare() {
        above = queue - q_eq;
        growth = queue - old;
    }

    @hidden action weigh() {
        growth = growth << 1;
    }

    @hidden action add() {
        above = above + growth;
    }

    action set_feedback(bit<6> quantised) {
        feedback = (bit<8>) quantised;
    }

    action no_feedback() {
        feedback = 0;
    }

    // Quantised: an entry for each q_eq and value, where F_b is 16 bytes times `steps` and `most` is 0; and one for all
    // that is beyond, where the sign, the top bit of `most`, is 0. Below 0 there is none.
    table feedback_steps {
        key = {
            q_eq : exact @name("q_eq");
            above[31:20] : ternary @name("most");
            above[19:4] : range @name("steps");
        }
        actions = {
            set_feedback;
            no_feedback;
        }
        default_action = no_feedback();
        size = 128;
    }

    apply {
        compare();
        weigh();
        add();
        feedback_steps.apply();
    }
}

// Behind a congestion point. Whoever has feedback above 0 is told.
control CnmSend(inout headers_t hdr,
                inout copying_metadata_t meta,
                in egress_intrinsic_metadata_t eg_md,
                inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    @hidden action copy() {
        meta.origin.kind = kind_t.CNM;
        meta.session = COPY_SESSION_0;
        eg_dprsr_md.mirror_type = MIRROR_COPY;
#if __TARGET_TOFINO__ == 2
        eg_dprsr_md.mirror_io_select = 1;
#endif
    }

    @hidden action build() {
        ipv4_addr_t source = hdr.ipv4.src_addr;
        hdr.ipv4.src_addr = hdr.ipv4.dst_addr;
        hdr.ipv4.dst_addr = source;
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
        hdr.cnm.feedback = meta.origin.feedback[5:0];
        hdr.cnm.queue_bytes = meta.origin.bytes;
    }

    @hidden action end() {
        eg_dprsr_md.drop_ctl = 1;
    }

    apply {
        if (meta.origin.kind == kind_t.NEW) {
            if (meta.origin.feedback != 0) {
                copy();
            }
        } else if (meta.origin.feedback != 0) {
            build();
        } else {
            end();
        }
    }
}

#endif
