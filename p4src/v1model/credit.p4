// InfiniBand's flow control by credits, as a marking point that goes by RESUME needs it: what each egress port and lane
// has sent, how far its neighbour lets it go, and when a flow control packet let it go on. That counts as the RESUME of
// a class, and is told as pfc.p4 tells one, by resumed_at. Lanes are classes; all counts are in blocks of 64 bytes,
// modulo 4096.
//
// The target itself counts credits and stops queues (virtualnet/csrc/links/credit.c); this only follows it. A program that
// wants it defines COUNTS_CREDITS beside TELLS_RESUME.
//
// TNA twin: none, as there are no credits there.

#ifndef PCN_V1MODEL_CREDIT_P4
#define PCN_V1MODEL_CREDIT_P4

#include <v1model.p4>
#include "metadata.p4"
#include "pfc.p4"

// Of an egress port and lane: blocks sent; the latest FCCL, less what it was at the start.
register<bit<12>, index_t>(N_INDEXES) fctbs;
register<bit<12>, index_t>(N_INDEXES) fccl;

// A flow control packet that arrived at meta.ingress_port. Where there are no credits it is a frame of an unknown type.
control CreditReceive(inout metadata_t meta, in time_us_t now) {
    index_t index = meta.ingress_port ++ meta.flow_control[14:12];
    bit<12> said = meta.flow_control[11:0];  // FCCL
    bit<12> initial = 0;
    bit<12> frame = 0;

    // initial_blocks: FCCL of a lane at the start. frame_blocks: what the longest frame takes.
    action set_credits(bit<12> initial_blocks, bit<12> frame_blocks) {
        initial = initial_blocks;
        frame = frame_blocks;
    }

    action no_credits() { }

    table credit_config {
        key = {
            meta.ingress_port : exact @name("port");
        }
        actions = {
            set_credits;
            @defaultonly no_credits;
        }
        default_action = no_credits();
        size = 512;
    }

    @hidden action receive() {
        bit<12> sent;
        bit<12> limit;
        bit<48> resumed;
        fctbs.read(sent, index);
        fccl.read(limit, index);
        resumed_at.read(resumed, index);
        bit<12> had = limit + initial - sent;
        bit<12> has = said - sent;
        fccl.write(index, said - initial);
        resumed_at.write(index, (had < frame && has >= frame) ? now : resumed);
    }

    apply {
        if (credit_config.apply().hit) {
            receive();
        } else {
            meta.discard = 1;
            meta.reason = drop_reason_t.UNKNOWN_ETHERTYPE;
        }
    }
}

// A packet departs.
control CreditDepart(in metadata_t meta, in bit<32> length) {
    index_t index = meta.egress_port ++ meta.class;

    @hidden action depart() {
        bit<12> sent;
        fctbs.read(sent, index);
        fctbs.write(index, sent + (bit<12>) ((length + 63) >> 6));
    }

    apply {
        depart();
    }
}

#endif
