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

// Of an ingress port and class: bytes inside, whether its neighbour was told to pause, and when last.
register<bit<32>, index_t>(N_INDEXES) held_bytes;
register<bit<1>, index_t>(N_INDEXES) xoff_sent;
register<time_us_t, index_t>(N_INDEXES) xoff_sent_at;

// By egress port and class: how often a packet was sent round instead of out.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) held;
// Frames sent out, by port and class.
counter<index_t>(N_INDEXES, CounterType.packets) pause_sent;
counter<index_t>(N_INDEXES, CounterType.packets) resume_sent;

// A new packet is admitted: may send a PAUSE, or send it again.
control PfcAdmit(inout metadata_t meta, in bit<32> length, in time_us_t now) {
    index_t index = meta.ingress_port ++ meta.class;

    @hidden action admit() {
        bit<32> bytes;
        bit<1> sent;
        bit<48> sent_at;
        held_bytes.read(bytes, index);
        xoff_sent.read(sent, index);
        xoff_sent_at.read(sent_at, index);

        bytes = bytes + length;
        bit<1> exceeds = (meta.pfc_enabled == 1 && meta.is_lossless == 1 && bytes > meta.xoff_bytes) ? 1w1 : 0;
        bit<1> stale = now >= sent_at + meta.refresh_us ? 1w1 : 0;
        meta.send_pfc = sent == 1 ? stale : exceeds;

        held_bytes.write(index, bytes);
        xoff_sent.write(index, sent | exceeds);
        xoff_sent_at.write(index, meta.send_pfc == 1 ? now : sent_at);
    }

    apply {
        admit();
        if (meta.send_pfc == 1) {
            clone_preserving_field_list(CloneType.I2E, PFC_CLONE_SESSION, LIST_PFC);
        }
    }
}

// A packet was dequeued, and departs unless meta.hold: may send a RESUME, or the PAUSE again.
control PfcDepart(inout metadata_t meta, in bit<32> length, in time_us_t now) {
    index_t ingress_index = meta.ingress_port ++ meta.class;
    index_t egress_index = meta.egress_port ++ meta.class;

    @hidden action depart() {
        bit<32> bytes;
        bit<1> sent;
        bit<48> sent_at;
        held_bytes.read(bytes, ingress_index);
        xoff_sent.read(sent, ingress_index);
        xoff_sent_at.read(sent_at, ingress_index);

        bytes = meta.hold == 1 ? bytes : bytes - length;
        // An XON of 0 would never be reached: nothing inside resumes as well.
        bit<1> resume = (sent == 1 && meta.hold == 0 && (bytes < meta.xon_bytes || bytes == 0)) ? 1w1 : 0;
        bit<1> again = (sent == 1 && resume == 0 && now >= sent_at + meta.refresh_us) ? 1w1 : 0;
        meta.send_pfc = resume | again;

        held_bytes.write(ingress_index, bytes);
        xoff_sent.write(ingress_index, resume == 1 ? 0 : sent);
        xoff_sent_at.write(ingress_index, resume == 1 ? 0 : (again == 1 ? now : sent_at));
    }

    apply {
        depart();
        if (meta.send_pfc == 1) {
            clone_preserving_field_list(CloneType.E2E, PFC_CLONE_SESSION, LIST_PFC);
        }
        if (meta.hold == 1) {
            held.count(egress_index);
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
