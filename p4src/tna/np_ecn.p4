// NP-ECN by time, PCN's congestion point (NSDI'20, 5.1, Fig. 7) for a switch that sees neither PAUSE nor RESUME: packets
// that a pause held up, as rest.p4 tells, leave unmarked, others are marked CE if they found their queue not empty.
//
// v1model twin: np_ecn_time.p4. Its np_ecn.p4 has the paper's counter instead, which needs the PAUSE and RESUME frames.

#ifndef PCN_TNA_NP_ECN_P4
#define PCN_TNA_NP_ECN_P4

#include "architecture.p4"
#include "../shared/headers.p4"
#include "metadata.p4"

// After Rest.
control NpEcn(inout headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t eg_md) {
    index_t index = eg_md.egress_port ++ meta.class;

    // Packets that left an egress port and class while NP-ECN saw real congestion there, those that were CE before
    // included. Packets that aren't ECN-capable are neither marked nor counted.
    Counter<bit<64>, index_t>(N_INDEXES, CounterType_t.PACKETS_AND_BYTES) marked;

    // More than 0 is left if it was enqueued after the RESUME.
    @hidden action compare_enqueue() {
        meta.resume_age = meta.resume_age |-| meta.waited;
    }

    @hidden action mark() {
        hdr.ipv4.ecn = ECN_CE;
        marked.count(index);
    }

    apply {
        if (meta.watched == 1) {
            compare_enqueue();
            if (meta.resume_age != 0 && eg_md.enq_qdepth != 0 && hdr.ipv4.ecn != ECN_NOT_ECT) {
                mark();
            }
        }
    }
}

#endif
