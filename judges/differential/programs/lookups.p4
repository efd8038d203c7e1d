// Tables: all kinds of keys, priorities, const and initial entries, defaults, hit, miss, action_run, direct counters.

#include <core.p4>
#include <v1model.p4>

header keys_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
    bit<8> a;
    bit<16> b;
    bit<32> address;
    bit<16> number;
    bit<8> c;
    bit<128> wide;
}

header trace_t {
    bit<16> exact_;
    bit<16> lpm_;
    bit<16> ternary_;
    bit<16> range_;
    bit<16> optional_;
    bit<16> const_;
    bit<16> initial;
    bit<16> keyless;
    bit<128> wide;
    bit<8> flags;
    int<16> signed_;
    bit<8> nested;
}

struct headers_t {
    keys_t keys;
    trace_t trace;
}

struct metadata_t {
    bit<7> odd;
}

parser LookupParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.keys);
        transition accept;
    }
}

control NoChecks(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control LookupIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets_and_bytes) exact_hits;
    direct_counter(CounterType.packets) ternary_hits;
    direct_counter(CounterType.bytes) range_hits;

    action set_exact(bit<16> value) { hdr.trace.exact_ = value; }
    action add_exact(bit<16> value, bit<3> shift) { hdr.trace.exact_ = hdr.trace.exact_ + (value << shift); }
    action set_lpm(bit<16> value) { hdr.trace.lpm_ = value; }
    action set_ternary(bit<16> value) { hdr.trace.ternary_ = value; }
    action out_of(bit<9> port) { standard.egress_spec = port; }
    action drop() { mark_to_drop(standard); }
    action set_range(bit<16> value) { hdr.trace.range_ = value; }
    action set_optional(bit<16> value) { hdr.trace.optional_ = value; }
    action set_const(bit<16> value) { hdr.trace.const_ = value; }
    action set_initial(bit<16> value) { hdr.trace.initial = value; }
    action set_keyless(bit<16> value, int<16> number) { hdr.trace.keyless = value; hdr.trace.signed_ = number; }
    action set_wide(bit<128> value) { hdr.trace.wide = value; }
    action leave() { exit; }
    action swap(bit<8> with) { hdr.keys.c = hdr.keys.a; hdr.keys.a = with; }

    table exact_keys {
        key = { hdr.keys.a: exact @name("a"); hdr.keys.b[11:4]: exact @name("b"); hdr.keys.isValid(): exact @name("valid"); }
        actions = { set_exact; add_exact; drop; NoAction; }
        default_action = set_exact(0xffff);
        counters = exact_hits;
        size = 64;
    }

    table prefixes {
        key = { hdr.keys.c: exact @name("c"); hdr.keys.address: lpm @name("address"); }
        actions = { set_lpm; out_of; NoAction; }
        size = 64;
    }

    table masks {
        key = {
            hdr.keys.b: ternary @name("b");
            hdr.keys.address: lpm @name("address");
            meta.odd: ternary @name("odd");
        }
        actions = { set_ternary; out_of; drop; swap; }
        const default_action = set_ternary(0xeeee);
        counters = ternary_hits;
        size = 64;
    }

    table ranges {
        key = { hdr.keys.number: range @name("number"); hdr.keys.a: ternary @name("a"); hdr.keys.c: range @name("c"); }
        actions = { set_range; NoAction; }
        default_action = NoAction;
        counters = range_hits;
        size = 64;
    }

    table options {
        key = { hdr.keys.a: optional @name("a"); hdr.keys.number: optional @name("number"); }
        actions = { set_optional; leave; NoAction; }
        default_action = NoAction;
        size = 64;
    }

    table wides {
        key = { hdr.keys.wide: ternary @name("wide"); }
        actions = { set_wide; NoAction; }
        default_action = NoAction;
        size = 64;
    }

    table wide_exact {
        key = { hdr.keys.wide: exact @name("wide"); }
        actions = { set_wide; NoAction; }
        default_action = NoAction;
        size = 64;
    }

    table constants {
        key = { hdr.keys.b: ternary @name("b"); hdr.keys.a: range @name("a"); }
        actions = { set_const; NoAction; }
        default_action = set_const(0xcccc);
        const entries = {
            (0x0010 &&& 0x00f0, 0 .. 3): set_const(1);
            (0x0010 &&& 0x00ff, _): set_const(2);
            (_, 2 .. 5): set_const(3);
            (0x0100 &&& 0xff00, _): NoAction();
        }
    }

    @largest_priority_wins
    table initials {
        key = { hdr.keys.b: ternary @name("b"); }
        actions = { set_initial; NoAction; }
        default_action = NoAction;
        size = 64;
        entries = {
            priority = 20: (0x0011 &&& 0x00ff): set_initial(2);
            priority = 10: (0x0010 &&& 0x00f0): set_initial(1);
            const priority = 5: (_): set_initial(3);
        }
    }

    table always {
        actions = { set_keyless; NoAction; }
        default_action = set_keyless(7, 2);
    }

    apply {
        hdr.trace.setValid();
        hdr.trace = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
        standard.egress_spec = 2;
        if (!hdr.keys.isValid()) {  // BMv2's invalid fields hold what some earlier packet left
            mark_to_drop(standard);
            return;
        }
        meta.odd = hdr.keys.b[6:0];
        always.apply();
        if (exact_keys.apply().hit) {
            hdr.trace.flags[0:0] = 1;
        }
        if (!prefixes.apply().hit) {
            hdr.trace.flags[1:1] = 1;
        }
        switch (masks.apply().action_run) {
            set_ternary: { if (ranges.apply().miss) { hdr.trace.nested = 1; } }
            out_of: { hdr.trace.nested = 2; }
            swap: { hdr.trace.nested = 3; }
            default: { hdr.trace.nested = 4; }
        }
        constants.apply();
        initials.apply();
        wides.apply();
        if (wide_exact.apply().miss && hdr.keys.a > 2) {
            hdr.trace.flags[2:2] = 1;
        }
        options.apply();
        hdr.trace.flags[7:7] = 1;
    }
}

control LookupEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(8, CounterType.packets_and_bytes) sent;

    apply {
        sent.count((bit<32>)standard.egress_port);
    }
}

control LookupDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(LookupParser(), NoChecks(), LookupIngress(), LookupEgress(), NoChecks(), LookupDeparser()) main;
