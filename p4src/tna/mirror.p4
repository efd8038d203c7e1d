// Copies of packets that the switch makes for itself: of one that was sampled at its arrival (SAMPLE), and of one whose
// source is told (CNM). The mirror cuts a copy to its headers, puts origin_t in front, and sends it to a recirculation
// port: to the egress of that port's pipe. What leaves the port comes to ingress as if from outside.
//
// v1model twin: clones, which keep fields of the metadata; no header is in front of them.

#ifndef PCN_TNA_MIRROR_P4
#define PCN_TNA_MIRROR_P4

#include <core.p4>
#include "architecture.p4"
#include "../shared/headers.p4"
#include "metadata.p4"
#include "parser.p4"

const MirrorType_t MIRROR_COPY = 1;
// The control plane points these sessions at the recirculation port of each pipe, and cuts at 62 bytes: origin_t,
// Ethernet, IPv4, UDP and BTH; on Tofino 2, which cuts in fours, at 64.
const MirrorId_t COPY_SESSION_0 = 4;
const MirrorId_t COPY_SESSION_1 = 5;
const MirrorId_t COPY_SESSION_2 = 6;
const MirrorId_t COPY_SESSION_3 = 7;

// For a packet that is forwarded.
control TellOrigin(inout ingress_metadata_t meta,
                   in ingress_intrinsic_metadata_t ig_md,
                   in ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    @hidden action tell_origin() {
        meta.origin.setValid();
        meta.origin.kind = kind_t.NEW;
        meta.origin.feedback = 0;
        meta.origin.ingress_port = ig_md.ingress_port;
    }

    action copy_by(MirrorId_t session) {
        meta.session = session;
    }

    // A copy goes to the pipe that its packet leaves by.
    table copy_sessions {
        key = {
            ig_tm_md.ucast_egress_port[8:7] : exact @name("pipe");
        }
        actions = {
            copy_by;
        }
        const entries = {
            0 : copy_by(COPY_SESSION_0);
            1 : copy_by(COPY_SESSION_1);
            2 : copy_by(COPY_SESSION_2);
            3 : copy_by(COPY_SESSION_3);
        }
        const default_action = copy_by(COPY_SESSION_0);
        size = 4;
    }

    apply {
        tell_origin();
        copy_sessions.apply();
    }
}

control CopyIngressDeparser(packet_out packet,
                            inout headers_t hdr,
                            in ingress_metadata_t meta,
                            in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    SwitchIngressDeparser() frame;
    Mirror() mirror;

    apply {
        if (ig_dprsr_md.mirror_type == MIRROR_COPY) {
            mirror.emit<origin_t>(meta.session, {
                meta.copy_kind, 0, 0, meta.origin.ingress_port, meta.origin.bytes });
        }
        packet.emit(meta.origin);
        frame.apply(packet, hdr, meta, ig_dprsr_md);
    }
}

parser CopyEgressParser(packet_in packet,
                        out headers_t hdr,
                        out copying_metadata_t meta,
                        out egress_intrinsic_metadata_t eg_md) {
    state start {
        packet.extract(eg_md);
        meta.session = 0;
        meta.length = 0;
        meta.next_sample = 0;
        packet.extract(meta.origin);
        transition select(meta.origin.kind) {
            kind_t.NEW: parse_bridge;
            default: parse_ethernet;
        }
    }

    state parse_bridge {
        packet.extract(meta.bridge);
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (0, IP_PROTOCOL_UDP): parse_udp;
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

control CopyEgressDeparser(packet_out packet,
                           inout headers_t hdr,
                           in copying_metadata_t meta,
                           in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    Mirror() mirror;
    Checksum() ipv4_checksum;

    apply {
        if (eg_dprsr_md.mirror_type == MIRROR_COPY) {
            mirror.emit<origin_t>(meta.session, {
                meta.origin.kind, meta.origin.feedback, 0, meta.origin.ingress_port, meta.origin.bytes });
        }
        hdr.ipv4.hdr_checksum = ipv4_checksum.update({
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
            hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset,
            hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr });
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.cnm);
        packet.emit(hdr.bth);
    }
}

#endif
