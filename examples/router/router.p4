// A router, for a first P4 network and its tests: routes by IPv4, takes a TTL, fixes the checksum, takes the queue from DSCP, marks
// CE where the packet found a queue of `threshold` packets, and counts by port. A UDP datagram to port 5000 is a probe: each
// switch appends its id, the queue's depth at enqueue, and the time in the queue.
// Compile: p4c-bm2-ss --p4runtime-files build/router.p4.p4info.txtpb -o build/router.json router.p4.
#include <core.p4>
#include <v1model.p4>

const bit<16> IPV4 = 0x0800;
const bit<8> UDP = 17;
const bit<16> PROBE = 5000;
#define MAX_HOPS 4

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> length;
    bit<16> id;
    bit<3> flags;
    bit<13> offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

header probe_t {
    bit<16> hops;
}

header hop_t {
    bit<16> switch_id;
    bit<16> queue;
    bit<32> waited;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    udp_t udp;
    probe_t probe;
    hop_t[MAX_HOPS] hops;
}

struct metadata_t {
    bit<16> left;
}

parser RouterParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            IPV4: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) {
            UDP: parse_udp;
            default: accept;
        }
    }
    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port) {
            PROBE: parse_probe;
            default: accept;
        }
    }
    state parse_probe {
        packet.extract(hdr.probe);
        meta.left = hdr.probe.hops;
        transition select(meta.left) {
            0: accept;
            default: parse_hop;
        }
    }
    state parse_hop {
        packet.extract(hdr.hops.next);
        meta.left = meta.left - 1;
        transition select(meta.left) {
            0: accept;
            default: parse_hop;
        }
    }
}

control RouterVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.flags,
              hdr.ipv4.offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control RouterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(512, CounterType.packets_and_bytes) forwarded;

    action drop() {
        mark_to_drop(standard);
    }

    action forward(bit<48> dst_addr, bit<9> port) {
        standard.egress_spec = port;
        hdr.ethernet.src_addr = hdr.ethernet.dst_addr;
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    action flood(bit<16> group) {
        standard.mcast_grp = group;
    }

    table routes {
        key = { hdr.ipv4.dst_addr: lpm @name("dst_addr"); }
        actions = { forward; flood; drop; NoAction; }
        default_action = drop();
        size = 1024;
    }

    apply {
        if (!hdr.ipv4.isValid() || standard.checksum_error == 1 || hdr.ipv4.ttl == 0) {
            drop();
        } else {
            routes.apply();
            standard.priority = hdr.ipv4.dscp[5:3];
            forwarded.count((bit<32>)standard.egress_spec);
        }
    }
}

control RouterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<19>>(1) threshold;

    action tag(bit<16> switch_id) {
        hdr.hops.push_front(1);
        hdr.hops[0].setValid();
        hdr.hops[0] = { switch_id, (bit<16>)standard.enq_qdepth, standard.deq_timedelta };
        hdr.probe.hops = hdr.probe.hops + 1;
        hdr.ipv4.length = hdr.ipv4.length + 8;
        hdr.udp.length = hdr.udp.length + 8;
        hdr.udp.checksum = 0;
    }

    table switch_id {
        actions = { tag; NoAction; }
        default_action = NoAction;
    }

    apply {
        bit<19> most;
        threshold.read(most, 0);
        if (most != 0 && standard.enq_qdepth >= most && hdr.ipv4.ecn != 0) {
            hdr.ipv4.ecn = 3;
        }
        if (hdr.probe.isValid()) {
            switch_id.apply();
        }
    }
}

control RouterUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.flags,
              hdr.ipv4.offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control RouterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(RouterParser(), RouterVerify(), RouterIngress(), RouterEgress(), RouterUpdate(), RouterDeparser()) main;
