// State and calculations: registers, counters, meters (direct and indirect), hashes, checksums.

#include <core.p4>
#include <v1model.p4>

header fields_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
    bit<8> index;
    bit<8> a;
    bit<32> b;
    bit<48> c;
    bit<128> wide;
    int<16> number;
    bit<16> base;
}

header ip_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> tos;
    bit<16> length;
    bit<16> sum;
    varbit<64> options;
}

header payload_sum_t {
    bit<16> sum;
    bit<16> other;
}

header result_t {
    bit<16> crc16;
    bit<32> crc32;
    bit<16> csum16;
    bit<16> xor16;
    bit<32> identity;
    bit<16> based;
    bit<32> wide_crc;
    bit<64> wide_identity;
    bit<16> custom16;
    bit<32> custom32;
    bit<8> old_byte;
    bit<128> old_wide;
    int<16> old_number;
    bit<1> old_flag;
    bit<1> sum_error;
    bit<6> colour;
    bit<8> direct_colour;
    bit<8> byte_colour;
    bit<32> drawn;
}

struct headers_t {
    fields_t fields;
    result_t result;
    ip_t ip;
    payload_sum_t sum;
}

struct metadata_t {
    bit<32> colour;
    bit<8> direct_colour;
}

parser StateParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.fields);
        transition select(hdr.fields.type) {
            0x0800: parse_ip;
            0x0801: parse_sum;
            default: accept;
        }
    }

    state parse_ip {
        bit<8> first = packet.lookahead<bit<8>>();
        packet.extract(hdr.ip, (bit<32>)first[3:0] << 3);
        transition parse_sum;
    }

    state parse_sum {
        packet.extract(hdr.sum);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ip.isValid() && hdr.ip.version == 4,
            { hdr.ip.version, hdr.ip.ihl, hdr.ip.tos, hdr.ip.length, hdr.ip.options },
            hdr.ip.sum, HashAlgorithm.csum16);
    }
}

control Update(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ip.isValid(),
            { hdr.ip.version, hdr.ip.ihl, hdr.ip.tos, hdr.ip.length, hdr.ip.options },
            hdr.ip.sum, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.sum.isValid(),
            { hdr.fields.b, hdr.fields.a, 8w17, hdr.sum.other },
            hdr.sum.sum, HashAlgorithm.csum16);
    }
}

control StateIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<8>>(8) bytes_;
    register<bit<128>>(4) wides;
    register<int<16>>(4) numbers;
    register<bit<1>>(16) flags;
    register<bit<48>>(4) sums;
    counter(8, CounterType.packets) packets_;
    counter(8, CounterType.bytes) octets;
    counter(8, CounterType.packets_and_bytes) both;
    meter(4, MeterType.packets) limits;
    meter(4, MeterType.bytes) byte_limits;
    direct_meter<bit<8>>(MeterType.packets) policed;

    action police() { policed.read(meta.direct_colour); }
    action skip() { policed.read(meta.direct_colour); hdr.result.drawn = 1; }

    table policing {
        key = { hdr.fields.a: exact @name("a"); }
        actions = { police; skip; }
        default_action = skip;
        meters = policed;
        size = 8;
    }

    apply {
        fields_t f = hdr.fields;
        hdr.result.setValid();
        standard.egress_spec = 2;
        if (!hdr.fields.isValid()) {  // BMv2's invalid fields hold what some earlier packet left
            mark_to_drop(standard);
            return;
        }
        hash(hdr.result.crc16, HashAlgorithm.crc16, 16w0, { f.a, f.b, f.c }, 32w65536);
        hash(hdr.result.crc32, HashAlgorithm.crc32, 32w0, { f.b, f.c, f.wide }, 64w0x100000000);
        hash(hdr.result.csum16, HashAlgorithm.csum16, 16w0, { f.a, f.b, f.c }, 32w65536);
        hash(hdr.result.xor16, HashAlgorithm.xor16, 16w0, { f.b, f.c, f.index }, 32w65536);
        hash(hdr.result.identity, HashAlgorithm.identity, 32w0, { f.b }, 64w0x100000000);
        hash(hdr.result.based, HashAlgorithm.crc16, f.base, { f.c, f.number }, 16w100);
        hash(hdr.result.wide_crc, HashAlgorithm.crc32, 32w5, { f.wide, f.a[6:0], f.b[8:0] }, 32w1000003);
        hash(hdr.result.wide_identity, HashAlgorithm.identity, 64w0, { f.c[11:0], f.a, f.b }, 64w0x100000000000);

        hash(hdr.result.custom16, HashAlgorithm.crc16_custom, 16w0, { f.a, f.b }, 32w65536);
        hash(hdr.result.custom32, HashAlgorithm.crc32_custom, 32w0, { f.b, f.number }, 64w0x100000000);
        bit<32> at = (bit<32>)f.index;
        bytes_.read(hdr.result.old_byte, at & 7);
        bytes_.write(at & 7, hdr.result.old_byte + f.a);
        wides.read(hdr.result.old_wide, at & 3);
        wides.write(at & 3, hdr.result.old_wide * 3 + f.wide);
        numbers.read(hdr.result.old_number, at & 3);
        numbers.write(at & 3, hdr.result.old_number |-| f.number);
        flags.read(hdr.result.old_flag, at & 15);
        flags.write(at & 15, ~hdr.result.old_flag);
        bit<48> sum;
        sums.read(sum, at & 3);
        sums.write(at & 3, sum + f.c);
        packets_.count(at & 7);
        octets.count(at & 7);
        both.count(at & 7);
        limits.execute_meter(at & 3, meta.colour);
        hdr.result.colour = (bit<6>)meta.colour;
        byte_limits.execute_meter(at & 3, meta.colour);
        hdr.result.byte_colour = (bit<8>)meta.colour;
        hdr.result.drawn = 0;
        policing.apply();
        hdr.result.direct_colour = meta.direct_colour;
        hdr.result.sum_error = standard.checksum_error;
        bit<32> drawn;
        random(drawn, 32w41, 32w41);
        hdr.result.drawn = hdr.result.drawn + drawn;
        if (f.a == 9) {
            mark_to_drop(standard);
        }
    }
}

control StateEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (hdr.fields.a == 10) {
            truncate(40);
        }
    }
}

control StateDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(StateParser(), Verify(), StateIngress(), StateEgress(), Update(), StateDeparser()) main;
