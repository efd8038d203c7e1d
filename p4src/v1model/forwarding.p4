// IPv4 forwarding and classes: the longest prefix of the destination gives the next hop's address and the port, or
// a group of ports among which the flow's five-tuple chooses (ECMP); the DSCP gives the class, which is also the
// priority of the queue.
//
// TNA twin: ucast_egress_port and qid instead of egress_spec and priority; one port a route, no groups.

#ifndef PCN_V1MODEL_FORWARDING_P4
#define PCN_V1MODEL_FORWARDING_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"

// Of ports that share the flows to a destination.
typedef bit<16> group_t;
const bit<32> N_GROUPS = 1024;
const bit<32> N_NEXT_HOPS = 4096;  // of all groups together

// For an IPv4 packet in its first pass. Sets meta.class, and meta.egress_port or meta.discard.
control Forwarding(inout headers_t hdr, inout metadata_t meta) {
    group_t group = 0;
    bit<5>  shift = 0;
    bit<32> flow_hash = 0;

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

    // A CRC is linear: switches that took the same bits of it would choose alike, and a switch would see only flows that
    // leave all but one of its ports idle. So `shift` is to differ along a path; each switch has eight bits then.
    action ipv4_multipath(mac_t dst_mac, group_t group_id, bit<5> hash_shift) {
        group = group_id;
        shift = hash_shift;
        meta.egress_port = RECIRC_PORT;  // no route, unless the group has a port
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
            ipv4_multipath;
            drop_no_route;
        }
        default_action = drop_no_route();
        size = 4096;
    }

    action next_hop(port_t port) {
        meta.egress_port = port;
        hdr.ethernet.src_addr = PORT_MAC_BASE | (mac_t) port;
    }

    // The hash is a flow's already: the selector takes it as it is.
    action_selector(HashAlgorithm.identity, N_NEXT_HOPS, 32) next_hops;

    table next_hop_group {
        key = {
            group     : exact @name("group");
            flow_hash : selector;
        }
        actions = {
            next_hop;
            @defaultonly NoAction;
        }
        implementation = next_hops;
        size = N_GROUPS;
    }

    // Bits of the hash of the five-tuple; what isn't UDP, or has no UDP header here, goes by the other three.
    @hidden action hash_flow(bit<16> src_port, bit<16> dst_port) {
        hash(flow_hash, HashAlgorithm.crc32, (bit<32>) 0,
             { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, src_port, dst_port },
             (bit<64>) 0x1_0000_0000);
        flow_hash = flow_hash >> shift;
    }

    apply {
        meta.class = hdr.ipv4.dscp[5:3];
        if (hdr.ipv4.ttl <= 1) {
            discard(drop_reason_t.TTL_EXPIRED);
        } else {
            switch (ipv4_lpm.apply().action_run) {
                ipv4_multipath: {
                    if (hdr.udp.isValid()) {
                        hash_flow(hdr.udp.src_port, hdr.udp.dst_port);
                    } else {
                        hash_flow(0, 0);
                    }
                    next_hop_group.apply();
                }
            }
            // Admitted there, a packet would be counted as inside for ever.
            if (meta.discard == 0 && meta.egress_port >= RECIRC_PORT) {
                drop_no_route();
            }
        }
    }
}

#endif
