// What the switch's packet generator makes: a frame for each input and period, which comes in at GENERATOR_PORT, says
// that time has passed, and is dropped. It begins with the header of Tofino's timer application
// (pktgen_timer_header_t): 3 bits of padding, pipe id 2, application id 3, padding 8, batch id 16, packet id 16; zeros
// follow. The packet id names the input, port ++ class. The parser takes these six bytes for a destination address.
//
// A target without a packet generator makes none. A program that doesn't include this file drops them with the reason
// UNKNOWN_ETHERTYPE.
//
// TNA twin: none: its congestion points at inputs have no keep-alive (qcn_in_cp.p4).

#ifndef PCN_V1MODEL_GENERATED_P4
#define PCN_V1MODEL_GENERATED_P4

#include <core.p4>
#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"
#include "inside.p4"

// Internal port without an interface, where nothing from outside comes in, nor what is recirculated.
const port_t GENERATOR_PORT = 508;

const bit<3>  IPV4_DONT_FRAGMENT = 2;
const bit<16> DYNAMIC_PORTS = 0xc000;
const bit<8>  BTH_UC_SEND_ONLY = 0x24;
const bit<16> DEFAULT_PARTITION = 0xffff;

// A generated frame. Sets meta.ingress_port and class, its input's inside_bytes and inside_paused, and is_lossless where
// that is paused: only lossless classes are.
control GeneratedInput(in headers_t hdr, inout metadata_t meta) {
    @hidden action look() {
        index_t index = hdr.ethernet.dst_addr[11:0];
        meta.ingress_port = index[11:3];
        meta.class = index[2:0];
        held_bytes.read(meta.inside_bytes, index);
        xoff_sent.read(meta.inside_paused, index);
        meta.is_lossless = meta.inside_paused;
    }

    apply {
        look();
    }
}

// The clone of a generated frame, from which a message is to be made: gives it what a sampled packet's clone has of its
// packet. There is no packet, so its PSN is 0.
control GeneratedHeaders(inout headers_t hdr, in metadata_t meta) {
    @hidden action build() {
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.ipv4.setValid();
        hdr.ipv4.version = 4;
        hdr.ipv4.ihl = 5;
        hdr.ipv4.identification = 0;
        hdr.ipv4.flags = IPV4_DONT_FRAGMENT;
        hdr.ipv4.frag_offset = 0;
        hdr.ipv4.protocol = IP_PROTOCOL_UDP;
        hdr.udp.setValid();
        hdr.udp.src_port = DYNAMIC_PORTS | (bit<16>) meta.culprit[13:0];  // as hosts do
        hdr.bth.setValid();
        hdr.bth.opcode = BTH_UC_SEND_ONLY;
        hdr.bth.solicited_event = 0;
        hdr.bth.mig_req = 0;
        hdr.bth.pad_count = 0;
        hdr.bth.version = BTH_VERSION;
        hdr.bth.partition_key = DEFAULT_PARTITION;
        hdr.bth.fecn = 0;
        hdr.bth.becn = 0;
        hdr.bth.reserved = 0;
        hdr.bth.ack_req = 0;
        hdr.bth.reserved2 = 0;
        hdr.bth.psn = 0;
    }

    apply {
        build();
    }
}

#endif
