// A program for the tests of action profiles and selectors. A packet-out says which table it is for and what is hashed;
// it comes back as a packet-in that says what ran.
// Compile: p4c-bm2-ss --p4runtime-files indirect.p4info.txtpb -o indirect.json indirect.p4.

#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 255;

header probe_t {
    bit<8> table_number;
    bit<8> key;
    bit<16> a;
    bit<13> b;
    bit<3> c;
    bit<64> d;
    bit<8> result;
    bit<16> more;
    bit<8> trace;
}

struct headers_t {
    probe_t probe;
}

struct metadata_t {
    bit<32> folded;
}

parser IndirectParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.probe);
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control IndirectIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    @max_group_size(8) action_selector(HashAlgorithm.crc16, 32w64, 32w14) by_crc16;
    action_selector(HashAlgorithm.crc32, 32w64, 32w32) by_crc32;
    action_selector(HashAlgorithm.csum16, 32w64, 32w16) by_csum;
    action_selector(HashAlgorithm.crc16, 32w64, 32w16) shared;
    action_selector(HashAlgorithm.identity, 32w64, 32w16) by_identity;
    action_profile(32w4) plain_profile;
    direct_counter(CounterType.packets) crc16_hits;

    action set(bit<8> result, bit<16> more) {
        hdr.probe.result = result;
        hdr.probe.more = more;
    }

    action keep() { }

    table crc16_table {
        key = {
            hdr.probe.key: exact @name("key");
            hdr.probe.a: selector;
            hdr.probe.b: selector;
            hdr.probe.d: selector;
        }
        actions = { set; keep; }
        implementation = by_crc16;
        counters = crc16_hits;
    }

    table crc32_table {
        key = {
            hdr.probe.key: ternary @name("key");
            hdr.probe.a: selector;
            meta.folded: selector;
        }
        actions = { set; keep; }
        implementation = by_crc32;
    }

    table csum_table {
        key = {
            hdr.probe.key: lpm @name("key");
            hdr.probe.a: selector;
            meta.folded: selector;
        }
        actions = { set; keep; }
        implementation = by_csum;
    }

    // More than 32 bits: BMv2 keeps the low ones.
    table identity_table {
        key = {
            hdr.probe.key: exact @name("key");
            hdr.probe.d: selector;
        }
        actions = { set; keep; }
        implementation = by_identity;
    }

    table plain_table {
        key = {
            hdr.probe.key: exact @name("key");
        }
        actions = { set; keep; }
        implementation = plain_profile;
    }

    // Two tables that share a selector, each with its own copy of the actions. (BMv2 aborts on packets of one of them.)
    table shared_one {
        key = {
            hdr.probe.key: exact @name("key");
            hdr.probe.a: selector;
        }
        actions = { set; keep; }
        implementation = shared;
    }

    table shared_two {
        key = {
            hdr.probe.key: exact @name("key");
            hdr.probe.a: selector;
        }
        actions = { set; keep; }
        implementation = shared;
    }

    apply {
        standard.egress_spec = CPU_PORT;
        meta.folded = hdr.probe.d[63:32] ^ hdr.probe.d[31:0];
        if (hdr.probe.table_number == 0) {
            if (crc16_table.apply().hit) {
                hdr.probe.trace = 1;
            } else {
                hdr.probe.trace = 2;
            }
        } else if (hdr.probe.table_number == 1) {
            switch (crc32_table.apply().action_run) {
                set: { hdr.probe.trace = 1; }
                keep: { hdr.probe.trace = 2; }
                default: { hdr.probe.trace = 3; }
            }
        } else if (hdr.probe.table_number == 2) {
            csum_table.apply();
        } else if (hdr.probe.table_number == 3) {
            identity_table.apply();
        } else if (hdr.probe.table_number == 4) {
            plain_table.apply();
        } else {
            if (hdr.probe.table_number & 1 == 1) {
                switch (shared_one.apply().action_run) {
                    set: { hdr.probe.trace = 1; }
                    keep: { hdr.probe.trace = 2; }
                    default: { hdr.probe.trace = 3; }
                }
            }
            if (hdr.probe.table_number & 2 == 2) {
                switch (shared_two.apply().action_run) {
                    set: { hdr.probe.trace = hdr.probe.trace | 16; }
                    keep: { hdr.probe.trace = hdr.probe.trace | 32; }
                    default: { hdr.probe.trace = hdr.probe.trace | 48; }
                }
            }
        }
    }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control NoUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control IndirectDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.probe);
    }
}

V1Switch(IndirectParser(), NoVerify(), IndirectIngress(), NoEgress(), NoUpdate(), IndirectDeparser()) main;
