/* Names and types that P4Runtime allows and readers of p4infos have refused: an action whose alias has two dots (one
 * control in both pipelines), keys that end in one word, a digest with an error, a table without a key, ports that
 * controllers call by strings in their packets' headers. */
#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("", string)
@p4runtime_translation_mappings({{"uplink", 1}})
type bit<9> port_t;

@controller_header("packet_in")
header packet_in_t { port_t ingress_port; bit<7> padding; }
@controller_header("packet_out")
header packet_out_t { port_t egress_port; bit<7> padding; }
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header tag_t { bit<8> x; bit<8> y; }

struct headers { packet_in_t packet_in; packet_out_t packet_out; ethernet_t ethernet; tag_t a; tag_t b; }
struct metadata { error why; }
struct learn_t { bit<48> src; error why; }

const bit<9> CPU = 510;

parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start {
        transition select(s.ingress_port) { CPU: from_cpu; default: ethernet; }
    }
    state from_cpu { p.extract(h.packet_out); transition ethernet; }
    state ethernet {
        p.extract(h.ethernet);
        transition select(h.ethernet.type) { 0x1111: both; 0x1112: only_b; default: accept; }
    }
    state both { p.extract(h.a); p.extract(h.b); transition accept; }
    state only_b { p.extract(h.b); transition accept; }
}

control V(inout headers h, inout metadata m) { apply { } }

control Mark(inout headers h) {
    action act(bit<16> value) { h.ethernet.type = value; }
    table marks { key = { h.ethernet.dst: exact; } actions = { act; NoAction; } }
    apply { marks.apply(); }
}

control I(inout headers h, inout metadata m, inout standard_metadata_t s) {
    Mark() mark;
    register<bit<32>>(4) cells;
    action to(bit<9> port) { s.egress_spec = port; cells.write(0, 1); }
    action drop() { mark_to_drop(s); }
    table out_port { actions = { to; drop; } default_action = drop(); }
    table by_field { key = { h.a.x: exact; h.b.x: exact; } actions = { to; NoAction; } }
    table by_header { key = { h.a.isValid(): exact; h.b.isValid(): exact; } actions = { to; NoAction; } }
    apply {
        if (h.packet_out.isValid()) {
            s.egress_spec = (bit<9>)h.packet_out.egress_port;
            h.packet_out.setInvalid();
        } else {
            m.why = s.parser_error;
            digest<learn_t>(1, { h.ethernet.src, m.why });
            out_port.apply();
            by_field.apply();
            by_header.apply();
            mark.apply(h);
        }
    }
}

control E(inout headers h, inout metadata m, inout standard_metadata_t s) {
    Mark() mark;
    apply {
        mark.apply(h);
        if (s.egress_port == CPU) {
            h.packet_in.setValid();
            h.packet_in.ingress_port = (port_t)s.ingress_port;
            h.packet_in.padding = 0;
        }
    }
}

control C(inout headers h, inout metadata m) { apply { } }

control D(packet_out p, in headers h) {
    apply { p.emit(h.packet_in); p.emit(h.ethernet); p.emit(h.a); p.emit(h.b); }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
