// Tells by a port's rest that it was paused, for a switch that sees neither PAUSE nor RESUME.
//
// A port that was paused shows it afterwards. It had a rest: for longer than a frame takes it dequeued nothing of this
// class, nor of one that goes before it. And a packet waited through that rest. The first packet to show so is the RESUME,
// and its time is kept. docs/tofino.md says when this errs.
//
// A register is accessed once a packet, and its result is for the stages that follow: every step is an action of its own.
// Times are differences of a clock that wraps, with `|-|` and a test for zero in place of a comparison. A stateful ALU
// compares them as numbers, with the two ends of a span of time: what lies before it or after it is outside. Where the
// clock wraps within that span, what lies before its end and after its beginning is.
//
// v1model twin: rest.p4, in us.

#ifndef PCN_TNA_REST_P4
#define PCN_TNA_REST_P4

#include "architecture.p4"
#include "../shared/constants.p4"
#include "metadata.p4"

// Of an egress port: the latest dequeue that ended a rest, and until when the latest dequeue explains that none follows.
struct busy_t {
    time_ns_t since;
    time_ns_t until;
}

// Of an egress port and class: when the latest RESUME was seen, and the end of the rest that showed it.
struct resumed_t {
    time_ns_t at;
    time_ns_t since;
}

// Sets meta.watched. For a class that PFC stops: meta.waited, how long the packet was in its queue; meta.resume_age, how
// long ago the latest RESUME was seen. If that is 0 and meta.waited_more isn't, this packet is the first to show it.
control Rest(inout egress_metadata_t meta,
             in egress_intrinsic_metadata_t eg_md,
             in egress_intrinsic_metadata_from_parser_t eg_prsr_md) {
    index_t index = eg_md.egress_port ++ meta.class;

    // A dequeue is due until `until`, a gap after the one before. One that comes then finds `until` from now to a gap
    // after now; any other ended a rest.
    Register<busy_t, port_t>(N_PORTS) busy;
    RegisterAction<busy_t, port_t, time_ns_t>(busy) dequeue = {
        void apply(inout busy_t state, out time_ns_t since) {
            if (state.until < meta.now || state.until > meta.until) {
                state.since = meta.now;
            }
            state.until = meta.until;
            since = state.since;
        }
    };
    RegisterAction<busy_t, port_t, time_ns_t>(busy) dequeue_at_wrap = {
        void apply(inout busy_t state, out time_ns_t since) {
            if (state.until < meta.now && state.until > meta.until) {
                state.since = meta.now;
            }
            state.until = meta.until;
            since = state.since;
        }
    };

    Register<resumed_t, index_t>(N_INDEXES) resumed;
    // Takes a rest that this packet waited through for a RESUME, unless it was taken for one before.
    RegisterAction<resumed_t, index_t, time_ns_t>(resumed) resume = {
        void apply(inout resumed_t state, out time_ns_t at) {
            if (state.since != meta.since) {
                state.at = meta.now;
            }
            state.since = meta.since;
            at = state.at;
        }
    };
    RegisterAction<resumed_t, index_t, time_ns_t>(resumed) latest_resume = {
        void apply(inout resumed_t state, out time_ns_t at) {
            at = state.at;
        }
    };

    // gap_ns: how far apart two dequeues can be while packets wait: as long as the largest frame takes at this port.
    action set_rest(bit<32> gap_ns) {
        meta.counts = 1;
        meta.watched = 1;
        meta.gap_bound = gap_ns;
        meta.until = eg_prsr_md.global_tstamp[31:0] + gap_ns;
    }

    // A class that PFC doesn't stop, but is served before one that it stops.
    action goes_before(bit<32> gap_ns) {
        meta.counts = 1;
        meta.until = eg_prsr_md.global_tstamp[31:0] + gap_ns;
    }

    action no_rest() { }

    table rest_config {
        key = {
            eg_md.egress_port : exact @name("port");
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

    @hidden action tell_time() {
        meta.now = eg_prsr_md.global_tstamp[31:0];
        meta.waited = eg_prsr_md.global_tstamp[31:0] - meta.bridge.arrival;
    }

    // The time in the queue alone; its 18 bits wrap where the time since the packet's arrival doesn't fit in them.
    @hidden action tell_wait() {
        meta.waited = (time_ns_t) eg_md.deq_timedelta;
    }

    action depart() {
        meta.since = dequeue.execute(eg_md.egress_port);
    }

    action depart_at_wrap() {
        meta.since = dequeue_at_wrap.execute(eg_md.egress_port);
    }

    action never() { }

    // One table with two actions, so that one of the two accesses happens and not the other. A gap is shorter than half
    // of what the clock counts: the top bits tell a wrap.
    table departures {
        key = {
            meta.now[31:31] : exact @name("now_msb");
            meta.until[31:31] : exact @name("until_msb");
        }
        actions = {
            depart;
            depart_at_wrap;
            @defaultonly never;
        }
        const entries = {
            (0, 0) : depart();
            (0, 1) : depart();
            (1, 0) : depart_at_wrap();
            (1, 1) : depart();
        }
        const default_action = never();
        size = 4;
    }

    @hidden action compare_wait() {
        meta.rest_age = meta.now - meta.since;
        meta.waited_more = meta.waited |-| meta.gap_bound;
    }

    @hidden action compare_rest() {
        meta.waited_more = meta.waited_more |-| meta.rest_age;
    }

    action see_resume() {
        meta.resume_age = resume.execute(index);
    }

    action read_resume() {
        meta.resume_age = latest_resume.execute(index);
    }

    table resumes {
        key = {
            meta.waited_more : ternary @name("waited_more");
        }
        actions = {
            see_resume;
            read_resume;
            @defaultonly never;
        }
        const entries = {
            0 : read_resume();
            _ : see_resume();
        }
        const default_action = never();
        size = 2;
    }

    @hidden action compare_resume() {
        meta.resume_age = meta.now - meta.resume_age;
    }

    apply {
        tell_time();
        rest_config.apply();
        if (meta.waited[31:18] == 0) {
            tell_wait();
        }
        if (meta.counts == 1) {
            departures.apply();
        }
        if (meta.watched == 1) {
            compare_wait();
            // It began to wait more than a frame's time before the rest ended.
            compare_rest();
            resumes.apply();
            compare_resume();
        }
    }
}

#endif
