// PFC where the queues under the pipeline can't be paused, as in BMv2: thresholds on what each ingress
// port has inside, PAUSE and RESUME frames out of it, and a paused port that holds its packets.
//
// A packet that is dequeued for a paused port is recirculated to the same queue. It keeps its place among
// the packets of the queue, but for those that came while it went round: order isn't kept during a pause.
//
// A PFC frame starts as a clone, of the packet at whose admission or departure it fell due. A clone loses
// its priority, so it isn't cloned to the port where it has to leave: it goes to RECIRC_PORT, which is
// always empty, from there to ingress, and then into the highest queue of its port. It says what holds
// when it leaves: so two frames that overtake each other can't leave the neighbour paused.
//
// TNA twin: doesn't include this file; the traffic manager does it.

#ifndef PCN_V1MODEL_PFC_EMULATION_P4
#define PCN_V1MODEL_PFC_EMULATION_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"
#include "inside.p4"

// By egress port and class: how often a packet was sent round instead of out.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) held;
// Frames sent out, by port and class.
counter<index_t>(N_INDEXES, CounterType.packets) pause_sent;
counter<index_t>(N_INDEXES, CounterType.packets) resume_sent;

// A new packet is admitted: may send a PAUSE, or send it again.
control PfcAdmit(inout metadata_t meta, in bit<32> length, in time_us_t now) {
    InsideAdmit() inside;

    apply {
        inside.apply(meta, length, now);
        if (meta.send_pfc == 1) {
            clone_preserving_field_list(CloneType.I2E, PFC_CLONE_SESSION, LIST_PFC);
        }
    }
}

// A packet was dequeued, and departs unless meta.hold: may send a RESUME, or the PAUSE again.
control PfcDepart(inout metadata_t meta, in bit<32> length, in time_us_t now) {
    InsideDepart() inside;

    apply {
        inside.apply(meta, length, now);
        if (meta.send_pfc == 1) {
            clone_preserving_field_list(CloneType.E2E, PFC_CLONE_SESSION, LIST_PFC);
        }
        if (meta.hold == 1) {
            held.count(meta.egress_port ++ meta.class);
            meta.kind = kind_t.HELD;
            recirculate_preserving_field_list(LIST_HELD);
        }
    }
}

// A clone at RECIRC_PORT: goes to ingress, to be sent out of meta.ingress_port.
control PfcFromClone(inout metadata_t meta) {
    apply {
        meta.kind = kind_t.PFC;
        recirculate_preserving_field_list(LIST_PFC);
    }
}

// Turns whatever the clone carried into a PFC frame that leaves meta.ingress_port.
control PfcFrame(inout headers_t hdr, in metadata_t meta) {
    index_t index = meta.ingress_port ++ meta.class;
    bit<1> sent;
    bit<16> quanta;

    @hidden action build() {
        xoff_sent.read(sent, index);
        quanta = sent == 1 ? meta.quanta : 0;
        hdr.ipv4.setInvalid();
        hdr.udp.setInvalid();
        hdr.bth.setInvalid();
#ifdef CARRIES_TELEMETRY
        hdr.telemetry.setInvalid();
#endif
        hdr.ethernet.dst_addr = PFC_DST_MAC;
        hdr.ethernet.src_addr = PORT_MAC_BASE | (mac_t) meta.ingress_port;
        hdr.ethernet.ether_type = ETHERTYPE_MAC_CONTROL;
        hdr.pfc.setValid();
        hdr.pfc.opcode = PFC_OPCODE;
        hdr.pfc.reserved = 0;
        hdr.pfc.class_enable = 8w1 << meta.class;
        hdr.pfc.quanta0 = meta.class == 0 ? quanta : 0;
        hdr.pfc.quanta1 = meta.class == 1 ? quanta : 0;
        hdr.pfc.quanta2 = meta.class == 2 ? quanta : 0;
        hdr.pfc.quanta3 = meta.class == 3 ? quanta : 0;
        hdr.pfc.quanta4 = meta.class == 4 ? quanta : 0;
        hdr.pfc.quanta5 = meta.class == 5 ? quanta : 0;
        hdr.pfc.quanta6 = meta.class == 6 ? quanta : 0;
        hdr.pfc.quanta7 = meta.class == 7 ? quanta : 0;
        hdr.pfc_pad.setValid();
        hdr.pfc_pad.zeros0 = 0;
        hdr.pfc_pad.zeros1 = 0;
        hdr.pfc_pad.zeros2 = 0;
        hdr.pfc_pad.zeros3 = 0;
        truncate(PFC_FRAME_BYTES);
    }

    apply {
        build();
        if (quanta != 0) {
            pause_sent.count(index);
        } else {
            resume_sent.count(index);
        }
    }
}

#endif
