// QCN's congestion point (IEEE 802.1Qau; QCN-T paper, 2.1): it samples arriving packets, by bytes, and sends each sampled
// packet's source how far the queue is above its set point and how fast it grows, if that is positive:
//
//     F_b = (Q - Q_eq) + w (Q - Q_old)        (the papers' -F_b)
//
// in 6 bits: 63 F_b / ((2 w + 1) Q_eq), 63 at most. Samples are sample_bytes apart, 15% more or less by chance; after a
// sample of feedback F_b, 1 + F_b / 8 times closer. For that each byte counts so many times.
//
// The message starts as a clone that goes to RECIRC_PORT, as PFC frames do, and is made into an IPv4 packet from the
// sampled packet's destination to its source: QCN's own frames are addressed by MAC, which no router keeps. From
// there on it is a packet like others.
//
// TNA twin: ingress mirroring; the product with the scale becomes a table over the upper bits of F_b.

#ifndef PCN_V1MODEL_QCN_CP_P4
#define PCN_V1MODEL_QCN_CP_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"

// Of an egress port and class, as of its latest sample: the queue, and the feedback. Only ingress uses these.
register<bit<32>, index_t>(N_INDEXES) sampled_bytes;
register<bit<6>, index_t>(N_INDEXES) sampled_feedback;
// And what is still to arrive before the next one.
register<bit<32>, index_t>(N_INDEXES) sample_after_bytes;

// By egress port and class: packets whose source was sent a message.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) marked;

// A packet was admitted: may clone it, with meta.feedback above 0.
control QcnCongestionPoint(in headers_t hdr, inout metadata_t meta, in bit<32> length) {
    index_t index = meta.egress_port ++ meta.class;
    bit<32> q_eq = 0;
    bit<8> weight = 0;
    bit<32> scale = 0;
    bit<32> sample_min = 0;
    bit<32> sample_max = 0;

    // scale_q32: 63 / ((2 w + 1) q_eq_bytes), times 2^32. sample_min_bytes, sample_max_bytes: how far samples are apart.
    action set_qcn(bit<32> q_eq_bytes, bit<8> w, bit<32> scale_q32, bit<32> sample_min_bytes,
                   bit<32> sample_max_bytes) {
        q_eq = q_eq_bytes;
        weight = w;
        scale = scale_q32;
        sample_min = sample_min_bytes;
        sample_max = sample_max_bytes;
    }

    // Samples nothing.
    action no_qcn() { }

    table qcn_config {
        key = {
            meta.egress_port : exact @name("port");
        }
        actions = {
            set_qcn;
            no_qcn;
        }
        default_action = no_qcn();
        size = 512;
    }

    @hidden action quantise() {
        bit<32> old;
        sampled_bytes.read(old, index);
        // Both sides of F_b's minus sign, so that nothing is negative.
        bit<64> raises = (bit<64>) meta.queue_bytes * (1 + (bit<64>) weight);
        bit<64> lowers = (bit<64>) q_eq + (bit<64>) old * (bit<64>) weight;
        bit<64> above = raises > lowers ? raises - lowers : 0;
        bit<64> quantised = (above * (bit<64>) scale) >> 32;
        meta.feedback = quantised > 63 ? 63 : (bit<6>) quantised;
        sampled_bytes.write(index, meta.queue_bytes);
        sampled_feedback.write(index, meta.feedback);
    }

    apply {
        if (meta.is_lossless == 1 && hdr.bth.isValid() && qcn_config.apply().hit) {
            bit<32> after;
            bit<6> before;
            sample_after_bytes.read(after, index);
            sampled_feedback.read(before, index);
            bit<32> counted = length * (1 + (bit<32>) before[5:3]);
            if (counted < after) {
                after = after - counted;
            } else if (meta.send_pfc == 1) {
                // This packet is cloned for a PFC frame already: the next one is sampled.
                after = 0;
            } else {
                quantise();
                random(after, sample_min, sample_max);
                if (meta.feedback != 0) {
                    marked.count(index);
                    clone_preserving_field_list(CloneType.I2E, CNM_CLONE_SESSION, LIST_CNM);
                }
            }
            sample_after_bytes.write(index, after);
        }
    }
}

// A clone with feedback, at RECIRC_PORT: becomes the message to the source of the packet that was cloned.
control QcnMessage(inout headers_t hdr, inout metadata_t meta) {
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
        hdr.cnm.feedback = meta.feedback;
        hdr.cnm.queue_bytes = meta.queue_bytes;
    }

    apply {
        build();
        // What is recirculated can't be truncated yet.
        meta.kind = kind_t.CNM;
        recirculate_preserving_field_list(LIST_CNM);
    }
}

#endif
