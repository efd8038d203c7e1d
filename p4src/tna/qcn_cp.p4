// QCN's congestion point at outputs (IEEE 802.1Qau): it samples packets in the order in which they arrived at the egress
// port, by bytes, each with the queue that it found, and tells each sampled packet's source how far the queue is above its
// set point and how fast it grows, if that is positive: cnm.p4 has the formula. The queue is first in, first out, so this
// can be decided when a packet departs: only the message is later, by the packet's wait.
//
// v1model twin: decides at arrival, and counts the queue itself, with the packet that arrives; samples may be adaptive:
// the last one's feedback is known at the pipeline's end here, and would be wanted at its begin.

#ifndef PCN_TNA_QCN_CP_P4
#define PCN_TNA_QCN_CP_P4

#include "architecture.p4"
#include "../shared/headers.p4"
#include "metadata.p4"
#include "cnm.p4"

// A packet departs. Sets meta.origin's feedback, above 0 if there is somebody to tell, and bytes, the queue.
control QcnCongestionPoint(in headers_t hdr,
                           inout copying_metadata_t meta,
                           in egress_intrinsic_metadata_t eg_md) {
    index_t index = eg_md.egress_port ++ hdr.ipv4.dscp[5:3];
    bit<32> cells = 0;
    bit<8> sampled = 0;
    bit<32> old = 0;
    bit<32> q_eq = 0;
    bit<32> sample_min = 0;
    bit<32> sample_mask = 0;
    Random<bit<32>>() random;
    Feedback() feedback;

    // By egress port and class: packets whose source was sent a message.
    Counter<bit<64>, index_t>(N_INDEXES, CounterType_t.PACKETS_AND_BYTES) marked;

    // Of an egress port and class: what is still to come before the next sample, and the queue as of the latest one.
    Register<bit<32>, index_t>(N_INDEXES, 0) sample_after_bytes;
    RegisterAction<bit<32>, index_t, bit<8>>(sample_after_bytes) count_down = {
        void apply(inout bit<32> bytes, out bit<8> due) {
            if (bytes > (bit<32>) meta.length) {
                bytes = bytes - (bit<32>) meta.length;
                due = 0;
            } else {
                bytes = meta.next_sample;
                due = 1;
            }
        }
    };

    Register<bit<32>, index_t>(N_INDEXES, 0) sampled_bytes;
    RegisterAction<bit<32>, index_t, bit<32>>(sampled_bytes) write_sample = {
        void apply(inout bit<32> bytes, out bit<32> before) {
            before = bytes;
            bytes = meta.origin.bytes;
        }
    };

    // Samples are sample_min_bytes apart, and up to sample_mask_bytes more.
    action set_qcn(bit<32> q_eq_bytes, bit<32> sample_min_bytes, bit<32> sample_mask_bytes) {
        q_eq = q_eq_bytes;
        sample_min = sample_min_bytes;
        sample_mask = sample_mask_bytes;
    }

    action no_qcn() { }

    table qcn_config {
        key = {
            eg_md.egress_port : exact @name("port");
            hdr.ipv4.dscp[5:3] : exact @name("class");
        }
        actions = {
            set_qcn;
            no_qcn;
        }
        default_action = no_qcn();
        size = 4096;
    }

    @hidden action measure() {
        meta.length = hdr.ipv4.total_len + (bit<16>) ETHERNET_BYTES;
        cells = (bit<32>) eg_md.enq_qdepth;
    }

    @hidden action draw() {
        meta.next_sample = random.get();
    }

    // A cell is 80 bytes.
    @hidden action multiply() {
        meta.origin.bytes = cells << 6;
        cells = cells << 4;
        meta.next_sample = meta.next_sample & sample_mask;
    }

    @hidden action add() {
        meta.origin.bytes = meta.origin.bytes + cells;
        meta.next_sample = meta.next_sample + sample_min;
    }

    @hidden action count() {
        sampled = count_down.execute(index);
    }

    @hidden action sample() {
        old = write_sample.execute(index);
    }

    @hidden action count_message() {
        marked.count(index);
    }

    apply {
        if (hdr.bth.isValid()) {
            if (qcn_config.apply().hit) {
                measure();
                draw();
                multiply();
                add();
                count();
                if (sampled == 1) {
                    sample();
                    feedback.apply(meta.origin.bytes, old, q_eq, meta.origin.feedback);
                    if (meta.origin.feedback != 0) {
                        count_message();
                    }
                }
            }
        }
    }
}

#endif
