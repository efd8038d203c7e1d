// Parser, deparser, and the check of what was parsed: a frame that contradicts itself is discarded with
// the reason. The parser itself rejects nothing, so that the check is the same on every architecture;
// a header that the frame is too short for stays invalid.
//
// TNA twin: packet_length doesn't exist in its ingress, so nothing is compared with the frame's length;
// its parser starts with intrinsic metadata and port metadata; checksums are verified in the parser.

#ifndef PCN_V1MODEL_PARSER_P4
#define PCN_V1MODEL_PARSER_P4

#include <core.p4>
#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"

parser SwitchParser(packet_in packet,
                 out headers_t hdr,
                 inout metadata_t meta,
                 inout standard_metadata_t std_meta) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_MAC_CONTROL: parse_pfc;
#ifdef COUNTS_CREDITS
            ETHERTYPE_FLOW_CONTROL: parse_flow_control;
#endif
            default: accept;
        }
    }

    state parse_pfc {
        packet.extract(hdr.pfc);
        transition accept;
    }

#ifdef COUNTS_CREDITS
    state parse_flow_control {
        // It isn't sent on, so it needs no header.
        meta.flow_control = packet.lookahead<bit<32>>();
        meta.is_flow_control = 1;
        transition accept;
    }
#endif

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        // A later fragment has no UDP header, and where options end one can't tell without parsing them.
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (4, 5, 0, IP_PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port) {
            UDP_PORT_ROCE: parse_bth;
            default: accept;
        }
    }

    state parse_bth {
        packet.extract(hdr.bth);
#ifdef CARRIES_TELEMETRY
        transition select(hdr.bth.reserved) {
            BTH_TELEMETRY: parse_telemetry;
            default: accept;
        }
#else
        transition accept;
#endif
    }

#ifdef CARRIES_TELEMETRY
    state parse_telemetry {
        packet.extract(hdr.telemetry);
        transition accept;
    }
#endif
}

// Sets meta.discard and meta.reason.
control Validate(in headers_t hdr, inout metadata_t meta, in standard_metadata_t std_meta) {
    @hidden action discard(drop_reason_t reason) {
        meta.discard = 1;
        meta.reason = reason;
    }

    apply {
        if (!hdr.ethernet.isValid()) {
            discard(drop_reason_t.UNKNOWN_ETHERTYPE);
        } else if (hdr.ethernet.ether_type == ETHERTYPE_MAC_CONTROL) {
            if (!hdr.pfc.isValid() || hdr.pfc.opcode != PFC_OPCODE || hdr.ethernet.dst_addr != PFC_DST_MAC) {
                discard(drop_reason_t.PFC_MALFORMED);
            }
#ifdef COUNTS_CREDITS
        } else if (meta.is_flow_control == 1 && meta.flow_control[15:15] == 0) {
            // It has no checksum, and lanes are classes: 0 to 7.
#endif
        } else if (hdr.ethernet.ether_type != ETHERTYPE_IPV4) {
            discard(drop_reason_t.UNKNOWN_ETHERTYPE);
        } else if (!hdr.ipv4.isValid() || hdr.ipv4.version != 4 || hdr.ipv4.ihl != 5
                   || hdr.ipv4.total_len < IPV4_BYTES
                   || (bit<32>) hdr.ipv4.total_len + ETHERNET_BYTES > std_meta.packet_length) {
            discard(drop_reason_t.IPV4_MALFORMED);
        } else if (std_meta.checksum_error == 1) {
            discard(drop_reason_t.IPV4_CHECKSUM);
        } else if (hdr.ipv4.protocol == IP_PROTOCOL_UDP && hdr.ipv4.frag_offset == 0) {
            // Lengths are compared too: a header may lie in the padding of a short frame.
            if (!hdr.udp.isValid() || hdr.ipv4.total_len < IPV4_BYTES + UDP_BYTES) {
                discard(drop_reason_t.ROCE_MALFORMED);
            } else if (hdr.udp.dst_port == UDP_PORT_ROCE
                       && (!hdr.bth.isValid() || hdr.bth.version != BTH_VERSION
                           || hdr.udp.length < ROCE_MIN_UDP_BYTES
                           || hdr.udp.length > hdr.ipv4.total_len - IPV4_BYTES)) {
                discard(drop_reason_t.ROCE_MALFORMED);
#ifdef CARRIES_TELEMETRY
            } else if (hdr.udp.dst_port == UDP_PORT_ROCE && hdr.bth.reserved == BTH_TELEMETRY
                       && (!hdr.telemetry.isValid() || hdr.udp.length < ROCE_MIN_UDP_BYTES + TELEMETRY_BYTES)) {
                discard(drop_reason_t.ROCE_MALFORMED);
#endif
            }
        }
    }
}

control SwitchDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.pfc);
        packet.emit(hdr.pfc_pad);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.cnm);
        packet.emit(hdr.bth);
#ifdef CARRIES_TELEMETRY
        packet.emit(hdr.telemetry);
#endif
    }
}

#endif
