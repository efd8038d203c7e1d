// Headers as they stand on the wire: Ethernet, IPv4, UDP and BTH of RoCEv2, PFC frames, and congestion notification messages.
//
// TNA twin: includes this file.

#ifndef PCN_SHARED_HEADERS_P4
#define PCN_SHARED_HEADERS_P4

#include "constants.p4"

header ethernet_t {
    mac_t   dst_addr;
    mac_t   src_addr;
    bit<16> ether_type;
}

// RFC 791, DSCP and ECN as RFC 2474 and RFC 3168. Options aren't parsed.
header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> frag_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> hdr_checksum;
    ipv4_addr_t src_addr;
    ipv4_addr_t dst_addr;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

// Base transport header, InfiniBand architecture 9.2.
header bth_t {
    bit<8>  opcode;
    bit<1>  solicited_event;
    bit<1>  mig_req;
    bit<2>  pad_count;
    bit<4>  version;
    bit<16> partition_key;
    bit<1>  fecn;
    bit<1>  becn;
    bit<6>  reserved;
    bit<24> dest_qp;
    bit<1>  ack_req;
    bit<7>  reserved2;
    bit<24> psn;
}

#ifdef CARRIES_TELEMETRY
// In-band telemetry (INT), behind a BTH that says so by BTH_TELEMETRY: room for five hops, which the sender makes, so no
// frame grows. HPCC's (SIGCOMM'19, Fig. 7), with a path id of 16 bits and 16 bits before it, so that payload stays
// aligned. A record: 4 bits the type of the link's rate, 24 a time stamp, 20 bytes sent by the port / 128, 16 bytes that
// wait / 64.
header telemetry_t {
    bit<8>  hops;      // that have pushed, the records of the first five are here
    bit<8>  reserved;
    bit<16> path_id;   // of the hops' ids, exclusive or
    bit<64> hop0;
    bit<64> hop1;
    bit<64> hop2;
    bit<64> hop3;
    bit<64> hop4;
}
#endif

// IEEE 802.1Qbb after the Ethernet header. A quantum is 512 bit times; 0 quanta resume the class.
header pfc_t {
    bit<16> opcode;
    bit<8>  reserved;
    bit<8>  class_enable;
    bit<16> quanta0;
    bit<16> quanta1;
    bit<16> quanta2;
    bit<16> quanta3;
    bit<16> quanta4;
    bit<16> quanta5;
    bit<16> quanta6;
    bit<16> quanta7;
}

// Zeros that fill a PFC frame of ours up to 60 bytes. Received padding is payload.
header pfc_pad_t {
    bit<64> zeros0;
    bit<64> zeros1;
    bit<64> zeros2;
    bit<16> zeros3;
}

// Begins as IEEE 802.1Qau's CNM PDU. The BTH of the sampled packet follows, which names the flow.
header cnm_t {
    bit<4>  version;
    bit<6>  reserved;
    bit<6>  feedback;  // quantised: 63 is the most severe congestion
    bit<32> queue_bytes;
}

struct headers_t {
    ethernet_t ethernet;
    pfc_t      pfc;
    pfc_pad_t  pfc_pad;
    ipv4_t     ipv4;
    udp_t      udp;
    cnm_t      cnm;
    bth_t      bth;
#ifdef CARRIES_TELEMETRY
    telemetry_t telemetry;
#endif
}

#endif
