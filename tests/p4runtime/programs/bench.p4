// A program for the tests of the P4Runtime server: one of each thing that a client can name, as small as can be.
// Compile: p4c-bm2-ss --p4runtime-files bench.p4info.txtpb -o bench.json bench.p4.

#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 255;

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

// Of odd widths, to test packing.
@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<3> queue;
    @padding bit<4> pad;
}

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> reason;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t packet_in;
    ethernet_t ethernet;
}

struct metadata_t {
    bit<128> wide;
    bit<32> colour;
    @field_list(1) bit<8> kept;
}

struct learned_t {
    bit<48> src_addr;
    bit<9> port;
}

parser BenchParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        transition select(standard.ingress_port) {
            CPU_PORT: parse_packet_out;
            default: parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control BenchIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets_and_bytes) l2_hits;
    counter(16, CounterType.packets_and_bytes) received;
    register<bit<32>>(4096) cells;
    register<bit<128>>(4) wide_cells;
    register<int<12>>(4) signed_cells;
    register<bit<1>>(8) flags;
    meter(8, MeterType.bytes) limits;
    direct_meter<bit<32>>(MeterType.packets) policed;

    action drop() {
        mark_to_drop(standard);
    }

    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    action set_wide(bit<128> value, bit<8> small) {
        meta.wide = value;
        meta.kept = small;
    }

    action send_to_cpu(bit<7> reason) {
        standard.egress_spec = CPU_PORT;
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = standard.ingress_port;
        hdr.packet_in.reason = reason;
    }

    action police() {
        policed.read(meta.colour);
    }

    action multicast(bit<16> group) {
        standard.mcast_grp = group;
    }

    action mirror(bit<9> port) {
        standard.egress_spec = port;
        clone_preserving_field_list(CloneType.I2E, 7, 1);
    }

    action learn() {
        digest<learned_t>(1, { hdr.ethernet.src_addr, standard.ingress_port });
    }

    table l2 {
        key = { hdr.ethernet.dst_addr: exact @name("dst_addr"); }
        actions = { forward; multicast; send_to_cpu; mirror; @defaultonly drop; @tableonly set_wide; }
        default_action = drop();
        counters = l2_hits;
        size = 8;
    }

    table prefixes {
        key = { standard.ingress_port: exact @name("port"); hdr.ethernet.dst_addr: lpm @name("dst_addr"); }
        actions = { set_wide; NoAction; }
        default_action = NoAction;
        size = 1024;
    }

    table acl {
        key = {
            hdr.ethernet.src_addr: ternary @name("src_addr");
            hdr.ethernet.ether_type: range @name("ether_type");
            standard.ingress_port: optional @name("port");
        }
        actions = { drop; set_wide; NoAction; }
        const default_action = NoAction;
        size = 64;
    }

    table fixed {
        key = { hdr.ethernet.ether_type: ternary @name("ether_type"); }
        actions = { set_wide; NoAction; }
        default_action = NoAction;
        const entries = {
            0x0800 &&& 0xffff: set_wide(1, 2);
            0x8000 &&& 0x8000: NoAction();
        }
    }

    table seeded {
        key = { hdr.ethernet.ether_type: ternary @name("ether_type"); }
        actions = { send_to_cpu; NoAction; }
        default_action = NoAction;
        size = 16;
        entries = {
            0x0901 &&& 0xffff: send_to_cpu(11);
            0x0900 &&& 0xff00: send_to_cpu(12);
        }
    }

    table learning {
        key = { hdr.ethernet.src_addr: exact @name("src_addr"); }
        actions = { learn; NoAction; }
        default_action = learn;
    }

    table policing {
        key = { hdr.ethernet.src_addr: exact @name("src_addr"); }
        actions = { police; NoAction; }
        default_action = NoAction;
        meters = policed;
    }

    table keyless {
        actions = { set_wide; NoAction; }
        default_action = NoAction;
    }

    apply {
        bit<32> colour;
        received.count((bit<32>)standard.ingress_port);
        limits.execute_meter<bit<32>>(0, colour);
        if (hdr.packet_out.isValid()) {
            standard.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else {
            bit<32> seen;
            bit<128> wide;
            int<12> low;
            bit<1> flag;
            cells.read(seen, (bit<32>)standard.ingress_port);
            cells.write((bit<32>)standard.ingress_port, seen + 1);
            keyless.apply();
            fixed.apply();
            learning.apply();
            policing.apply();
            if (meta.colour == 2) {
                mark_to_drop(standard);
                exit;
            }
            prefixes.apply();
            acl.apply();
            wide_cells.read(wide, 0);
            wide_cells.write(1, wide + meta.wide);
            signed_cells.read(low, 0);
            signed_cells.write(1, low - 1);
            flags.read(flag, 0);
            flags.write(1, flag);
            l2.apply();
            seeded.apply();
        }
    }
}

control BenchEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control BenchDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
    }
}

V1Switch(BenchParser(), NoVerify(), BenchIngress(), BenchEgress(), NoVerify(), BenchDeparser()) main;
