// Numbers and names that every program and both architectures share: port and class layout, protocol
// numbers, clone sessions, reasons for a drop. The control plane and the tests repeat only what the
// p4info can't tell: the clone session and the reasons.
//
// TNA twin: includes this file. Each of its pipes has a recirculation port; sessions are in mirror.p4.

#ifndef PCN_SHARED_CONSTANTS_P4
#define PCN_SHARED_CONSTANTS_P4

typedef bit<48> mac_t;
typedef bit<32> ipv4_addr_t;
typedef bit<9>  port_t;
typedef bit<3>  class_t;
// Of everything that is kept per port and class: port ++ class.
typedef bit<12> index_t;
// Microseconds since the switch started.
typedef bit<48> time_us_t;

const bit<32> N_INDEXES = 4096;
const bit<32> N_PORTS = 512;

// Internal port without an interface, where clones become PFC frames. No route may lead there.
const port_t RECIRC_PORT = 510;
// The control plane points these clone sessions at RECIRC_PORT.
const bit<32> PFC_CLONE_SESSION = 1;
const bit<32> CNM_CLONE_SESSION = 2;

const class_t HIGHEST_CLASS = 7;
// Which classes are lossless at a port that the control plane didn't configure: RoCE data, class 3.
const bit<8> DEFAULT_LOSSLESS = 8w0b0000_1000;

// Ports have the locally administered addresses 02:50:43:4e:00:00 + port.
const mac_t PORT_MAC_BASE = 0x02_50_43_4e_00_00;

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_MAC_CONTROL = 0x8808;

const bit<8>  IP_PROTOCOL_UDP = 17;
const bit<16> UDP_PORT_ROCE = 4791;
const bit<4>  BTH_VERSION = 0;
#ifdef CARRIES_TELEMETRY
const bit<6>  BTH_TELEMETRY = 1;  // in BTH's reserved bits beside FECN and BECN, which the ICRC takes as ones
const bit<16> TELEMETRY_BYTES = 44;
#endif

// Congestion notification messages: the port is the ethertype that they have in IEEE 802.1Qau.
const bit<16> UDP_PORT_CNM = 0x22E7;
const bit<6>  DSCP_CNM = 56;  // of the highest class
const bit<8>  TTL_CNM = 64;
const bit<32> CNM_FRAME_BYTES = 60;

const bit<2> ECN_NOT_ECT = 0;
const bit<2> ECN_CE = 3;

// IEEE 802.1Qbb.
const mac_t   PFC_DST_MAC = 0x01_80_c2_00_00_01;
const bit<16> PFC_OPCODE = 0x0101;
const bit<32> PFC_FRAME_BYTES = 60;

// Bytes on the wire.
const bit<32> ETHERNET_BYTES = 14;
const bit<16> IPV4_BYTES = 20;
const bit<16> UDP_BYTES = 8;
const bit<16> ROCE_MIN_UDP_BYTES = 24;  // UDP, BTH and ICRC
const bit<16> CNM_UDP_BYTES = 26;       // UDP, CNM and BTH

// The second half of an index into `dropped`: port ++ reason.
enum bit<3> drop_reason_t {
    NO_ROUTE = 0,           // no entry in ipv4_lpm, or a route to an internal port
    TTL_EXPIRED = 1,
    IPV4_MALFORMED = 2,     // truncated, not version 4, with options, or longer than its frame
    IPV4_CHECKSUM = 3,
    ROCE_MALFORMED = 4,     // truncated UDP or BTH, lengths that contradict, BTH version not 0
    PFC_MALFORMED = 5,      // MAC control that isn't PFC, wrong address, truncated
    UNKNOWN_ETHERTYPE = 6   // IPv6, ARP, LLDP, tags; frames too short for an ethertype
}

#endif
