// Ways of a packet: clones, resubmit, recirculate, multicast, truncate, drops, digests, queues. Each header byte of a
// packet chooses one; two passes are told apart by instance_type and by what the field lists preserve.

#include <core.p4>
#include <v1model.p4>

header frame_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
    bit<8> ingress_op;
    bit<8> egress_op;
    bit<9> port;
    bit<3> priority;
    bit<4> rounds;
    bit<16> group;
    bit<16> length;
    bit<32> serial;
}

header trace_t {
    bit<8> stage;
    bit<8> instance_type;
    bit<16> rid;
    bit<16> ingress_port;
    bit<16> egress_port;
    bit<16> packet_length;
    bit<8> kept;
    bit<8> kept_egress;
    bit<8> lost;
    bit<8> parsed;
    bit<8> qid;
    bit<24> depth;
}

struct headers_t {
    frame_t frame;
    trace_t[4] trace;
}

struct metadata_t {
    @field_list(1) bit<8> kept;
    @field_list(2, 3) bit<8> kept_egress;
    bit<8> lost;
    bit<8> parsed;
    @field_list(4) bit<8> rounds;
}

struct learned_t {
    bit<32> serial;
    bit<9> port;
    bit<48> src;
    bit<3> odd;
}

parser PathsParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        meta.parsed = meta.parsed + 1 + meta.kept;
        packet.extract(hdr.frame);
        transition select(hdr.frame.type) {
            0x7777: parse_trace;
            default: accept;
        }
    }

    state parse_trace {
        packet.extract(hdr.trace.next);
        transition select(hdr.trace.last.stage) {
            0x80 &&& 0x80: accept;
            default: parse_trace;
        }
    }
}

control NoChecks(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control PathsIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(8, CounterType.packets_and_bytes) passes;
    register<bit<32>>(8) types;

    apply {
        if (!hdr.frame.isValid()) {  // BMv2's invalid fields hold what some earlier packet left
            mark_to_drop(standard);
            return;
        }
        bit<8> op = hdr.frame.ingress_op;
        passes.count(standard.instance_type);
        bit<32> n;
        types.read(n, standard.instance_type);
        types.write(standard.instance_type, n + standard.packet_length);
        meta.kept = meta.kept + 1;
        meta.lost = meta.lost + 1;
        meta.kept_egress = meta.kept_egress + 16;
        standard.egress_spec = hdr.frame.port;
        standard.priority = hdr.frame.priority;
        bool first = standard.instance_type == 0;
        if (op[0:0] == 1 && first) {
            clone_preserving_field_list(CloneType.I2E, (bit<32>)hdr.frame.group, 1);
        }
        if (op[1:1] == 1) {
            standard.mcast_grp = hdr.frame.group;
        }
        if (op[2:2] == 1 && first) {
            hdr.frame.src = 0;
            resubmit_preserving_field_list(2);
        }
        if (op[3:3] == 1) {
            truncate((bit<32>)hdr.frame.length);
        }
        if (op[4:4] == 1) {
            mark_to_drop(standard);
        }
        if (op[5:5] == 1) {
            digest<learned_t>(1, { hdr.frame.serial, standard.ingress_port, hdr.frame.src, hdr.frame.priority });
        }
        if (op[6:6] == 1) {
            clone(CloneType.I2E, 5);
        }
        if (op[7:7] == 1 && standard.instance_type == 6) {
            meta.rounds = meta.rounds + 1;
            if (meta.rounds < 3) {
                resubmit_preserving_field_list(4);
            }
        }
    }
}

control PathsEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        bit<8> op = hdr.frame.egress_op;
        bool copy = standard.instance_type == 1 || standard.instance_type == 2;
        meta.kept_egress = meta.kept_egress + 1;
        hdr.trace.push_front(1);
        hdr.trace[0].setValid();
        hdr.trace[0].stage = hdr.frame.type == 0x7777 ? 8w1 : 8w0x81;
        hdr.frame.type = 0x7777;
        hdr.trace[0].instance_type = (bit<8>)standard.instance_type;
        hdr.trace[0].rid = standard.egress_rid;
        hdr.trace[0].ingress_port = (bit<16>)standard.ingress_port;
        hdr.trace[0].egress_port = (bit<16>)standard.egress_port;
        hdr.trace[0].packet_length = (bit<16>)standard.packet_length;
        hdr.trace[0].kept = meta.kept;
        hdr.trace[0].kept_egress = meta.kept_egress;
        hdr.trace[0].lost = meta.lost;
        hdr.trace[0].parsed = meta.parsed;
        hdr.trace[0].qid = (bit<8>)standard.priority;
        hdr.trace[0].depth = 0;
        log_msg("port {} of {}", { standard.egress_port, hdr.frame.serial });
        assume(hdr.trace[0].stage != 0);
        assert(standard.egress_port != 511);
        if (op[0:0] == 1 && !copy) {
            clone_preserving_field_list(CloneType.E2E, (bit<32>)hdr.frame.group, 3);
            hdr.frame.dst = 0x010203040506;
        }
        if (op[1:1] == 1 && !copy && hdr.frame.rounds != 0) {
            hdr.frame.rounds = hdr.frame.rounds - 1;
            recirculate_preserving_field_list(2);
        }
        if (op[2:2] == 1) {
            truncate((bit<32>)hdr.frame.length);
        }
        if (op[3:3] == 1 && copy) {
            mark_to_drop(standard);
        }
        if (op[4:4] == 1 && standard.egress_rid == 2) {
            mark_to_drop(standard);
        }
        if (op[5:5] == 1) {
            hdr.frame.group = (bit<16>)standard.egress_spec;
        }
        if (op[6:6] == 1 && !copy) {
            clone(CloneType.E2E, 6);
        }
    }
}

control PathsDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(PathsParser(), NoChecks(), PathsIngress(), PathsEgress(), NoChecks(), PathsDeparser()) main;
