// A program for the tests of idle timeouts. Packet-outs hit the entry of their first byte and come back.
// Compile: p4c-bm2-ss --p4runtime-files idle.p4info.txtpb -o idle.json idle.p4.

#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 255;

header probe_t {
    bit<8> key;
    bit<8> result;
}

struct headers_t {
    probe_t probe;
}

struct metadata_t { }

parser IdleParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.probe);
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control IdleIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action set(bit<8> result) {
        hdr.probe.result = result;
    }

    table flows {
        key = {
            hdr.probe.key: ternary @name("key");
        }
        actions = { set; NoAction; }
        default_action = NoAction();
        support_timeout = true;
    }

    table fixed {
        key = {
            hdr.probe.key: exact @name("key");
        }
        actions = { set; NoAction; }
        default_action = NoAction();
    }

    apply {
        standard.egress_spec = CPU_PORT;
        flows.apply();
        fixed.apply();
    }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control NoUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control IdleDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.probe);
    }
}

V1Switch(IdleParser(), NoVerify(), IdleIngress(), NoEgress(), NoUpdate(), IdleDeparser()) main;
