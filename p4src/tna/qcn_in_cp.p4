// QCN's congestion points at inputs (RZ 3880). The queue is what an ingress port has inside for ports of one pipe. Whom a
// sample tells is the choice, set_departures' `choice`:
//
//     ARRIVAL   the packet that arrives: QCN's own choice
//     SOJOURN   the next packet to leave that a dice takes, with a probability in proportion to the time it waited. By
//               Little's law a flow's packets wait q_n in sum a second, so P = q_n / q.
//
// Ingress knows what came, egress what left, and neither can look into the other's registers. So what a sample's packet
// found is taken in two steps. Ingress counts the bytes that it admitted, and copies the packet that is sampled, with
// that count, past all queues to egress. There the bytes that left are subtracted. Until the copy is there some more
// leave: docs/tofino.md bounds it. Samples are sample_min_bytes of arrivals apart, and up to sample_mask_bytes more.
//
// v1model twin: one register has what is inside, and two more choices need it to be one. Samples may be adaptive, since
// ingress knows the last one's feedback. A keep-alive samples at departures.

#ifndef PCN_TNA_QCN_IN_CP_P4
#define PCN_TNA_QCN_IN_CP_P4

#include "architecture.p4"
#include "../shared/headers.p4"
#include "metadata.p4"
#include "mirror.p4"
#include "cnm.p4"

// As v1model has them.
enum bit<2> choice_t {
    ARRIVAL = 0,
    SOJOURN = 3
}

// A packet was admitted, after TellOrigin.
control QcnInAdmit(in headers_t hdr,
                   inout ingress_metadata_t meta,
                   in ingress_intrinsic_metadata_t ig_md,
                   in ingress_intrinsic_metadata_for_tm_t ig_tm_md,
                   inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    // Each pipe has registers of its own, so the ingress port's pipe isn't in it, but that of the egress port.
    index_t index = ig_tm_md.ucast_egress_port[8:7] ++ ig_md.ingress_port[6:0] ++ meta.class;
    bit<8> sampled = 0;
    bit<32> sample_min = 0;
    bit<32> sample_mask = 0;
    Random<bit<32>>() random;

    // Bytes that were admitted.
    Register<bit<32>, index_t>(N_INDEXES, 0) admitted_bytes;
    RegisterAction<bit<32>, index_t, bit<32>>(admitted_bytes) add_arrival = {
        void apply(inout bit<32> bytes, out bit<32> all) {
            bytes = bytes + (bit<32>) meta.length;
            all = bytes;
        }
    };

    // What is still to arrive before the next sample.
    Register<bit<32>, index_t>(N_INDEXES, 0) sample_after_bytes;
    RegisterAction<bit<32>, index_t, bit<8>>(sample_after_bytes) count_down = {
        void apply(inout bit<32> bytes, out bit<8> due) {
            if (bytes > (bit<32>) meta.length) {
                bytes = bytes - (bit<32>) meta.length;
                due = 0;
            } else {
                bytes = meta.next_sample;
                due = 1;
            }
        }
    };

    action set_arrivals(bit<32> sample_min_bytes, bit<32> sample_mask_bytes) {
        sample_min = sample_min_bytes;
        sample_mask = sample_mask_bytes;
    }

    action no_arrivals() { }

    table qcn_in_arrivals {
        key = {
            ig_md.ingress_port : exact @name("port");
            meta.class : exact @name("class");
        }
        actions = {
            set_arrivals;
            no_arrivals;
        }
        default_action = no_arrivals();
        size = 4096;
    }

    @hidden action measure() {
        meta.length = hdr.ipv4.total_len + (bit<16>) ETHERNET_BYTES;
    }

    @hidden action draw() {
        meta.next_sample = random.get();
    }

    @hidden action admit() {
        meta.origin.bytes = add_arrival.execute(index);
    }

    @hidden action bound() {
        meta.next_sample = meta.next_sample & sample_mask;
    }

    @hidden action shift() {
        meta.next_sample = meta.next_sample + sample_min;
    }

    @hidden action count() {
        sampled = count_down.execute(index);
    }

    @hidden action sample() {
        meta.copy_kind = kind_t.SAMPLE;
        ig_dprsr_md.mirror_type = MIRROR_COPY;
    }

    apply {
        measure();
        admit();
        if (hdr.bth.isValid()) {
            if (qcn_in_arrivals.apply().hit) {
                draw();
                bound();
                shift();
                count();
                if (sampled == 1) {
                    sample();
                }
            }
        }
    }
}

// What comes to egress: a packet that departs, or a copy. Sets meta.origin's feedback, above 0 if there is somebody to
// tell, and with it bytes, the queue.
control QcnInDepart(in headers_t hdr,
                    inout copying_metadata_t meta,
                    in egress_intrinsic_metadata_t eg_md,
                    in egress_intrinsic_metadata_from_parser_t eg_prsr_md) {
    index_t index = meta.origin.ingress_port ++ hdr.ipv4.dscp[5:3];
    bit<32> departed = 0;
    bit<32> old = 0;
    choice_t culprit = choice_t.ARRIVAL;
    bit<32> q_eq = 0;
    bit<32> sojourn_mask = 0;
    bit<32> waited = 0;
    bit<32> dice = 0;
    Random<bit<32>>() random;
    Feedback() feedback;

    // By ingress port and class: messages to sources of what is inside. Bytes are those of the packets that were copied,
    // or of copies.
    Counter<bit<64>, index_t>(N_INDEXES, CounterType_t.PACKETS_AND_BYTES) notified;

    // Of an ingress port and class: bytes that left by this pipe; the bytes inside as of the latest sample; and feedback
    // that waits for its packet.
    Register<bit<32>, index_t>(N_INDEXES, 0) departed_bytes;
    RegisterAction<bit<32>, index_t, bit<32>>(departed_bytes) add_departure = {
        void apply(inout bit<32> bytes, out bit<32> all) {
            bytes = bytes + (bit<32>) meta.length;
            all = bytes;
        }
    };

    Register<bit<32>, index_t>(N_INDEXES, 0) sampled_bytes;
    RegisterAction<bit<32>, index_t, bit<32>>(sampled_bytes) exchange_sample = {
        void apply(inout bit<32> bytes, out bit<32> before) {
            before = bytes;
            bytes = meta.origin.bytes;
        }
    };
    RegisterAction<bit<32>, index_t, bit<32>>(sampled_bytes) latest_sample = {
        void apply(inout bit<32> bytes, out bit<32> latest) {
            latest = bytes;
        }
    };

    Register<bit<8>, index_t>(N_INDEXES, 0) pending_feedback;
    RegisterAction<bit<8>, index_t, bit<8>>(pending_feedback) put_pending = {
        void apply(inout bit<8> pending) {
            pending = meta.origin.feedback;
        }
    };
    RegisterAction<bit<8>, index_t, bit<8>>(pending_feedback) take_pending = {
        void apply(inout bit<8> pending, out bit<8> taken) {
            taken = pending;
            pending = 0;
        }
    };

    // sojourn_mask_ns: the dice has one side more, a power of two, and not fewer than the longest wait has ns.
    action set_departures(choice_t choice, bit<32> q_eq_bytes, bit<32> sojourn_mask_ns) {
        culprit = choice;
        q_eq = q_eq_bytes;
        sojourn_mask = sojourn_mask_ns;
    }

    action no_departures() { }

    table qcn_in_departures {
        key = {
            meta.origin.ingress_port : exact @name("port");
            hdr.ipv4.dscp[5:3] : exact @name("class");
        }
        actions = {
            set_departures;
            no_departures;
        }
        default_action = no_departures();
        size = 4096;
    }

    @hidden action measure() {
        meta.length = hdr.ipv4.total_len + (bit<16>) ETHERNET_BYTES;
        waited = eg_prsr_md.global_tstamp[31:0] - meta.bridge.arrival;
    }

    // The time in the queue alone; its 18 bits wrap where the time since the packet's arrival doesn't fit in them.
    @hidden action tell_wait() {
        waited = (bit<32>) eg_md.deq_timedelta;
    }

    @hidden action depart() {
        departed = add_departure.execute(index);
    }

    @hidden action look_inside() {
        meta.origin.bytes = meta.origin.bytes - departed;
    }

    action write_sample() {
        old = exchange_sample.execute(index);
    }

    action read_sample() {
        meta.origin.bytes = latest_sample.execute(index);
    }

    action never() { }

    // One table with two actions, so that one of the two accesses happens and not the other. So below.
    table samples {
        key = {
            meta.origin.kind : exact @name("kind");
        }
        actions = {
            write_sample;
            read_sample;
            @defaultonly never;
        }
        const entries = {
            kind_t.NEW : read_sample();
            kind_t.SAMPLE : write_sample();
        }
        const default_action = never();
        size = 2;
    }

    @hidden action draw() {
        dice = random.get();
    }

    @hidden action bound() {
        dice = dice & sojourn_mask;
    }

    @hidden action throw() {
        waited = waited |-| dice;
    }

    action write_pending() {
        put_pending.execute(index);
        meta.origin.feedback = 0;
    }

    action read_pending() {
        meta.origin.feedback = take_pending.execute(index);
    }

    action keep() { }

    // Of SOJOURN: a sample puts its feedback there, a packet that the dice takes finds it.
    table pendings {
        key = {
            meta.origin.kind : ternary @name("kind");
            culprit : ternary @name("choice");
            waited : ternary @name("waited");
        }
        actions = {
            write_pending;
            read_pending;
            keep;
        }
        const entries = {
            (kind_t.SAMPLE, choice_t.SOJOURN, _) : write_pending();
            (kind_t.NEW, choice_t.SOJOURN, 0) : keep();
            (kind_t.NEW, choice_t.SOJOURN, _) : read_pending();
        }
        const default_action = keep();
        size = 3;
    }

    @hidden action count_message() {
        notified.count(index);
    }

    apply {
        if (meta.origin.kind == kind_t.NEW) {
            measure();
        }
        if (meta.origin.kind != kind_t.CNM) {
            depart();
            if (hdr.bth.isValid()) {
                if (qcn_in_departures.apply().hit) {
                    if (meta.origin.kind == kind_t.SAMPLE) {
                        look_inside();
                    }
                    samples.apply();
                    if (meta.origin.kind == kind_t.SAMPLE) {
                        feedback.apply(meta.origin.bytes, old, q_eq, meta.origin.feedback);
                    } else {
                        draw();
                        bound();
                        if (waited[31:18] == 0) {
                            tell_wait();
                        }
                        throw();
                    }
                    pendings.apply();
                    if (meta.origin.feedback != 0) {
                        count_message();
                    }
                }
            }
        }
    }
}

#endif
