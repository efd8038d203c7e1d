// Marks by the queue on arrival, DCTCP's congestion point (SIGCOMM'10, 3.1 (1)): a packet whose admission makes its port and
// class hold more than K bytes is marked CE. K is measured with the packet itself, so K = 65 packets marks what finds 65.
//
// What leaves the queue says less: red_ecn.p4, by what a departing packet leaves behind, marks a queue's drain time later. A
// packet that a pause holds keeps its mark, as it has it since ingress.
//
// TNA twin: none yet. Its ingress doesn't see queues; egress would go by enq_qdepth.

#ifndef PCN_V1MODEL_ARRIVAL_ECN_P4
#define PCN_V1MODEL_ARRIVAL_ECN_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"

// By egress port and class. Packets that were CE before are included.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) marked;

// For a packet that ingress has admitted. CNPs and acknowledgements, which use the highest class, have another ECN field.
control ArrivalEcn(inout headers_t hdr, in metadata_t meta) {
    bit<32> k;

    action set_arrival(bit<32> k_bytes) {
        k = k_bytes;
    }

    // Marks nothing.
    action no_arrival() {
        k = 0xFFFF_FFFF;
    }

    table arrival_config {
        key = {
            meta.egress_port : exact @name("port");
        }
        actions = {
            set_arrival;
            no_arrival;
        }
        default_action = no_arrival();
        size = 512;
    }

    apply {
        if (meta.kind == kind_t.NEW && meta.admitted == 1 && meta.class != HIGHEST_CLASS && hdr.ipv4.ecn != ECN_NOT_ECT) {
            arrival_config.apply();
            if (meta.queue_bytes > k) {
                hdr.ipv4.ecn = ECN_CE;
                marked.count(meta.egress_port ++ meta.class);
            }
        }
    }
}

#endif
