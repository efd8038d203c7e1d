// Headers and the parser: varbit, stacks, unions, lookahead, advance, verify, errors, loops, header assignment.
// What a packet does is said by its own bytes, so that random packets cover it.

#include <core.p4>
#include <v1model.p4>

error {
    BadVersion
}

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

// op chooses what ingress does; each branch of the parser has a type of its own.
header head_t {
    bit<4> version;
    bit<4> op;
    bit<8> skip;
}

header label_t {
    bit<20> value;
    bit<3> tc;
    bit<1> bottom;
    bit<8> ttl;
}

header option_t {
    bit<8> kind;
    bit<8> count;
    varbit<64> data;
    bit<8> after;
}

header small_t {
    bit<8> tag;
    bit<8> value;
}

header large_t {
    bit<8> tag;
    bit<40> value;
}

header_union choice_t {
    small_t small;
    large_t large;
}

header report_t {
    bit<8> error_code;
    bit<8> last;
    bit<8> peeked;
    bit<1> option_valid;
    bit<1> first_valid;
    bit<1> third_valid;
    bit<1> small_valid;
    bit<1> large_valid;
    bit<3> pad;
    bit<32> length;
    bit<32> sum;
}

struct headers_t {
    ethernet_t ethernet;
    head_t head;
    report_t report;
    label_t[3] labels;
    option_t option;
    option_t copy;
    choice_t choice;
    choice_t[2] choices;
    small_t tail;
}

struct metadata_t {
    bit<8> last;
    bit<8> peeked;
    bit<32> sum;
}

parser HeadersParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.head);
        verify(hdr.head.version != 15, error.BadVersion);
        transition select(hdr.ethernet.type, hdr.head.skip) {
            (0x1000, _): parse_labels;
            (0x2000, 0 .. 7): parse_option;
            (0x2000 &&& 0xfff0, _): parse_skip;
            (0x3000, _): parse_choice;
            (0x4000, _): parse_bits;
            (0x5000, _): parse_strict;
            (0x6000, _): parse_choices;
            default: accept;
        }
    }

    state parse_labels {
        packet.extract(hdr.labels.next);
        meta.last = hdr.labels.last.ttl;
        meta.sum = meta.sum + (bit<32>)hdr.labels.last.value;
        meta.peeked = (bit<8>)hdr.labels.lastIndex + 1;
        transition select(hdr.labels.last.bottom) {
            0: parse_labels;
            default: parse_tail;
        }
    }

    state parse_option {
        meta.peeked = packet.lookahead<bit<16>>()[7:0];
        packet.extract(hdr.option, (bit<32>)(meta.peeked << 3));
        transition parse_tail;
    }

    state parse_skip {
        packet.advance((bit<32>)hdr.head.skip << 3);
        meta.peeked = packet.lookahead<bit<8>>();
        transition select(meta.peeked[7:7]) {
            1: parse_tail;
            default: accept;
        }
    }

    state parse_choice {
        small_t ahead = packet.lookahead<small_t>();
        meta.peeked = ahead.value;
        transition select(ahead.tag) {
            0 .. 99: parse_small;
            100 .. 199: parse_large;
        }
    }

    state parse_small {
        packet.extract(hdr.choice.small);
        transition parse_tail;
    }

    state parse_large {
        packet.extract(hdr.choice.large);
        transition accept;
    }

    state parse_choices {
        bit<8> tag = packet.lookahead<bit<8>>();
        transition select(tag) {
            0 .. 99: parse_small_of_many;
            100 .. 199: parse_large_of_many;
            default: parse_tail;
        }
    }

    state parse_small_of_many {
        packet.extract(hdr.choices.next.small);
        transition parse_choices;
    }

    state parse_large_of_many {
        packet.extract(hdr.choices.next.large);
        transition parse_choices;
    }

    state parse_bits {
        packet.advance(4);
        meta.peeked = packet.lookahead<bit<8>>();
        packet.advance(12);
        packet.extract<small_t>(_);
        transition parse_tail;
    }

    state parse_strict {
        transition select(hdr.head.op, hdr.head.skip) {
            (1 .. 5, 0x10 &&& 0xf0): accept;
            (8, _): reject;
            (9, 9): parse_tail;
        }
    }

    state parse_tail {
        packet.extract(hdr.tail);
        transition accept;
    }
}

control NoChecks(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control HeadersIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    label_t spare;

    apply {
        standard.egress_spec = 2;
        if (!hdr.head.isValid()) {  // BMv2's invalid fields hold what some earlier packet left
            mark_to_drop(standard);
            return;
        }
        bit<8> code = 255;
        if (standard.parser_error == error.NoError) code = 0;
        else if (standard.parser_error == error.PacketTooShort) code = 1;
        else if (standard.parser_error == error.NoMatch) code = 2;
        else if (standard.parser_error == error.StackOutOfBounds) code = 3;
        else if (standard.parser_error == error.HeaderTooShort) code = 4;
        else if (standard.parser_error == error.BadVersion) code = 5;
        else if (standard.parser_error == error.ParserInvalidArgument) code = 6;
        bit<2> at = hdr.head.skip[1:0] == 3 ? 2w0 : hdr.head.skip[1:0];
        switch (hdr.head.op) {
            1: { hdr.labels.push_front(1); hdr.labels[0].setValid(); hdr.labels[0] = { 0xabcde, 5, 0, 64 }; }
            2: { hdr.labels.pop_front(1); }
            3: { hdr.labels.push_front(2); }
            4: { hdr.labels.pop_front(2); hdr.labels[2] = { 77, 1, 1, 1 }; }
            5: { spare = hdr.labels[0]; hdr.labels[0] = hdr.labels[1]; hdr.labels[1] = spare; }
            6: { hdr.copy = hdr.option; hdr.option.setInvalid(); }
            7: { hdr.copy = hdr.option; hdr.copy.kind = hdr.option.kind + 1; }
            8: { hdr.choice.small.setValid(); hdr.choice.small = { 1, 2 }; }
            9: { hdr.choice.large = { 3, 0x123456789a }; }
            10: { hdr.choice.small.setInvalid(); }
            11: { hdr.tail.setInvalid(); hdr.tail.setValid(); hdr.tail.tag = 9; hdr.tail.value = 10; }
            12: { if (hdr.labels[0] == hdr.labels[1]) { meta.sum = 0xeeee; } hdr.labels[1].setInvalid(); }
            13: { hdr.head.setInvalid(); }
            14: { hdr.labels.push_front(3); hdr.ethernet.setInvalid(); }
            15: {
                hdr.labels[at].tc = 7;
                if (hdr.labels[0].isValid() && hdr.labels[1].isValid() && hdr.labels[2].isValid()) {
                    meta.sum = (bit<32>)hdr.labels[at].ttl;
                }
            }
            default: { }
        }
        hdr.report.setValid();
        hdr.report.error_code = code;
        hdr.report.last = meta.last;
        hdr.report.peeked = meta.peeked;
        hdr.report.option_valid = (bit<1>)hdr.option.isValid();
        hdr.report.first_valid = (bit<1>)hdr.labels[0].isValid();
        hdr.report.third_valid = (bit<1>)hdr.labels[2].isValid();
        hdr.report.small_valid = (bit<1>)hdr.choice.small.isValid();
        hdr.report.large_valid = (bit<1>)hdr.choice.large.isValid();
        hdr.report.pad = 0;
        hdr.report.length = standard.packet_length;
        hdr.report.sum = meta.sum;
    }
}

control HeadersEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        hdr.report.sum = hdr.report.sum + standard.packet_length;
    }
}

control HeadersDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(HeadersParser(), NoChecks(), HeadersIngress(), HeadersEgress(), NoChecks(), HeadersDeparser()) main;
