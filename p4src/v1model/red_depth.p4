// RED by the traffic manager's depth: as red_ecn.p4, by the packets that wait in a departing packet's queue (deq_qdepth), not by the
// bytes that this program has counted. The program counts what it admits, and never learns of what a queue then refuses, so where
// queues are short its count rises for ever. deq_qdepth is the queue's own.
//
// It marks lossy classes, too, but the highest, which has CNPs and acknowledgements. Trimmed packets are in another queue, and
// aren't marked by the one that refused them.
//
// TNA twin: deq_qdepth in cells, a range table over it.

#ifndef PCN_V1MODEL_RED_DEPTH_P4
#define PCN_V1MODEL_RED_DEPTH_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"

// A probability of 1, and the largest number drawn: one less.
const bit<64> RED_DEPTH_ALWAYS = 64w1 << 48;
const bit<48> RED_DEPTH_LAST_DRAW = 0xFFFF_FFFF_FFFF;

// Packets that left an egress port and class marked by it, those that were CE before included.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) marked;

control RedDepth(inout headers_t hdr, in metadata_t meta, in standard_metadata_t std_meta) {
    bit<32> k_min;
    bit<32> k_max;
    bit<48> slope;

    // Packets; slope_q48: how much the probability rises with each above K_min, P_max / (K_max - K_min), times 2^48.
    action set_red_depth(bit<32> k_min_packets, bit<32> k_max_packets, bit<48> slope_q48) {
        k_min = k_min_packets;
        k_max = k_max_packets;
        slope = slope_q48;
    }

    // Marks nothing.
    action no_red_depth() {
        k_min = 0xFFFF_FFFF;
        k_max = 0xFFFF_FFFF;
        slope = 0;
    }

    table red_depth_config {
        key = {
            meta.egress_port : exact @name("port");
        }
        actions = {
            set_red_depth;
            no_red_depth;
        }
        default_action = no_red_depth();
        size = 512;
    }

    apply {
        if (meta.class != HIGHEST_CLASS && hdr.ipv4.ecn != ECN_NOT_ECT) {
            red_depth_config.apply();
            bit<32> depth = (bit<32>) std_meta.deq_qdepth;
            bit<64> chance = 0;
            if (depth > k_max) {
                chance = RED_DEPTH_ALWAYS;
            } else if (depth > k_min) {
                chance = (bit<64>) (depth - k_min) * (bit<64>) slope;
            }
            if (chance != 0) {
                bit<48> draw;
                random(draw, 0, RED_DEPTH_LAST_DRAW);
                if ((bit<64>) draw < chance) {
                    hdr.ipv4.ecn = ECN_CE;
                    marked.count(meta.egress_port ++ meta.class);
                }
            }
        }
    }
}

#endif
