// QCN's congestion points at outputs that have buffers of their own, behind a fabric: as qcn_cp.p4, but where packets
// enter the output's buffer, which is where egress runs there. v1model tells egress how many packets are ahead, not
// their bytes: the queue is deq_qdepth + 1 packets as long as this one, exact where all are as long as each other.
//
// On a switch without such buffers egress runs at dequeue, and the queue is what the packet leaves behind, and itself.
//
// TNA twin: qcn_cp.p4 is in egress there; there is no fabric.

#ifndef PCN_V1MODEL_QCN_OUT_CP_P4
#define PCN_V1MODEL_QCN_OUT_CP_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"
#include "cnm.p4"

// Of an egress port and class, as of its latest sample: the queue, and the feedback; what is still to come before the
// next one. Only egress uses these.
register<bit<32>, index_t>(N_INDEXES) out_sampled_bytes;
register<bit<6>, index_t>(N_INDEXES) out_sampled_feedback;
register<bit<32>, index_t>(N_INDEXES) out_sample_after_bytes;

// By egress port and class: packets whose source was sent a message.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) marked;

// A packet departs: may clone it, with meta.feedback above 0.
control QcnOutCongestionPoint(in headers_t hdr, inout metadata_t meta, in bit<32> length, in bit<19> deq_qdepth) {
    index_t index = meta.egress_port ++ meta.class;
    bit<32> q_eq = 0;
    bit<8> weight = 0;
    bit<32> scale = 0;
    bit<32> sample_min = 0;
    bit<32> sample_max = 0;
    bit<1> adapts = 0;
    bit<1> sampled = 0;

    // As in qcn_cp.p4.
    action set_qcn_out(bit<32> q_eq_bytes, bit<8> w, bit<32> scale_q32, bit<32> sample_min_bytes,
                       bit<32> sample_max_bytes, bit<1> adaptive) {
        q_eq = q_eq_bytes;
        weight = w;
        scale = scale_q32;
        sample_min = sample_min_bytes;
        sample_max = sample_max_bytes;
        adapts = adaptive;
    }

    // Samples nothing.
    action no_qcn_out() { }

    table qcn_out_config {
        key = {
            meta.egress_port : exact @name("port");
        }
        actions = {
            set_qcn_out;
            @defaultonly no_qcn_out;
        }
        default_action = no_qcn_out();
        size = 512;
    }

    @hidden action sample() {
        bit<32> after;
        bit<32> next;
        bit<32> old;
        bit<6> before;
        out_sample_after_bytes.read(after, index);
        out_sampled_bytes.read(old, index);
        out_sampled_feedback.read(before, index);
        random(next, sample_min, sample_max);

        bit<32> queue = ((bit<32>) deq_qdepth + 1) * length;
        bit<32> counted = adapts == 1 ? length * (1 + (bit<32>) before[5:3]) : length;
        // A packet is cloned once: if it is for another reason already, the next one is sampled.
        sampled = (counted >= after && meta.send_pfc == 0 && meta.feedback == 0) ? 1w1 : 0;
        bit<6> feedback = feedback_of(queue, old, q_eq, weight, scale);
        meta.queue_bytes = sampled == 1 ? queue : meta.queue_bytes;
        meta.culprit = sampled == 1 ? flow_of(hdr) : meta.culprit;
        meta.feedback = sampled == 1 ? feedback : meta.feedback;

        out_sample_after_bytes.write(index, sampled == 1 ? next : after |-| counted);
        out_sampled_bytes.write(index, sampled == 1 ? queue : old);
        out_sampled_feedback.write(index, sampled == 1 ? feedback : before);
    }

    apply {
        if (meta.departs == 1 && meta.class != HIGHEST_CLASS && hdr.bth.isValid() && qcn_out_config.apply().hit) {
            sample();
            if (sampled == 1 && meta.feedback != 0) {
                marked.count(index);
                clone_preserving_field_list(CloneType.E2E, CNM_CLONE_SESSION, LIST_CNM);
            }
        }
    }
}

#endif
