// The flow with the most bytes inside: the culprit by deterministic occupancy sampling (RZ 3880). Bytes are counted by
// a hash of the flow, and the largest is remembered: it is compared at each packet that comes or goes, with that
// packet's flow alone. So a flow that has become the largest because another drained is known from its own next packet
// on.
//
// TNA twin: none. What comes and what goes is counted in gresses of their own.

#ifndef PCN_V1MODEL_QCN_IN_LARGEST_P4
#define PCN_V1MODEL_QCN_IN_LARGEST_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"
#include "cnm.p4"

// Ingress port ++ hash of flow and class.
typedef bit<18> bucket_t;
const bit<32> N_BUCKETS = 262144;

// Bytes inside, by bucket.
register<bit<32>, bucket_t>(N_BUCKETS) flow_bytes;
// Of an ingress port and class: the largest flow, and its bytes.
register<bit<32>, index_t>(N_INDEXES) largest_bytes;
register<flow_t, index_t>(N_INDEXES) largest_flow;

// A packet is admitted (`comes`), or one departs that was counted then. Sets meta.flow_counted.
control FlowCount(in headers_t hdr, inout metadata_t meta, in bit<32> length, in bit<1> comes) {
    index_t index = meta.ingress_port ++ meta.class;
    bit<9> hashed;

    @hidden action count() {
        bit<32> bytes;
        bit<32> most;
        flow_t largest;
        flow_t flow = flow_of(hdr);
        flow_bytes.read(bytes, meta.ingress_port ++ hashed);
        largest_bytes.read(most, index);
        largest_flow.read(largest, index);
        bytes = comes == 1 ? bytes + length : bytes - length;
        meta.flow_counted = comes;
        bit<1> leads = (largest == flow || bytes > most) ? 1w1 : 0;
        flow_bytes.write(meta.ingress_port ++ hashed, bytes);
        largest_bytes.write(index, leads == 1 ? bytes : most);
        largest_flow.write(index, leads == 1 ? flow : largest);
    }

    apply {
        hash(hashed, HashAlgorithm.crc32, 9w0,
             { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.bth.dest_qp, meta.class }, 10w512);
        count();
    }
}

// Sets meta.culprit.
control CulpritLargest(inout metadata_t meta) {
    @hidden action look() {
        largest_flow.read(meta.culprit, meta.ingress_port ++ meta.class);
    }

    apply {
        look();
    }
}

#endif
