// RED, DCQCN's congestion point (SIGCOMM'15, 3.1, Fig. 5): a packet is marked CE with a probability that the queue gives,
// the one that it leaves behind. There is no multiplication here: a curve is a table of the queue's ranges, each with its
// probability.
//
// The architecture has a Wred of its own. It takes an average of the queue over time, where DCQCN takes the queue, and
// P4Runtime can't set its thresholds.
//
// v1model twin: red_ecn.p4, in bytes, whose probability rises with each of them.

#ifndef PCN_TNA_RED_ECN_P4
#define PCN_TNA_RED_ECN_P4

#include "architecture.p4"
#include "../shared/headers.p4"
#include "metadata.p4"

// Draws for a packet, marked or not. Sets meta.drawn.
control RedDraw(inout egress_metadata_t meta, in egress_intrinsic_metadata_t eg_md) {
    Random<bit<32>>() random;

    // curve: of red_curves. Ports that mark alike share one.
    action set_red(bit<8> curve) {
        meta.curve = curve;
    }

    // Marks nothing.
    action no_red() { }

    table red_config {
        key = {
            eg_md.egress_port : exact @name("port");
        }
        actions = {
            set_red;
            no_red;
        }
        default_action = no_red();
        size = 512;
    }

    // last_draw: of the numbers from 0 to 2^32 - 1, this one and all below it mark.
    action set_probability(bit<32> last_draw) {
        meta.marks = 1;
        meta.last_draw = last_draw;
    }

    action no_mark() { }

    table red_curves {
        key = {
            meta.curve : exact @name("curve");
            eg_md.deq_qdepth : range @name("queue_cells");
        }
        actions = {
            set_probability;
            no_mark;
        }
        default_action = no_mark();
        size = 512;
    }

    @hidden action draw() {
        meta.draw = random.get();
    }

    @hidden action compare() {
        meta.draw = meta.draw |-| meta.last_draw;
    }

    @hidden action take() {
        meta.drawn = 1;
    }

    apply {
        red_config.apply();
        red_curves.apply();
        draw();
        compare();
        if (meta.marks == 1 && meta.draw == 0) {
            take();
        }
    }
}

// After RedDraw, and TcdPort where there is one. A class that PFC doesn't stop isn't marked, nor is a port that isn't
// settled.
control RedEcn(inout headers_t hdr, in egress_metadata_t meta, in egress_intrinsic_metadata_t eg_md) {
    index_t index = eg_md.egress_port ++ meta.class;

    // Packets that left an egress port and class marked by it, those that were CE before included.
    Counter<bit<64>, index_t>(N_INDEXES, CounterType_t.PACKETS_AND_BYTES) marked;

    @hidden action mark() {
        hdr.ipv4.ecn = ECN_CE;
        marked.count(index);
    }

    apply {
        if (meta.watched == 1 && meta.missing == 0 && meta.drawn == 1 && hdr.ipv4.ecn != ECN_NOT_ECT) {
            mark();
        }
    }
}

#endif
