// NP-ECN by time: the marks of np_ecn.p4 for a switch that sees neither PAUSE nor RESUME and counts no packets, as
// Tofino. rest.p4 tells which packets a pause held up: they leave unmarked, others are marked CE if they found their queue
// not empty. docs/tofino.md says when it errs, and by how much.
//
// Where PFC is emulated, a queue isn't all that waits: a packet that a pause sends round is in none while it is on its
// way. There the count of what waits says whether a packet found others; where the target pauses its queues, enq_qdepth.
//
// TNA twin: np_ecn.p4, with enq_qdepth.

#ifndef PCN_V1MODEL_NP_ECN_TIME_P4
#define PCN_V1MODEL_NP_ECN_TIME_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"
#include "rest.p4"

// As in np_ecn.p4.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) marked;

// At the head of egress: whether the packet found others. If a pause sends it round it keeps what it found the first time.
control NpEcnArrival(inout metadata_t meta, in standard_metadata_t std_meta) {
    apply {
        if (meta.kind == kind_t.NEW) {
#ifdef NATIVE_PFC
            meta.found_queue = std_meta.enq_qdepth != 0 ? 1w1 : 0;
#else
            meta.found_queue = meta.found_waiting;
#endif
        }
    }
}

// For a packet that departs.
control NpEcnTime(inout headers_t hdr, inout metadata_t meta, in rest_t rest) {
    apply {
        if (rest.watched == 1 && rest.held_up == 0 && meta.found_queue == 1 && hdr.ipv4.ecn != ECN_NOT_ECT) {
            hdr.ipv4.ecn = ECN_CE;
            meta.marked = 1;
            marked.count(meta.egress_port ++ meta.class);
        }
    }
}

#endif
