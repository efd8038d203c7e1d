// NP-ECN, PCN's congestion point (NSDI'20, 5.1, Fig. 7): packets that a pause held up leave unmarked, and
// pn counts them off; others are marked CE if they found their queue not empty. No pause holds up packets of a class that
// isn't lossless. The highest class, of CNPs and ACKs, isn't marked.
//
// The counter itself is kept in pfc.p4, which says why.
//
// TNA twin: that of np_ecn_time.p4, since it sees neither PAUSE nor RESUME.

#ifndef PCN_V1MODEL_NP_ECN_P4
#define PCN_V1MODEL_NP_ECN_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"

// Packets that left an egress port and class while NP-ECN saw real congestion there, those that were CE before included:
// the share of `transmitted` tells the port's state. Packets that aren't ECN-capable are neither marked nor counted.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) marked;

control NpEcn(inout headers_t hdr, in metadata_t meta) {
    index_t index = meta.egress_port ++ meta.class;

    apply {
        // A packet that was held is never marked, even if one that came later took its count of pn: its found_waiting is 0.
        if (meta.class != HIGHEST_CLASS && meta.pn == 0 && meta.found_waiting == 1 && hdr.ipv4.ecn != ECN_NOT_ECT) {
            hdr.ipv4.ecn = ECN_CE;
            marked.count(index);
        }
    }
}

#endif
