// TCD's detection of congestion in three states (SIGCOMM'21), by egress port and class, with its RESUME told by rest.p4.
// Until max(Ton) has passed since the RESUME a port is undetermined, and marks UE, ECT(1). Then its queue tells: as long
// as it falls from one look to the next it is what the pause left, and drains; once it doesn't fall, or is gone, RED marks
// again.
//
//   any state --RESUME--> UNDETERMINED --first look--> DRAINING --two frames left--> settled
//                                                      DRAINING --so many looks, no fall--> settled
//
// Three registers, one after the other, since a packet accesses each of them once: the time says whether this packet
// looks, whether the port was undetermined says what a look may do, and of the queue is kept how many looks are missing
// until the port is settled. Of a settled port RED marks, be it congested or not: here these are one state.
//
// v1model twin: tcd_port.p4, in us and bytes, where the two are apart, and all that is kept changes in one action.

#ifndef PCN_TNA_TCD_PORT_P4
#define PCN_TNA_TCD_PORT_P4

#include "architecture.p4"
#include "../shared/headers.p4"
#include "metadata.p4"

const bit<2> ECN_UE = 1;
const bit<2> ECN_ECT0 = 2;

// What a packet does: nothing, looks, shows a RESUME.
const bit<2> STEP_NONE = 0;
const bit<2> STEP_LOOK = 1;
const bit<2> STEP_RESUME = 2;

// Of an egress port and class: the queue at the latest look, cells of the buffer, and how many looks without a fall are
// missing. None are missing where it is settled.
struct tcd_queue_t {
    bit<32> cells;
    bit<32> missing;
}

// After Rest. Sets meta.missing: RED marks where it is 0.
control TcdPort(inout headers_t hdr,
                inout egress_metadata_t meta,
                in egress_intrinsic_metadata_t eg_md,
                in egress_intrinsic_metadata_from_parser_t eg_prsr_md) {
    index_t index = eg_md.egress_port ++ meta.class;

    // Packets that left an egress port and class with UE, from elsewhere or from here.
    Counter<bit<64>, index_t>(N_INDEXES, CounterType_t.PACKETS_AND_BYTES) marked_ue;

    // Until when the next look isn't due: max(Ton) after the RESUME, or after the latest look. Compared as in rest.p4.
    Register<time_ns_t, index_t>(N_INDEXES) tcd_until;
    RegisterAction<time_ns_t, index_t, bit<2>>(tcd_until) restart = {
        void apply(inout time_ns_t until, out bit<2> step) {
            until = meta.look_until;
            step = 0;
        }
    };
    RegisterAction<time_ns_t, index_t, bit<2>>(tcd_until) pass = {
        void apply(inout time_ns_t until, out bit<2> step) {
            step = 0;
            if (until < meta.now || until > meta.look_until) {
                until = meta.look_until;
                step = STEP_LOOK;
            }
        }
    };
    RegisterAction<time_ns_t, index_t, bit<2>>(tcd_until) pass_at_wrap = {
        void apply(inout time_ns_t until, out bit<2> step) {
            step = 0;
            if (until < meta.now && until > meta.look_until) {
                until = meta.look_until;
                step = STEP_LOOK;
            }
        }
    };

    // 1 from the RESUME until the first look. Tells what it was before the packet.
    Register<bit<8>, index_t>(N_INDEXES) tcd_undetermined;
    RegisterAction<bit<8>, index_t, bit<8>>(tcd_undetermined) begin = {
        void apply(inout bit<8> undetermined, out bit<8> was) {
            undetermined = 1;
            was = 1;
        }
    };
    RegisterAction<bit<8>, index_t, bit<8>>(tcd_undetermined) end = {
        void apply(inout bit<8> undetermined, out bit<8> was) {
            was = undetermined;
            undetermined = 0;
        }
    };
    RegisterAction<bit<8>, index_t, bit<8>>(tcd_undetermined) still = {
        void apply(inout bit<8> undetermined, out bit<8> was) {
            was = undetermined;
        }
    };

    Register<tcd_queue_t, index_t>(N_INDEXES) tcd_queue;
    RegisterAction<tcd_queue_t, index_t, bit<32>>(tcd_queue) note = {
        void apply(inout tcd_queue_t state, out bit<32> missing) {
            state.cells = meta.left;
            state.missing = meta.looks;
            missing = state.missing;
        }
    };
    RegisterAction<tcd_queue_t, index_t, bit<32>>(tcd_queue) compare = {
        void apply(inout tcd_queue_t state, out bit<32> missing) {
            if (state.missing != 0) {
                if (state.cells > meta.left) {
                    state.missing = meta.looks;
                } else {
                    state.missing = state.missing - 1;
                }
            }
            state.cells = meta.left;
            missing = state.missing;
        }
    };
    RegisterAction<tcd_queue_t, index_t, bit<32>>(tcd_queue) settle = {
        void apply(inout tcd_queue_t state, out bit<32> missing) {
            state.missing = 0;
            missing = 0;
        }
    };
    RegisterAction<tcd_queue_t, index_t, bit<32>>(tcd_queue) pass_by = {
        void apply(inout tcd_queue_t state, out bit<32> missing) {
            missing = state.missing;
        }
    };

    // max_ton_ns: how long a port that is paused again and again can be on between two pauses; less than 2^31. empty_cells:
    // a queue up to this long is none. looks: that show no fall, for congestion.
    action set_tcd(bit<32> max_ton_ns, bit<32> empty_cells, bit<8> looks) {
        meta.has_states = 1;
        meta.look_until = eg_prsr_md.global_tstamp[31:0] + max_ton_ns;
        meta.empty = empty_cells;
        meta.looks = (bit<32>) looks;
    }

    // Knows no state but the settled one.
    action no_tcd() { }

    table tcd_config {
        key = {
            eg_md.egress_port : exact @name("port");
        }
        actions = {
            set_tcd;
            no_tcd;
        }
        default_action = no_tcd();
        size = 512;
    }

    @hidden action tell_wrap() {
        meta.look_wraps = 1;
    }

    @hidden action tell_queue() {
        meta.left = (bit<32>) eg_md.deq_qdepth;
    }

    @hidden action compare_queue() {
        meta.more_left = meta.left |-| meta.empty;
    }

    action restart_looks() {
        restart.execute(index);
        meta.step = STEP_RESUME;
    }

    action look() {
        meta.step = pass.execute(index);
    }

    action look_at_wrap() {
        meta.step = pass_at_wrap.execute(index);
    }

    action no_step() { }

    // The first two keys say whether this packet shows a RESUME.
    table tcd_steps {
        key = {
            meta.waited_more : ternary @name("waited_more");
            meta.resume_age : ternary @name("resume_age");
            meta.look_wraps : ternary @name("look_wraps");
        }
        actions = {
            restart_looks;
            look;
            look_at_wrap;
            @defaultonly no_step;
        }
        const entries = {
            (0, _, 0) : look();
            (0, _, 1) : look_at_wrap();
            (_, 0, _) : restart_looks();
            (_, _, 0) : look();
            (_, _, 1) : look_at_wrap();
        }
        const default_action = no_step();
        size = 5;
    }

    action begin_undetermined() {
        meta.undetermined = begin.execute(index);
    }

    action end_undetermined() {
        meta.undetermined = end.execute(index);
    }

    action still_undetermined() {
        meta.undetermined = still.execute(index);
    }

    table tcd_phases {
        key = {
            meta.step : exact @name("step");
        }
        actions = {
            begin_undetermined;
            end_undetermined;
            still_undetermined;
            @defaultonly no_step;
        }
        const entries = {
            STEP_NONE : still_undetermined();
            STEP_LOOK : end_undetermined();
            STEP_RESUME : begin_undetermined();
        }
        const default_action = no_step();
        size = 3;
    }

    action note_queue() {
        meta.missing = note.execute(index);
    }

    action look_at_queue() {
        meta.missing = compare.execute(index);
    }

    action settle_port() {
        meta.missing = settle.execute(index);
    }

    action pass_queue() {
        meta.missing = pass_by.execute(index);
    }

    // A queue that is gone settles a port that drains, not one that is undetermined: its first look only compares.
    table tcd_queues {
        key = {
            meta.step : ternary @name("step");
            meta.undetermined : ternary @name("undetermined");
            meta.more_left : ternary @name("more_left");
        }
        actions = {
            note_queue;
            look_at_queue;
            settle_port;
            pass_queue;
            @defaultonly no_step;
        }
        const entries = {
            (STEP_RESUME, _, _) : note_queue();
            (_, 0, 0) : settle_port();
            (STEP_LOOK, _, _) : look_at_queue();
            (_, _, _) : pass_queue();
        }
        const default_action = no_step();
        size = 4;
    }

    @hidden action mark() {
        hdr.ipv4.ecn = ECN_UE;
        marked_ue.count(index);
    }

    apply {
        tcd_config.apply();
        tell_queue();
        compare_queue();
        // max(Ton) is shorter than half of what the clock counts: the top bits tell a wrap within it.
        if (meta.now[31:31] == 1 && meta.look_until[31:31] == 0) {
            tell_wrap();
        }
        if (meta.watched == 1 && meta.has_states == 1) {
            tcd_steps.apply();
            tcd_phases.apply();
            tcd_queues.apply();
            if (meta.undetermined == 1 && meta.step != STEP_LOOK
                && (hdr.ipv4.ecn == ECN_ECT0 || hdr.ipv4.ecn == ECN_UE)) {
                mark();
            }
        }
    }
}

#endif
