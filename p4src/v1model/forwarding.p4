// IPv4 forwarding and classes: the longest prefix of the destination gives the port and the next hop's
// address; the DSCP gives the class, which is also the priority of the queue.
//
// TNA twin: ucast_egress_port and qid instead of egress_spec and priority.

#ifndef PCN_V1MODEL_FORWARDING_P4
#define PCN_V1MODEL_FORWARDING_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"

// For an IPv4 packet in its first pass. Sets meta.class, and meta.egress_port or meta.discard.
control Forwarding(inout headers_t hdr, inout metadata_t meta) {
    @hidden action discard(drop_reason_t reason) {
        meta.discard = 1;
        meta.reason = reason;
    }

    action ipv4_forward(mac_t dst_mac, port_t port) {
        meta.egress_port = port;
        hdr.ethernet.src_addr = PORT_MAC_BASE | (mac_t) port;
        hdr.ethernet.dst_addr = dst_mac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    action drop_no_route() {
        discard(drop_reason_t.NO_ROUTE);
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
        if (hdr.ipv4.ttl <= 1) {
            discard(drop_reason_t.TTL_EXPIRED);
        } else {
            ipv4_lpm.apply();
            // Admitted there, a packet would be counted as inside for ever.
            if (meta.discard == 0 && meta.egress_port >= RECIRC_PORT) {
                drop_no_route();
            }
        }
    }
}

#endif
