// PFC as the program needs it on every target, whoever stops the queues: its configuration, what waits at
// each egress port, the PAUSE and RESUME frames that arrive, and NP-ECN's counter of paused packets.
//
// That counter, pn, belongs to np_ecn.p4 but stands here, since it must change in the same action as the
// pause state and the number of waiting packets: only one action's register accesses are atomic in BMv2,
// where ingress and four egress threads run at once.
//
// TNA twin: none. PFC frames never reach its pipeline, its traffic manager counts what waits, and its np_ecn.p4 needs no
// counter: see np_ecn_time.p4.

#ifndef PCN_V1MODEL_PFC_P4
#define PCN_V1MODEL_PFC_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"

// Of an egress port and class: admitted, not yet departed.
register<bit<32>, index_t>(N_INDEXES) waiting_packets;
register<bit<32>, index_t>(N_INDEXES) waiting_bytes;
// Of an egress port and class: paused by its neighbour, until when.
register<bit<1>, index_t>(N_INDEXES) tx_paused;
register<time_us_t, index_t>(N_INDEXES) tx_pause_expiry;
// Of an egress port and class: packets that a pause held up and that haven't left since.
register<bit<32>, index_t>(N_INDEXES) pn;
#ifdef TELLS_RESUME
// Of an egress port and class: when it was resumed, until a packet departs; 0 if it wasn't. For marking points that go by
// RESUME: a program that has one defines TELLS_RESUME.
register<time_us_t, index_t>(N_INDEXES) resumed_at;
#endif

// Frames of PFC have one length, so only their number is counted. By port they arrived at, and class.
counter<index_t>(N_INDEXES, CounterType.packets) pause_received;
counter<index_t>(N_INDEXES, CounterType.packets) resume_received;

// Looks up the thresholds of meta.ingress_port.
control PfcConfig(inout metadata_t meta) {
    // xoff_bytes, xon_bytes: a class that holds more than XOFF of this port's bytes is paused, below XON resumed.
    // quanta, refresh_us: of our PAUSE frames, and how old one may get before it is sent again.
    // quantum_q16_us: how long a quantum of a received PAUSE lasts, in us * 65536. lossless: classes, a bit each.
    action set_pfc(bit<32> xoff_bytes, bit<32> xon_bytes, bit<16> quanta, bit<48> refresh_us,
                   bit<32> quantum_q16_us, bit<8> lossless) {
        meta.pfc_enabled = 1;
        meta.xoff_bytes = xoff_bytes;
        meta.xon_bytes = xon_bytes;
        meta.quanta = quanta;
        meta.refresh_us = refresh_us;
        meta.quantum_q16_us = quantum_q16_us;
        meta.lossless = lossless;
    }

    // Sends no PAUSE and obeys none.
    action no_pfc() {
        meta.pfc_enabled = 0;
        meta.lossless = DEFAULT_LOSSLESS;
    }

    table pfc_config {
        key = {
            meta.ingress_port : exact @name("port");
        }
        actions = {
            set_pfc;
            no_pfc;
        }
        default_action = no_pfc();
        size = 512;
    }

    apply {
        pfc_config.apply();
    }
}

// One class of a PFC frame that arrived. `quanta` 0 is a RESUME. A RESUME without a PAUSE changes nothing.
control PfcReceiveClass(in metadata_t meta, in bit<1> enabled, in bit<16> quanta, in time_us_t now)(class_t class) {
    index_t index = meta.ingress_port ++ class;

    @hidden action receive() {
        bit<1> was_paused;
        bit<32> packets;
        bit<32> paused_packets;
        tx_paused.read(was_paused, index);
        waiting_packets.read(packets, index);
        pn.read(paused_packets, index);
        bit<48> duration = ((bit<48>) quanta * (bit<48>) meta.quantum_q16_us) >> 16;
        tx_paused.write(index, quanta != 0 ? 1w1 : 0);
        tx_pause_expiry.write(index, quanta != 0 ? now + duration : 0);
        pn.write(index, (was_paused == 1 && quanta == 0) ? packets : paused_packets);
#ifdef TELLS_RESUME
        bit<48> resumed;
        resumed_at.read(resumed, index);
        resumed_at.write(index, (was_paused == 1 && quanta == 0) ? now : resumed);
#endif
    }

    apply {
        if (enabled == 1) {
            if (quanta != 0) {
                pause_received.count(index);
            } else {
                resume_received.count(index);
            }
            if (meta.pfc_enabled == 1 && (meta.lossless >> class) & 1 == 1) {
                receive();
            }
        }
    }
}

// A PFC frame that arrived at meta.ingress_port.
control PfcReceive(in headers_t hdr, in metadata_t meta, in time_us_t now) {
    PfcReceiveClass(0) class0;
    PfcReceiveClass(1) class1;
    PfcReceiveClass(2) class2;
    PfcReceiveClass(3) class3;
    PfcReceiveClass(4) class4;
    PfcReceiveClass(5) class5;
    PfcReceiveClass(6) class6;
    PfcReceiveClass(7) class7;

    apply {
        class0.apply(meta, hdr.pfc.class_enable[0:0], hdr.pfc.quanta0, now);
        class1.apply(meta, hdr.pfc.class_enable[1:1], hdr.pfc.quanta1, now);
        class2.apply(meta, hdr.pfc.class_enable[2:2], hdr.pfc.quanta2, now);
        class3.apply(meta, hdr.pfc.class_enable[3:3], hdr.pfc.quanta3, now);
        class4.apply(meta, hdr.pfc.class_enable[4:4], hdr.pfc.quanta4, now);
        class5.apply(meta, hdr.pfc.class_enable[5:5], hdr.pfc.quanta5, now);
        class6.apply(meta, hdr.pfc.class_enable[6:6], hdr.pfc.quanta6, now);
        class7.apply(meta, hdr.pfc.class_enable[7:7], hdr.pfc.quanta7, now);
    }
}

// A new packet is admitted to the queue of meta.egress_port. Sets meta.found_waiting and queue_bytes.
control PortAdmit(inout metadata_t meta, in bit<32> length) {
    index_t index = meta.egress_port ++ meta.class;

    @hidden action admit() {
        bit<32> packets;
        bit<32> bytes;
        waiting_packets.read(packets, index);
        waiting_bytes.read(bytes, index);
        meta.found_waiting = packets != 0 ? 1w1 : 0;
        meta.queue_bytes = bytes + length;
        waiting_packets.write(index, packets + 1);
        waiting_bytes.write(index, meta.queue_bytes);
    }

    apply {
        admit();
    }
}

// A packet was dequeued. Sets meta.hold, where `holds` says that a paused port can't depart, meta.pn and left_bytes.
// A pause that has expired counts as resumed here, at the first packet that notices. With TELLS_RESUME, sets resumed_at.
control PortDepart(inout metadata_t meta, in bit<32> length, in time_us_t now)(bool holds) {
    index_t index = meta.egress_port ++ meta.class;

    @hidden action depart() {
        bit<1> paused;
        bit<48> expiry;
        bit<32> packets;
        bit<32> bytes;
        bit<32> paused_packets;
        tx_paused.read(paused, index);
        tx_pause_expiry.read(expiry, index);
        waiting_packets.read(packets, index);
        waiting_bytes.read(bytes, index);
        pn.read(paused_packets, index);

        bit<1> expired = (paused == 1 && now >= expiry) ? 1w1 : 0;
        bit<1> hold = (holds && paused == 1 && expired == 0) ? 1w1 : 0;
        bit<32> before = expired == 1 ? packets : paused_packets;
        meta.hold = hold;
        meta.pn = before;
        meta.left_bytes = bytes - length;

        tx_paused.write(index, expired == 1 ? 0 : paused);
        tx_pause_expiry.write(index, expired == 1 ? 0 : expiry);
        waiting_packets.write(index, hold == 1 ? packets : packets - 1);
        waiting_bytes.write(index, hold == 1 ? bytes : bytes - length);
        pn.write(index, (hold == 1 || before == 0) ? before : before - 1);
#ifdef TELLS_RESUME
        bit<48> resumed;
        resumed_at.read(resumed, index);
        meta.resumed_at = expired == 1 ? expiry : resumed;
        resumed_at.write(index, hold == 1 ? resumed : 0);
#endif
    }

    apply {
        depart();
    }
}

#endif
