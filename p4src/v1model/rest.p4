// Tells by a port's rest that it was paused, for a switch that sees neither PAUSE nor RESUME, as Tofino, whose traffic
// manager keeps PFC to itself. docs/tofino.md says when it errs, and by how much.
//
// A port that was paused shows it afterwards. It had a rest: for longer than a frame takes it dequeued nothing of this
// class, nor of one that goes before it. And a packet waited through that rest. The first packet to show so is the
// RESUME, and its time is kept; packets that were enqueued before it were held up.
//
// Because only the end of the rest is looked at, classes that PFC doesn't stop hide nothing: a CNP that leaves in the
// middle of a pause ends one rest, and the next one begins.
//
// Times are 32 bits of the target's clock, here us, and wrap: differences are taken, never times compared. A time that is
// older than a wrap (4.3 s in ns, 71 minutes in us) counts as young once a wrap, for as long as packets wait.
//
// TNA twin: rest.p4, in ns. Each register is a pair of 32 bits in one RegisterAction. `|-|` and a test for zero stand for
// comparisons of times that have passed; what a rest is, the stateful ALU tells by comparing with two times at once.

#ifndef PCN_V1MODEL_REST_P4
#define PCN_V1MODEL_REST_P4

#include <v1model.p4>
#include "metadata.p4"

typedef bit<32> wrapped_us_t;

// Of an egress port: its latest dequeue, and the latest one that ended a rest. last ++ since.
register<bit<64>, port_t>(N_PORTS) busy;
// Of an egress port and class: which rest showed the latest RESUME, by its end, and when that was seen. since ++ at.
register<bit<64>, index_t>(N_INDEXES) resumed;

// What a departing packet tells.
struct rest_t {
    bit<1> watched;  // PFC stops its class at its port
    bit<1> shows;    // it is the first to show a RESUME
    bit<1> held_up;  // it was enqueued at the latest RESUME or before it
}

// At the head of egress: when the packet began to wait here. If a pause sends it round it keeps the first time.
control RestArrival(inout metadata_t meta, in standard_metadata_t std_meta) {
    apply {
        if (meta.kind == kind_t.NEW) {
            meta.enqueued_at = std_meta.enq_timestamp;
        }
    }
}

// For a packet that departs.
control Rest(in metadata_t meta, in standard_metadata_t std_meta, out rest_t rest) {
    index_t index = meta.egress_port ++ meta.class;
    bit<1> counts = 0;
    wrapped_us_t gap_bound = 0;

    // gap_us: how far apart two dequeues can be while packets wait: as long as the largest frame takes at this port.
    action set_rest(bit<32> gap_us) {
        counts = 1;
        rest.watched = 1;
        gap_bound = gap_us;
    }

    // A class that PFC doesn't stop, but is served before one that it stops.
    action goes_before(bit<32> gap_us) {
        counts = 1;
        gap_bound = gap_us;
    }

    action no_rest() { }

    table rest_config {
        key = {
            meta.egress_port : exact @name("port");
            meta.class : exact @name("class");
        }
        actions = {
            set_rest;
            goes_before;
            no_rest;
        }
        default_action = no_rest();
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
        rest.shows = (rest.watched == 1 && (waited |-| gap_bound) > now - since && since != resume[63:32]) ? 1w1 : 0;
        resume = rest.shows == 1 ? since ++ now : resume;
        resumed.write(index, resume);
        rest.held_up = waited >= now - resume[31:0] ? 1w1 : 0;
    }

    apply {
        rest.watched = 0;
        rest.shows = 0;
        rest.held_up = 0;
        rest_config.apply();
        if (counts == 1) {
            depart();
        }
    }
}

#endif
