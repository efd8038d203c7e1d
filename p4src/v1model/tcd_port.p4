// TCD's detection of congestion in three states (SIGCOMM'21), by egress port and class. A RESUME says nothing of a port's
// own congestion, nor does the queue that the pause left: until max(Ton) has passed a port is undetermined, and marks UE,
// ECT(1). Then its queue tells: as long as it falls from one look to the next it is what the pause left, and drains;
// once it doesn't fall, or is gone, the scheme's RED marks again.
//
//   any state --RESUME, expiry--> UNDETERMINED --first look--> DRAINING --two frames left--> NON_CONGESTION
//                                                              DRAINING --so many looks, no fall--> CONGESTION
//                                                              CONGESTION --two frames left--> NON_CONGESTION
//
// A look is the first departure after max(Ton) since the RESUME, or since the look before. With `looks` 1, the paper's
// words, the first look decides already. docs/tcd.md says where max(Ton) comes from, and why one look isn't enough.
//
// TNA twin: tcd_port.p4, in ns and cells of the buffer. Egress doesn't see PFC there: rest.p4 tells the RESUME, as in
// programs/tcd_time.p4. A register is accessed once a packet there, so that each has a step of its own, and the two states
// in which RED marks are one.

#ifndef PCN_V1MODEL_TCD_PORT_P4
#define PCN_V1MODEL_TCD_PORT_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"
#include "pfc.p4"

const bit<2> ECN_UE = 1;
const bit<2> ECN_ECT0 = 2;

typedef bit<2> tcd_state_t;
const tcd_state_t NON_CONGESTION = 0;
const tcd_state_t DRAINING = 1;
const tcd_state_t UNDETERMINED = 2;
const tcd_state_t CONGESTION = 3;

register<tcd_state_t, index_t>(N_INDEXES) tcd_state;
// When the RESUME came, then the latest look; the queue at the first departure since, or then; looks in a row at which it
// hadn't fallen.
register<time_us_t, index_t>(N_INDEXES) tcd_since;
register<bit<32>, index_t>(N_INDEXES) tcd_bytes;
register<bit<8>, index_t>(N_INDEXES) tcd_not_fallen;

// Packets that left an egress port and class with UE, from elsewhere or from here.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) marked_ue;

// For a packet that departs. Sets `state`: RED marks in NON_CONGESTION and CONGESTION, nothing else does. And its port's
// `max_ton`, 0 where there is none.
control TcdPort(inout headers_t hdr, in metadata_t meta, in time_us_t now, out tcd_state_t state, out time_us_t max_ton) {
    index_t index = meta.egress_port ++ meta.class;
    bit<32> empty = 0;
    bit<8> enough = 0;

    // max_ton_us: how long a port that is paused again and again can be on between two pauses. empty_bytes: a queue up to
    // this long is none. looks: that show no fall, for congestion.
    action set_tcd(bit<48> max_ton_us, bit<32> empty_bytes, bit<8> looks) {
        max_ton = max_ton_us;
        empty = empty_bytes;
        enough = looks;
    }

    // Knows no state but NON_CONGESTION.
    action no_tcd() { }

    table tcd_config {
        key = {
            meta.egress_port : exact @name("port");
        }
        actions = {
            set_tcd;
            @defaultonly no_tcd;
        }
        default_action = no_tcd();
        size = 512;
    }

    @hidden action depart() {
        tcd_state_t before;
        bit<48> since;
        bit<32> bytes;
        bit<8> not_fallen;
        tcd_state.read(before, index);
        tcd_since.read(since, index);
        tcd_bytes.read(bytes, index);
        tcd_not_fallen.read(not_fallen, index);

        bit<1> resumed = meta.resumed_at != 0 ? 1w1 : 0;
        before = resumed == 1 ? UNDETERMINED : before;
        since = resumed == 1 ? meta.resumed_at : since;
        // All queues are as a packet leaves them.
        bytes = resumed == 1 ? meta.left_bytes : bytes;
        not_fallen = resumed == 1 ? 0 : not_fallen;

        bit<1> unsettled = (before == UNDETERMINED || before == DRAINING) ? 1w1 : 0;
        bit<1> look = (unsettled == 1 && now - since > max_ton) ? 1w1 : 0;
        bit<8> seen = meta.left_bytes < bytes ? 0 : not_fallen |+| 1;
        tcd_state_t looked = seen >= enough ? CONGESTION : DRAINING;
        bit<1> gone = (before != UNDETERMINED && meta.left_bytes <= empty) ? 1w1 : 0;
        state = gone == 1 ? NON_CONGESTION : (look == 1 ? looked : before);

        tcd_state.write(index, state);
        tcd_since.write(index, look == 1 ? now : since);
        tcd_bytes.write(index, look == 1 ? meta.left_bytes : bytes);
        tcd_not_fallen.write(index, look == 1 ? seen : not_fallen);
    }

    apply {
        state = NON_CONGESTION;
        max_ton = 0;
        if (meta.is_lossless == 1 && tcd_config.apply().hit) {
            depart();
            if (state == UNDETERMINED && (hdr.ipv4.ecn == ECN_ECT0 || hdr.ipv4.ecn == ECN_UE)) {
                hdr.ipv4.ecn = ECN_UE;
                marked_ue.count(index);
            }
        }
    }
}

#endif
