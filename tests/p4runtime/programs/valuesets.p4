// A program for the tests of parser value sets. A packet-out comes back as a packet-in that says which way it was parsed.
// Compile: p4c-bm2-ss --p4runtime-files valuesets.p4info.txtpb -o valuesets.json valuesets.p4.

#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 255;

header probe_t {
    bit<16> a;
    bit<13> b;
    bit<3> c;
    bit<72> d;
    bit<136> e;
    bit<8> trace;
}

struct headers_t {
    probe_t probe;
}

struct metadata_t {
    bit<8> trace;
}

struct mixed_t {
    bit<13> b;
    @match(ternary) bit<72> d;
    @match(lpm) bit<136> e;
}

struct ranged_t {
    @match(range) bit<3> c;
}

parser SetsParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    value_set<bit<16>>(3) singles;
    value_set<mixed_t>(4) mixed;
    value_set<ranged_t>(4) ranged;

    state start {
        packet.extract(hdr.probe);
        meta.trace = 0;
        transition select(hdr.probe.a) {
            7: accept;
            singles: single;
            8: accept;
            default: other;
        }
    }

    state single {
        meta.trace = meta.trace | 1;
        transition other;
    }

    state other {
        meta.trace = meta.trace | 2;
        transition select(hdr.probe.b, hdr.probe.d, hdr.probe.e) {
            mixed: both;
            default: last;
        }
    }

    state both {
        meta.trace = meta.trace | 4;
        transition last;
    }

    state last {
        transition select(hdr.probe.c) {
            ranged: accept;
            default: accept;
        }
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control SetsIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = CPU_PORT;
        hdr.probe.trace = meta.trace;
    }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control NoUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control SetsDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.probe);
    }
}

V1Switch(SetsParser(), NoVerify(), SetsIngress(), NoEgress(), NoUpdate(), SetsDeparser()) main;
