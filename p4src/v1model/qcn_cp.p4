// QCN's congestion point (IEEE 802.1Qau; QCN-T paper, 2.1): it samples arriving packets, by bytes, and sends each
// sampled packet's source how far the queue is above its set point and how fast it grows, if that is positive: cnm.p4
// has the formula. Samples are sample_bytes apart, 15% more or less by chance. If the interval is adaptive they are 1 + F_b / 8
// times closer after a sample of feedback F_b; for that each byte counts so many times.
//
// Packets of all classes are sampled but those of the highest one, of CNPs and ACKs.
//
// TNA twin: lossless classes alone; decides in egress, by enq_qdepth; not adaptive.

#ifndef PCN_V1MODEL_QCN_CP_P4
#define PCN_V1MODEL_QCN_CP_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"
#include "cnm.p4"

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
    bit<1> adapts = 0;

    // scale_q32: as in cnm.p4. sample_min_bytes, sample_max_bytes: how far samples are apart. adaptive: they are closer
    // the worse it is.
    action set_qcn(bit<32> q_eq_bytes, bit<8> w, bit<32> scale_q32, bit<32> sample_min_bytes,
                   bit<32> sample_max_bytes, bit<1> adaptive) {
        q_eq = q_eq_bytes;
        weight = w;
        scale = scale_q32;
        sample_min = sample_min_bytes;
        sample_max = sample_max_bytes;
        adapts = adaptive;
    }

    // Samples nothing.
    action no_qcn() { }

    table qcn_config {
        key = {
            meta.egress_port : exact @name("port");
        }
        actions = {
            set_qcn;
            @defaultonly no_qcn;
        }
        default_action = no_qcn();
        size = 512;
    }

    @hidden action quantise() {
        bit<32> old;
        sampled_bytes.read(old, index);
        meta.feedback = feedback_of(meta.queue_bytes, old, q_eq, weight, scale);
        meta.culprit = flow_of(hdr);
        sampled_bytes.write(index, meta.queue_bytes);
        sampled_feedback.write(index, meta.feedback);
    }

    apply {
        if (meta.class != HIGHEST_CLASS && hdr.bth.isValid() && qcn_config.apply().hit) {
            bit<32> after;
            bit<6> before;
            sample_after_bytes.read(after, index);
            sampled_feedback.read(before, index);
            bit<32> counted = adapts == 1 ? length * (1 + (bit<32>) before[5:3]) : length;
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

#endif
