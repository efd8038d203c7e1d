// NP-ECN by time: the marks of np_ecn.p4 for a switch that sees neither PAUSE nor RESUME and counts no packets, as
// Tofino, whose traffic manager keeps PFC to itself. docs/tofino.md says when it errs, and by how much.
//
// A port that was paused shows it afterwards. It had a rest: for longer than a frame takes it dequeued nothing of this
// class, nor of one that goes before it. And a packet waited through that rest. The first packet to show so is the
// RESUME, and its time is kept; packets that were enqueued before it were held up, and leave unmarked. Others are marked
// CE if they found their queue not empty.
//
// Because only the end of the rest is looked at, classes that PFC doesn't stop hide nothing: a CNP that leaves in the
// middle of a pause ends one rest, and the next one begins.
//
// Times are 32 bits of the target's clock, here us, and wrap: differences are taken, never times compared. A time that is
// older than a wrap (4.3 s in ns, 71 minutes in us) counts as young once a wrap, for as long as packets wait.
//
// Where PFC is emulated, a queue isn't all that waits: a packet that a pause sends round is in none while it is on its
// way. There the count of what waits says whether a packet found others; where the target pauses its queues, enq_qdepth.
//
// TNA twin: np_ecn.p4, in ns, with enq_qdepth. Each register is a pair of 32 bits in one RegisterAction; `|-|` and a test
// for zero stand for comparisons of times that have passed, and a rest is told by comparing times as numbers.

#ifndef PCN_V1MODEL_NP_ECN_TIME_P4
#define PCN_V1MODEL_NP_ECN_TIME_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"

typedef bit<32> wrapped_us_t;

// Of an egress port: its latest dequeue, and the latest one that ended a rest. last ++ since.
register<bit<64>, port_t>(N_PORTS) busy;
// Of an egress port and class: which rest showed the latest RESUME, by its end, and when that was seen. since ++ at.
register<bit<64>, index_t>(N_INDEXES) resumed;

// As in np_ecn.p4.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) marked;

// At the head of egress: when the packet began to wait here, and whether it found others. If a pause sends it round it
// keeps what it found the first time.
control NpEcnArrival(inout metadata_t meta, in standard_metadata_t std_meta) {
    apply {
        if (meta.kind == kind_t.NEW) {
            meta.enqueued_at = std_meta.enq_timestamp;
#ifdef NATIVE_PFC
            meta.found_queue = std_meta.enq_qdepth != 0 ? 1w1 : 0;
#else
            meta.found_queue = meta.found_waiting;
#endif
        }
    }
}

// For a packet that departs.
control NpEcnTime(inout headers_t hdr, inout metadata_t meta, in standard_metadata_t std_meta) {
    index_t index = meta.egress_port ++ meta.class;
    bit<1> counts = 0;
    bit<1> marks = 0;
    bit<1> held_up = 0;
    wrapped_us_t gap_bound = 0;

    // gap_us: how far apart two dequeues can be while packets wait: as long as the largest frame takes at this port.
    action set_np_ecn(bit<32> gap_us) {
        counts = 1;
        marks = 1;
        gap_bound = gap_us;
    }

    // A class that isn't marked, but is served before one that is.
    action goes_before(bit<32> gap_us) {
        counts = 1;
        gap_bound = gap_us;
    }

    action no_np_ecn() { }

    table np_ecn_config {
        key = {
            meta.egress_port : exact @name("port");
            meta.class : exact @name("class");
        }
        actions = {
            set_np_ecn;
            goes_before;
            no_np_ecn;
        }
        default_action = no_np_ecn();
        size = 4096;
    }

    @hidden action depart() {
        wrapped_us_t now = (wrapped_us_t) std_meta.egress_global_timestamp;
        wrapped_us_t waited = now - meta.enqueued_at;

        bit<64> port;
        busy.read(port, meta.egress_port);
        wrapped_us_t gap = now - port[63:32];
        wrapped_us_t since = gap > gap_bound ? now : port[31:0];
        busy.write(meta.egress_port, now ++ since);

        bit<64> resume;
        resumed.read(resume, index);
        // It began to wait more than a frame's time before the rest ended, and that rest hasn't been taken for one yet.
        bit<1> shows = (marks == 1 && (waited |-| gap_bound) > now - since && since != resume[63:32]) ? 1w1 : 0;
        resume = shows == 1 ? since ++ now : resume;
        resumed.write(index, resume);
        held_up = waited >= now - resume[31:0] ? 1w1 : 0;
    }

    apply {
        np_ecn_config.apply();
        if (counts == 1) {
            depart();
            if (marks == 1 && held_up == 0 && meta.found_queue == 1 && hdr.ipv4.ecn != ECN_NOT_ECT) {
                hdr.ipv4.ecn = ECN_CE;
                meta.marked = 1;
                marked.count(index);
            }
        }
    }
}

#endif
