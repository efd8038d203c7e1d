// RED, DCQCN's congestion point (SIGCOMM'15, 3.1, Fig. 5 and equation 5): a packet is marked CE with a probability that
// the queue gives. It is 0 up to K_min, rises linearly to P_max at K_max, and is 1 above.
//
// The queue is what a departing packet leaves behind in its port and class. Like a switch's RED, it doesn't know why
// packets wait: what a pause held up is marked as well. Packets of each class are marked, be it lossless or not, but those
// of the highest one: CNPs and ACKs.
//
// A packet has a colour, the drop precedence of its DSCP (RFC 2597): AFx1 is green, AFx2 yellow, AFx3 red, all others are
// green. A port may have other thresholds for yellow and for red ones.
//
// TNA twin: no colours; lossless classes alone; no multiplication there: a range table over the queue depth gives the
// probability in steps.

#ifndef PCN_V1MODEL_RED_ECN_P4
#define PCN_V1MODEL_RED_ECN_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"

// AF's are 8 to 39; behind them is EF, for one.
const bit<6> FIRST_DSCP_BEHIND_AF = 40;

// A probability of 1, and the largest number drawn: one less.
const bit<64> RED_ALWAYS = 64w1 << 48;
const bit<48> RED_LAST_DRAW = 0xFFFF_FFFF_FFFF;

// Packets that left an egress port and class marked by it, those that were CE before included.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) marked;

control RedEcn(inout headers_t hdr, in metadata_t meta) {
    index_t index = meta.egress_port ++ meta.class;
    bit<32> k_min;
    bit<32> k_max;
    bit<48> slope;

    // slope_q48: how much the probability rises for each byte above K_min, P_max / (K_max - K_min), times 2^48.
    action set_red(bit<32> k_min_bytes, bit<32> k_max_bytes, bit<48> slope_q48) {
        k_min = k_min_bytes;
        k_max = k_max_bytes;
        slope = slope_q48;
    }

    // Marks nothing.
    action no_red() {
        k_min = 0xFFFF_FFFF;
        k_max = 0xFFFF_FFFF;
        slope = 0;
    }

    table red_config {
        key = {
            meta.egress_port : exact @name("port");
        }
        actions = {
            set_red;
            no_red;
        }
        default_action = no_red();
        size = 512;
    }

    // Of yellow packets (2) and red ones (3), where theirs aren't those of green ones.
    table red_coloured {
        key = {
            meta.egress_port   : exact @name("port");
            hdr.ipv4.dscp[2:1] : exact @name("precedence");
        }
        actions = {
            set_red;
            @defaultonly NoAction;
        }
        default_action = NoAction();
        size = 1024;
    }

    apply {
        if (meta.class != HIGHEST_CLASS && hdr.ipv4.ecn != ECN_NOT_ECT) {
            red_config.apply();
            if (hdr.ipv4.dscp[2:2] == 1 && hdr.ipv4.dscp < FIRST_DSCP_BEHIND_AF) {
                red_coloured.apply();
            }
            bit<64> chance = 0;
            if (meta.left_bytes > k_max) {
                chance = RED_ALWAYS;
            } else if (meta.left_bytes > k_min) {
                chance = (bit<64>) (meta.left_bytes - k_min) * (bit<64>) slope;
            }
            if (chance != 0) {
                bit<48> draw;
                random(draw, 0, RED_LAST_DRAW);
                if ((bit<64>) draw < chance) {
                    hdr.ipv4.ecn = ECN_CE;
                    marked.count(index);
                }
            }
        }
    }
}

#endif
