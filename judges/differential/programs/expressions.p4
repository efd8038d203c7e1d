// Expressions: widths from 1 to 512 bits, signed and saturating arithmetic, shifts, slices, concatenation, casts.

#include <core.p4>
#include <v1model.p4>

header operands_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
    bit<8> a8;
    bit<8> b8;
    int<8> sa8;
    int<8> sb8;
    bit<16> shift;
    bit<13> a13;
    int<11> sa11;
    bit<64> a64;
    bit<64> b64;
    int<64> sa64;
    int<64> sb64;
    bit<128> a128;
    bit<128> b128;
    int<128> sa128;
    int<128> sb128;
    bit<512> a512;
    bit<512> b512;
}

header narrow_t {
    bit<8> add;
    bit<8> sub;
    bit<8> mul;
    bit<8> sat_add;
    bit<8> sat_sub;
    int<8> signed_add;
    int<8> signed_sub;
    int<8> signed_mul;
    int<8> signed_sat_add;
    int<8> signed_sat_sub;
    int<8> signed_neg;
    bit<8> left;
    bit<8> right;
    int<8> signed_left;
    int<8> signed_right;
    bit<8> logic;
    bit<8> neg;
    bit<13> odd;
    int<11> signed_odd;
    bit<24> joined;
    bit<8> parts;
}

header compare_t {
    bit<1> lt;
    bit<1> le;
    bit<1> gt;
    bit<1> eq;
    bit<1> slt;
    bit<1> sge;
    bit<1> seq;
    bit<1> both;
    bit<1> wlt;
    bit<1> wge;
    bit<1> weq;
    bit<1> wslt;
    bit<1> wsge;
    bit<1> hlt;
    bit<1> hne;
    bit<1> mixed;
}

header casts_t {
    bit<16> zero_extended;
    int<16> sign_extended;
    bit<4> cut;
    int<4> signed_cut;
    bit<64> from_signed;
    int<128> widened;
    bit<32> from_wide;
    int<24> through;
}

header wide_t {
    bit<64> add64;
    bit<64> mul64;
    bit<64> sat64;
    int<64> ssat64;
    int<64> ssub64;
    int<64> sright64;
    bit<64> left64;
    bit<128> add;
    bit<128> sub;
    bit<128> mul;
    bit<128> sat_add;
    bit<128> sat_sub;
    int<128> signed_sub;
    int<128> signed_sat;
    int<128> signed_mul;
    bit<128> left;
    bit<128> right;
    int<128> signed_right;
    bit<128> logic;
    bit<512> add512;
    bit<512> sub512;
    bit<512> mul512;
    bit<512> logic512;
    bit<512> left512;
    bit<512> right512;
    bit<128> slice;
    bit<192> joined;
    bit<128> chosen;
}

struct headers_t {
    operands_t in_;
    narrow_t narrow;
    compare_t compare;
    casts_t casts;
    wide_t wide;
}

struct metadata_t { }

parser ExprParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.in_);
        transition accept;
    }
}

control NoChecks(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Narrow(in operands_t x, out narrow_t r) {
    apply {
        r.setValid();
        r.add = x.a8 + x.b8;
        r.sub = x.a8 - x.b8;
        r.mul = x.a8 * x.b8;
        r.sat_add = x.a8 |+| x.b8;
        r.sat_sub = x.a8 |-| x.b8;
        r.signed_add = x.sa8 + x.sb8;
        r.signed_sub = x.sa8 - x.sb8;
        r.signed_mul = x.sa8 * x.sb8;
        r.signed_sat_add = x.sa8 |+| x.sb8;
        r.signed_sat_sub = x.sa8 |-| x.sb8;
        r.signed_neg = -x.sa8;
        r.left = x.a8 << (bit<8>)x.shift[3:0];
        r.right = x.a8 >> x.b8;
        r.signed_left = x.sa8 << 3;
        r.signed_right = x.sa8 >> x.shift[4:0];
        r.logic = (x.a8 & x.b8) | (~x.a8 ^ (x.b8 << 1));
        r.neg = -x.a8;
        r.odd = x.a13 * 3 + (bit<13>)x.a8;
        r.signed_odd = x.sa11 |-| (int<11>)x.sa8;
        r.joined = x.a8 ++ x.b8 ++ (bit<8>)x.sa8;
        r.parts = 0;
        r.parts[7:4] = x.a8[3:0];
        r.parts[2:1] = x.b8[7:6];
    }
}

control Compare(in operands_t x, out compare_t r) {
    apply {
        r.setValid();
        r.lt = (bit<1>)(x.a8 < x.b8);
        r.le = (bit<1>)(x.a8 <= x.b8);
        r.gt = (bit<1>)(x.a64 > x.b64);
        r.eq = (bit<1>)(x.a8 == x.b8);
        r.slt = (bit<1>)(x.sa8 < x.sb8);
        r.sge = (bit<1>)(x.sa64 >= x.sb64);
        r.seq = (bit<1>)(x.sa8 == -x.sb8);
        r.both = (bit<1>)(x.a8 < 128 && !(x.b8 > 5 || x.a8 == 3));
        r.wlt = (bit<1>)(x.a128 < x.b128);
        r.wge = (bit<1>)(x.a128 >= x.b128);
        r.weq = (bit<1>)(x.a128 == x.b128);
        r.wslt = (bit<1>)(x.sa128 < x.sb128);
        r.wsge = (bit<1>)(x.sa128 >= x.sb128);
        r.hlt = (bit<1>)(x.a512 < x.b512);
        r.hne = (bit<1>)(x.a512 != x.b512);
        r.mixed = (bit<1>)((bit<9>)x.a8 + (bit<9>)x.b8 > 255);
    }
}

control Casts(in operands_t x, out casts_t r) {
    apply {
        r.setValid();
        r.zero_extended = (bit<16>)x.a8;
        r.sign_extended = (int<16>)x.sa8;
        r.cut = (bit<4>)x.a8;
        r.signed_cut = (int<4>)x.sa8;
        r.from_signed = (bit<64>)(int<64>)x.sa11;
        r.widened = (int<128>)x.sa64;
        r.from_wide = (bit<32>)x.a512;
        r.through = (int<24>)(int<11>)(bit<11>)x.a13;
    }
}

control Wide(in operands_t x, out wide_t r) {
    apply {
        r.setValid();
        r.add64 = x.a64 + x.b64;
        r.mul64 = x.a64 * x.b64;
        r.sat64 = x.a64 |+| x.b64;
        r.ssat64 = x.sa64 |+| x.sb64;
        r.ssub64 = x.sa64 |-| x.sb64;
        r.sright64 = x.sa64 >> x.b8;
        r.left64 = x.a64 << x.b8;
        r.add = x.a128 + x.b128;
        r.sub = x.a128 - x.b128;
        r.mul = x.a128 * x.b128;
        r.sat_add = x.a128 |+| x.b128;
        r.sat_sub = x.a128 |-| x.b128;
        r.signed_sub = x.sa128 - x.sb128;
        r.signed_sat = x.sa128 |+| x.sb128;
        r.signed_mul = x.sa128 * x.sb128;
        r.left = x.a128 << x.b8;
        r.right = x.a128 >> x.b8;
        r.signed_right = x.sa128 >> x.b8;
        r.logic = (x.a128 & ~x.b128) ^ (bit<128>)x.a64;
        r.add512 = x.a512 + x.b512;
        r.sub512 = x.a512 - x.b512;
        r.mul512 = x.a512 * x.b512;
        r.logic512 = x.a512 ^ ~x.b512;
        r.left512 = x.a512 << x.shift[7:0];
        r.right512 = x.a512 >> x.shift[7:0];
        r.slice = x.a512[300:173];
        r.joined = x.a64 ++ x.b128;
        r.chosen = x.a8 > 127 ? x.a128 : (bit<128>)x.b64;
    }
}

control ExprIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Narrow() narrow;
    Compare() compare;

    apply {
        standard.egress_spec = 2;
        if (!hdr.in_.isValid()) {  // BMv2's invalid fields hold what some earlier packet left
            mark_to_drop(standard);
            return;
        }
        narrow.apply(hdr.in_, hdr.narrow);
        compare.apply(hdr.in_, hdr.compare);
    }
}

control ExprEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Casts() casts;
    Wide() wide;

    apply {
        casts.apply(hdr.in_, hdr.casts);
        wide.apply(hdr.in_, hdr.wide);
        hdr.in_.setInvalid();
    }
}

control ExprDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(ExprParser(), NoChecks(), ExprIngress(), ExprEgress(), NoChecks(), ExprDeparser()) main;
