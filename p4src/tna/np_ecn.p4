// NP-ECN by time, PCN's congestion point (NSDI'20, 5.1, Fig. 7) for a switch that sees neither PAUSE nor RESUME: packets
// that a pause held up leave unmarked, others are marked CE if they found their queue not empty.
//
// A port that was paused shows it afterwards. It had a rest: for longer than a frame takes it dequeued nothing of this
// class, nor of one that goes before it. And a packet waited through that rest. The first packet to show so is the RESUME,
// and its time is kept; packets that were enqueued before it were held up. docs/tofino.md says when this errs.
//
// A register is accessed once a packet, and its result is for the stages that follow: every step is an action of its own.
// Times are differences of a clock that wraps, with `|-|` and a test for zero in place of a comparison.
//
// v1model twin: np_ecn_time.p4, in us. Its np_ecn.p4 has the paper's counter instead, which needs the PAUSE and RESUME frames.

#ifndef PCN_TNA_NP_ECN_P4
#define PCN_TNA_NP_ECN_P4

#include "architecture.p4"
#include "../shared/headers.p4"
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

control NpEcn(inout headers_t hdr,
              inout egress_metadata_t meta,
              in egress_intrinsic_metadata_t eg_md,
              in egress_intrinsic_metadata_from_parser_t eg_prsr_md) {
    index_t index = eg_md.egress_port ++ meta.class;

    // Packets that left an egress port and class while NP-ECN saw real congestion there, those that were CE before
    // included. Packets that aren't ECN-capable are neither marked nor counted.
    Counter<bit<64>, index_t>(N_INDEXES, CounterType_t.PACKETS_AND_BYTES) marked;

    // The comparison isn't one of differences: the clock's wrap shows every 4.29 s, see docs/tofino.md.
    Register<busy_t, port_t>(N_PORTS) busy;
    RegisterAction<busy_t, port_t, time_ns_t>(busy) dequeue = {
        void apply(inout busy_t state, out time_ns_t since) {
            if (state.until < meta.now) {
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
    action set_np_ecn(bit<32> gap_ns) {
        meta.counts = 1;
        meta.marks = 1;
        meta.gap_bound = gap_ns;
        meta.until = eg_prsr_md.global_tstamp[31:0] + gap_ns;
    }

    // A class that isn't marked, but is served before one that is.
    action goes_before(bit<32> gap_ns) {
        meta.counts = 1;
        meta.until = eg_prsr_md.global_tstamp[31:0] + gap_ns;
    }

    action no_np_ecn() { }

    table np_ecn_config {
        key = {
            eg_md.egress_port : exact @name("port");
            meta.class : exact @name("class");
        }
        actions = {
            set_np_ecn;
            goes_before;
            no_np_ecn;
        }
        default_action = no_np_ecn();
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

    @hidden action depart() {
        meta.since = dequeue.execute(eg_md.egress_port);
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

    action never() { }

    // One table with two actions, so that one of the two accesses happens and not the other.
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

    @hidden action compare_enqueue() {
        meta.resume_age = meta.resume_age |-| meta.waited;
    }

    @hidden action mark() {
        hdr.ipv4.ecn = ECN_CE;
        marked.count(index);
    }

    apply {
        tell_time();
        np_ecn_config.apply();
        if (meta.waited[31:18] == 0) {
            tell_wait();
        }
        if (meta.counts == 1) {
            depart();
        }
        if (meta.marks == 1) {
            compare_wait();
            // It began to wait more than a frame's time before the rest ended.
            compare_rest();
            resumes.apply();
            compare_resume();
            // More than 0 is left if it was enqueued after the RESUME.
            compare_enqueue();
            if (meta.resume_age != 0 && eg_md.enq_qdepth != 0 && hdr.ipv4.ecn != ECN_NOT_ECT) {
                mark();
            }
        }
    }
}

#endif
