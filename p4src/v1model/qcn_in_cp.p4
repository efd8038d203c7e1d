// QCN's congestion points at inputs (RZ 3880, "unbiased QCN"). The queue is what an ingress port has inside, whichever
// outputs it waits for: the bytes that PFC counts. Samples are sample_bytes of arrivals apart, as in qcn_cp.p4. Whom a
// sample tells is the choice, config.choice:
//
//     ARRIVAL   the packet that arrives: QCN's own choice
//     RANDOM    a packet that is inside, each as likely: P = q_n / q       (qcn_in_random.p4)
//     LARGEST   the flow with the most bytes inside                        (qcn_in_largest.p4)
//     SOJOURN   the next packet to leave that a dice takes, with a probability in proportion to the time it waited. By
//               Little's law a flow's packets wait q_n in sum a second, so P = q_n / q again, without an array. Ours.
//
// A sample that waits for its packet (SOJOURN) is replaced by the next one. sojourn_us, the dice's sides, must not be
// below the longest wait, or packets that waited longer count for too little.
//
// Keep-alive: a paused input has no arrivals, and so no samples. While its neighbour is told to pause, departures
// sample once the latest sample is keep_alive_us old; 0 is never. It needs a culprit that isn't an arriving packet.
// Where next to nothing departs, frames of the switch's packet generator do the same (generated.p4), with RANDOM and
// LARGEST: SOJOURN tells packets that depart.
//
// TNA twin: ARRIVAL and SOJOURN, not adaptive, without keep-alive; see qcn_in_random.p4 and qcn_in_largest.p4.

#ifndef PCN_V1MODEL_QCN_IN_CP_P4
#define PCN_V1MODEL_QCN_IN_CP_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"
#include "inside.p4"
#include "generated.p4"
#include "cnm.p4"
#include "qcn_in_random.p4"
#include "qcn_in_largest.p4"

enum bit<2> choice_t {
    ARRIVAL = 0,
    RANDOM = 1,
    LARGEST = 2,
    SOJOURN = 3
}

// Of an ingress port and class, as of its latest sample: the bytes inside, the feedback, when; what is still to arrive
// before the next one; and feedback that waits for its packet.
register<bit<32>, index_t>(N_INDEXES) sampled_bytes;
register<bit<6>, index_t>(N_INDEXES) sampled_feedback;
register<time_us_t, index_t>(N_INDEXES) sampled_at;
register<bit<32>, index_t>(N_INDEXES) sample_after_bytes;
register<bit<6>, index_t>(N_INDEXES) pending_feedback;

// By ingress port and class: messages to sources of what is inside. Bytes are those of the packets that were cloned.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) notified;

struct qcn_in_t {
    choice_t  choice;
    bit<32>   q_eq;
    bit<8>    w;
    bit<32>   scale;          // as in cnm.p4
    bit<32>   sample_min;     // samples are so many bytes of arrivals apart,
    bit<32>   sample_max;     // to so many,
    bit<1>    adaptive;       // and closer the worse it is
    time_us_t keep_alive_us;  // between two samples of a paused input; 0: none
    bit<32>   sojourn_us;     // the longest wait
}

// A packet arrives with `arrived` bytes, or one departs or is generated (0). Sets meta.feedback, above 0 if there is
// somebody to tell, and with it queue_bytes and culprit.
control QcnInSample(in headers_t hdr, inout metadata_t meta, in qcn_in_t config, in bit<32> arrived, in time_us_t now) {
    CulpritByChance() by_chance;
    CulpritLargest() largest;
    index_t index = meta.ingress_port ++ meta.class;
    bit<1> sampled;

    @hidden action sample() {
        bit<32> after;
        bit<32> next;
        bit<32> old;
        bit<6> before;
        bit<48> at;
        bit<6> pending;
        sample_after_bytes.read(after, index);
        sampled_bytes.read(old, index);
        sampled_feedback.read(before, index);
        sampled_at.read(at, index);
        pending_feedback.read(pending, index);
        random(next, config.sample_min, config.sample_max);

        bit<32> counted = config.adaptive == 1 ? arrived * (1 + (bit<32>) before[5:3]) : arrived;
        bit<1> keeps_alive = (config.keep_alive_us != 0 && meta.inside_paused == 1) ? 1w1 : 0;
        bit<1> late = now >= at + config.keep_alive_us ? 1w1 : 0;
        bit<1> due = arrived == 0 ? keeps_alive & late : (counted >= after ? 1w1 : 0);
        // A packet is cloned once: if it is for another reason already, the next one is sampled.
        sampled = (meta.send_pfc == 1 || meta.feedback != 0) ? 0 : due;
        bit<6> feedback = feedback_of(meta.inside_bytes, old, config.q_eq, config.w, config.scale);
        meta.feedback = (sampled == 1 && config.choice != choice_t.SOJOURN) ? feedback : 0;

        sample_after_bytes.write(index, sampled == 1 ? next : after |-| counted);
        sampled_bytes.write(index, sampled == 1 ? meta.inside_bytes : old);
        sampled_feedback.write(index, sampled == 1 ? feedback : before);
        sampled_at.write(index, sampled == 1 ? now : at);
        pending_feedback.write(index, (sampled == 1 && config.choice == choice_t.SOJOURN) ? feedback : pending);
    }

    apply {
        sample();
        if (meta.feedback != 0) {
            meta.queue_bytes = meta.inside_bytes;
            if (config.choice == choice_t.RANDOM) {
                by_chance.apply(meta);
            } else if (config.choice == choice_t.LARGEST) {
                largest.apply(meta);
            } else {
                meta.culprit = flow_of(hdr);
            }
            if (meta.culprit == 0) {
                meta.feedback = 0;
            }
        }
    }
}

// A packet of `length` bytes was admitted, or one was generated (0).
control QcnInAdmit(in headers_t hdr, inout metadata_t meta, in bit<32> length, in time_us_t now) {
#ifdef NATIVE_PFC
    InsideAdmit() inside;  // elsewhere PFC's emulation has counted the packet
#endif
    QcnInSample() sample;
    SlotTake() slot;
    FlowCount() flow;
    qcn_in_t config = { choice_t.ARRIVAL, 0, 0, 0, 0, 0, 0, 0, 0 };

    action set_arrivals(choice_t choice, bit<32> q_eq_bytes, bit<8> w, bit<32> scale_q32, bit<32> sample_min_bytes,
                        bit<32> sample_max_bytes, bit<1> adaptive, time_us_t keep_alive_us, bit<32> sojourn_us) {
        config = { choice, q_eq_bytes, w, scale_q32, sample_min_bytes, sample_max_bytes, adaptive, keep_alive_us,
                   sojourn_us };
    }

    action no_arrivals() { }

    table qcn_in_arrivals {
        key = {
            meta.ingress_port : exact @name("port");
        }
        actions = {
            set_arrivals;
            @defaultonly no_arrivals;
        }
        default_action = no_arrivals();
        size = 512;
    }

    apply {
        bool generated = length == 0;
#ifdef NATIVE_PFC
        if (!generated) {
            inside.apply(meta, length, now);
        }
#endif
        if (meta.is_lossless == 1 && (generated || hdr.bth.isValid()) && qcn_in_arrivals.apply().hit) {
            if (!generated && config.choice == choice_t.RANDOM) {
                slot.apply(hdr, meta);
            } else if (!generated && config.choice == choice_t.LARGEST) {
                flow.apply(hdr, meta, length, 1);
            }
            sample.apply(hdr, meta, config, length, now);
            if (meta.feedback != 0) {
                notified.count(meta.ingress_port ++ meta.class);
                clone_preserving_field_list(CloneType.I2E, CNM_CLONE_SESSION, LIST_CNM);
            }
        }
    }
}

// A packet was dequeued: to be applied to all but clones and frames of the switch's own.
control QcnInDepart(in headers_t hdr, inout metadata_t meta, in bit<32> length, in time_us_t now) {
#ifdef NATIVE_PFC
    InsideDepart() inside;
#endif
    QcnInSample() sample;
    SlotGive() slot;
    FlowCount() flow;
    qcn_in_t config = { choice_t.ARRIVAL, 0, 0, 0, 0, 0, 0, 0, 0 };
    index_t index = meta.ingress_port ++ meta.class;

    // The same as at arrivals.
    action set_departures(choice_t choice, bit<32> q_eq_bytes, bit<8> w, bit<32> scale_q32, bit<32> sample_min_bytes,
                          bit<32> sample_max_bytes, bit<1> adaptive, time_us_t keep_alive_us, bit<32> sojourn_us) {
        config = { choice, q_eq_bytes, w, scale_q32, sample_min_bytes, sample_max_bytes, adaptive, keep_alive_us,
                   sojourn_us };
    }

    action no_departures() { }

    table qcn_in_departures {
        key = {
            meta.ingress_port : exact @name("port");
        }
        actions = {
            set_departures;
            @defaultonly no_departures;
        }
        default_action = no_departures();
        size = 512;
    }

    // The dice: does a sample that waits tell this packet's source?
    @hidden action throw() {
        bit<6> pending;
        bit<32> bytes;
        bit<32> dice;
        pending_feedback.read(pending, index);
        sampled_bytes.read(bytes, index);
        random(dice, 1, config.sojourn_us);
        bit<32> waited = (bit<32>) now - meta.enqueued_at;
        meta.feedback = (dice <= waited && meta.send_pfc == 0) ? pending : 0;
        meta.queue_bytes = bytes;
        meta.culprit = flow_of(hdr);
        pending_feedback.write(index, meta.feedback != 0 ? 0 : pending);
    }

    apply {
#ifdef NATIVE_PFC
        inside.apply(meta, length, now);
#endif
        meta.feedback = 0;
        if (meta.hold == 0) {
            // What was counted as it came is as it goes, whatever the table has by then.
            slot.apply(meta);
            if (meta.flow_counted == 1) {
                flow.apply(hdr, meta, length, 0);
            }
            if (meta.is_lossless == 1 && hdr.bth.isValid() && qcn_in_departures.apply().hit) {
                sample.apply(hdr, meta, config, 0, now);
                if (config.choice == choice_t.SOJOURN) {
                    throw();
                }
                if (meta.feedback != 0) {
                    notified.count(index);
                    clone_preserving_field_list(CloneType.E2E, CNM_CLONE_SESSION, LIST_CNM);
                }
            }
        }
    }
}

#endif
