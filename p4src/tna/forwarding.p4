// IPv4 forwarding and classes: the longest prefix of the destination gives the port and the next hop's address; the
// DSCP gives the class, which is also the queue and the group of the buffer that PFC counts.
//
// v1model twin: egress_spec and priority instead of ucast_egress_port, qid and ingress_cos.

#ifndef PCN_TNA_FORWARDING_P4
#define PCN_TNA_FORWARDING_P4

#include "architecture.p4"
#include "../shared/headers.p4"
#include "metadata.p4"

// For an IPv4 packet. Sets meta.class, and the port or meta.discard.
control Forwarding(inout headers_t hdr,
                   inout ingress_metadata_t meta,
                   inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    @hidden action drop_ttl_expired() {
        meta.discard = 1;
        meta.reason = drop_reason_t.TTL_EXPIRED;
    }

    action ipv4_forward(mac_t dst_mac, port_t port) {
        ig_tm_md.ucast_egress_port = port;
        hdr.ethernet.src_addr = PORT_MAC_BASE | (mac_t) port;
        hdr.ethernet.dst_addr = dst_mac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    action drop_no_route() {
        meta.discard = 1;
        meta.reason = drop_reason_t.NO_ROUTE;
    }

    table ipv4_lpm {
        key = {
            hdr.ipv4.dst_addr : lpm @name("dst_addr");
        }
        actions = {
            ipv4_forward;
            drop_no_route;
        }
        default_action = drop_no_route();
        size = 4096;
    }

    apply {
        meta.class = hdr.ipv4.dscp[5:3];
        ig_tm_md.qid = (QueueId_t) meta.class;
        ig_tm_md.ingress_cos = meta.class;
        if (hdr.ipv4.ttl <= 1) {
            drop_ttl_expired();
        } else {
            ipv4_lpm.apply();
        }
    }
}

#endif
