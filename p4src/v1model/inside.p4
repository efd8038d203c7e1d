// What an ingress port has inside the switch: the bytes of each class that were admitted and haven't departed, and
// whether PFC's thresholds say PAUSE to the neighbour. PFC's emulation sends its frames by it, and congestion points at
// inputs take it for their queue.
//
// TNA twin: in qcn_in_cp.p4, half in ingress, half in egress: each has registers of its own, and PFC is out of sight.

#ifndef PCN_V1MODEL_INSIDE_P4
#define PCN_V1MODEL_INSIDE_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"

// Of an ingress port and class: bytes inside, whether its neighbour was told to pause, and when last.
register<bit<32>, index_t>(N_INDEXES) held_bytes;
register<bit<1>, index_t>(N_INDEXES) xoff_sent;
#ifndef NATIVE_PFC
register<time_us_t, index_t>(N_INDEXES) xoff_sent_at;
#endif

// A new packet is admitted. Sets meta.inside_bytes, inside_paused, and send_pfc where a PAUSE is due, or due again.
control InsideAdmit(inout metadata_t meta, in bit<32> length, in time_us_t now) {
    index_t index = meta.ingress_port ++ meta.class;

    @hidden action admit() {
        bit<32> bytes;
        bit<1> sent;
        held_bytes.read(bytes, index);
        xoff_sent.read(sent, index);

        bytes = bytes + length;
        bit<1> exceeds = (meta.pfc_enabled == 1 && meta.is_lossless == 1 && bytes > meta.xoff_bytes) ? 1w1 : 0;
        meta.inside_bytes = bytes;
        meta.inside_paused = sent | exceeds;
#ifndef NATIVE_PFC
        bit<48> sent_at;
        xoff_sent_at.read(sent_at, index);
        bit<1> stale = now >= sent_at + meta.refresh_us ? 1w1 : 0;
        meta.send_pfc = sent == 1 ? stale : exceeds;
        xoff_sent_at.write(index, meta.send_pfc == 1 ? now : sent_at);
#endif

        held_bytes.write(index, bytes);
        xoff_sent.write(index, sent | exceeds);
    }

    apply {
        admit();
    }
}

// A packet was dequeued, and departs unless meta.hold. Sets as above; send_pfc also where a RESUME is due.
control InsideDepart(inout metadata_t meta, in bit<32> length, in time_us_t now) {
    index_t index = meta.ingress_port ++ meta.class;

    @hidden action depart() {
        bit<32> bytes;
        bit<1> sent;
        held_bytes.read(bytes, index);
        xoff_sent.read(sent, index);

        bytes = meta.hold == 1 ? bytes : bytes - length;
        // An XON of 0 would never be reached: nothing inside resumes as well.
        bit<1> resume = (sent == 1 && meta.hold == 0 && (bytes < meta.xon_bytes || bytes == 0)) ? 1w1 : 0;
        meta.inside_bytes = bytes;
        meta.inside_paused = resume == 1 ? 0 : sent;
#ifndef NATIVE_PFC
        bit<48> sent_at;
        xoff_sent_at.read(sent_at, index);
        bit<1> again = (sent == 1 && resume == 0 && now >= sent_at + meta.refresh_us) ? 1w1 : 0;
        meta.send_pfc = resume | again;
        xoff_sent_at.write(index, resume == 1 ? 0 : (again == 1 ? now : sent_at));
#endif

        held_bytes.write(index, bytes);
        xoff_sent.write(index, meta.inside_paused);
    }

    apply {
        depart();
    }
}

#endif
