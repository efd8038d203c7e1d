// Parsers, deparsers, and the check of what was parsed: a packet that contradicts itself is discarded with the reason.
// Headers can't be cut short here: a MAC takes no frame below 64 B, and all that is parsed has 54.
//
// v1model twin: headers may be missing, the frame's length is known where total_len is compared, and MAC control
// frames come through; here the MAC keeps those of PFC, and others have an unknown ethertype. The checksum is verified
// and computed in controls of its own.

#ifndef PCN_TNA_PARSER_P4
#define PCN_TNA_PARSER_P4

#include <core.p4>
#include "architecture.p4"
#include "../shared/headers.p4"
#include "metadata.p4"

parser SwitchIngressParser(packet_in packet,
                           out headers_t hdr,
                           out ingress_metadata_t meta,
                           out ingress_intrinsic_metadata_t ig_md) {
    Checksum() ipv4_checksum;

    state start {
        packet.extract(ig_md);
        packet.advance(PORT_METADATA_SIZE);
        meta.class = 0;
        meta.discard = 0;
        meta.reason = drop_reason_t.NO_ROUTE;
        meta.checksum_error = false;
        meta.copy_kind = kind_t.NEW;
        meta.session = 0;
        meta.length = 0;
        meta.next_sample = 0;
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        ipv4_checksum.add(hdr.ipv4);
        meta.checksum_error = ipv4_checksum.verify();
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
        transition accept;
    }
}

// Sets meta.discard and meta.reason.
control Validate(in headers_t hdr, inout ingress_metadata_t meta) {
    bit<16> before_udp = 0;  // what of its packet UDP leaves to the headers before it, bytes

    @hidden action compare_lengths() {
        before_udp = hdr.ipv4.total_len |-| hdr.udp.length;
    }

    action drop_faulty(drop_reason_t reason) {
        meta.discard = 1;
        meta.reason = reason;
    }

    action good() { }

    // The first row that fits decides. Lengths are compared too: a header may lie in the padding of a short frame.
    table faults {
        key = {
            hdr.ipv4.isValid() : ternary @name("ipv4");
            hdr.ipv4.version : ternary @name("version");
            hdr.ipv4.ihl : ternary @name("ihl");
            hdr.ipv4.total_len : range @name("total_len");
            meta.checksum_error : ternary @name("checksum_error");
            hdr.udp.isValid() : ternary @name("udp");
            hdr.bth.isValid() : ternary @name("bth");
            hdr.bth.version : ternary @name("bth_version");
            hdr.udp.length : range @name("udp_length");
            before_udp : range @name("before_udp");
        }
        actions = {
            drop_faulty;
            good;
        }
        const entries = {
            (false, _, _, _, _, _, _, _, _, _) : drop_faulty(drop_reason_t.UNKNOWN_ETHERTYPE);
            (true, 4, 5, 0 .. IPV4_BYTES - 1, _, _, _, _, _, _) : drop_faulty(drop_reason_t.IPV4_MALFORMED);
            (true, 4, 5, _, true, _, _, _, _, _) : drop_faulty(drop_reason_t.IPV4_CHECKSUM);
            (true, 4, 5, _, false, false, _, _, _, _) : good();
            (true, 4, 5, 0 .. IPV4_BYTES + UDP_BYTES - 1, _, _, _, _, _, _) : drop_faulty(drop_reason_t.ROCE_MALFORMED);
            (true, 4, 5, _, _, true, false, _, _, _) : good();
            (true, 4, 5, _, _, true, true, BTH_VERSION, ROCE_MIN_UDP_BYTES .. 0xFFFF, IPV4_BYTES .. 0xFFFF) : good();
            (true, 4, 5, _, _, true, true, _, _, _) : drop_faulty(drop_reason_t.ROCE_MALFORMED);
        }
        const default_action = drop_faulty(drop_reason_t.IPV4_MALFORMED);
        size = 8;
    }

    apply {
        compare_lengths();
        faults.apply();
    }
}

control SwitchIngressDeparser(packet_out packet,
                              inout headers_t hdr,
                              in ingress_metadata_t meta,
                              in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    apply {
        packet.emit(meta.bridge);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.bth);
    }
}

// Ingress let only IPv4 through. What follows its header is payload here.
parser SwitchEgressParser(packet_in packet,
                          out headers_t hdr,
                          out egress_metadata_t meta,
                          out egress_intrinsic_metadata_t eg_md) {
    state start {
        packet.extract(eg_md);
        meta.class = 0;
        meta.counts = 0;
        meta.watched = 0;
        meta.gap_bound = 0;
        meta.until = 0;
        meta.now = 0;
        meta.waited = 0;
        meta.since = 0;
        meta.rest_age = 0;
        meta.waited_more = 0;
        meta.resume_age = 0;
        meta.has_states = 0;
        meta.look_until = 0;
        meta.look_wraps = 0;
        meta.empty = 0;
        meta.looks = 0;
        meta.left = 0;
        meta.more_left = 0;
        meta.step = 0;
        meta.undetermined = 0;
        meta.missing = 0;
        meta.curve = 0;
        meta.marks = 0;
        meta.last_draw = 0;
        meta.draw = 0;
        meta.drawn = 0;
        packet.extract(meta.bridge);
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control SwitchEgressDeparser(packet_out packet,
                             inout headers_t hdr,
                             in egress_metadata_t meta,
                             in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    Checksum() ipv4_checksum;

    apply {
        // TTL changed in ingress, ECN here. The ICRC of RoCEv2 takes both, and this checksum, as ones.
        hdr.ipv4.hdr_checksum = ipv4_checksum.update({
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
            hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset,
            hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr });
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

#endif
