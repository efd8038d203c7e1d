// What the program remembers of a packet besides its headers, and which of it survives where v1model
// forgets: a clone and a recirculated packet start with all metadata zero, but for their field list.
//
// TNA twin: ingress and egress metadata are apart there. What crosses the traffic manager becomes a bridged header. There
// are no field lists: copies get a header of their own (mirror.p4), and no packet is held.

#ifndef PCN_V1MODEL_METADATA_P4
#define PCN_V1MODEL_METADATA_P4

#include "../shared/constants.p4"

// standard_metadata.instance_type, which v1model doesn't name.
const bit<32> INSTANCE_INGRESS_CLONE = 1;
const bit<32> INSTANCE_EGRESS_CLONE = 2;
const bit<32> INSTANCE_RECIRCULATED = 4;

#ifdef COUNTS_CREDITS
// IEEE 802's local experimental EtherType 1; here of InfiniBand's flow control packets (Architecture 1.2.1, 7.9), of which
// what stands before their CRC follows the Ethernet header.
const bit<16> ETHERTYPE_FLOW_CONTROL = 0x88b5;
#endif

// Field lists: of a packet that a paused port holds, of a PFC frame to be, and of a CNM to be.
const bit<8> LIST_HELD = 1;
const bit<8> LIST_PFC = 2;
const bit<8> LIST_CNM = 3;

enum bit<2> kind_t {
    NEW = 0,   // from an interface, in its first pass
    HELD = 1,  // admitted, met a paused port at least once
    PFC = 2,   // becomes a PFC frame
    CNM = 3    // a CNM, made here: forwarded as if it were new, and cut to its length when it leaves
}

// Source, destination, queue pair.
typedef bit<88> flow_t;
// The number of a packet in the array of what an ingress port has inside.
typedef bit<10> slot_t;

struct metadata_t {
    // A foreign frame can't set these: they are zero unless the switch itself recirculated the packet.
    @field_list(LIST_HELD, LIST_PFC, LIST_CNM) kind_t kind;
    // Where the packet came in first; a PFC frame leaves there.
    @field_list(LIST_HELD, LIST_PFC, LIST_CNM) port_t ingress_port;
    @field_list(LIST_HELD, LIST_PFC) class_t class;
    @field_list(LIST_HELD) port_t egress_port;

    bit<1>        discard;
    drop_reason_t reason;

    // pfc_config of ingress_port.
    bit<1>    pfc_enabled;
    bit<8>    lossless;         // classes, a bit each
    bit<1>    is_lossless;      // this packet's class is
    bit<32>   xoff_bytes;
    bit<32>   xon_bytes;
    bit<16>   quanta;           // of our PAUSE frames
    bit<32>   quantum_q16_us;   // a quantum at this port's speed, us * 65536
    time_us_t refresh_us;

    // At its admission a packet of its class waited at its egress port. A packet that was held has forgotten it.
    bit<1>    found_waiting;
    bit<1>    admitted;        // in this pass
    // NP-ECN by time: when it was first enqueued at its egress port (us), and whether others of its class waited then.
    @field_list(LIST_HELD) bit<32> enqueued_at;
    @field_list(LIST_HELD) bit<1>  found_queue;
    // In its port and class once it was admitted. Where CNMs are made, clones take it along, with the feedback and the flow
    // that is told.
    @field_list(LIST_CNM) bit<32> queue_bytes;
    @field_list(LIST_CNM) bit<6>  feedback;
    @field_list(LIST_CNM) flow_t  culprit;
    // Of its ingress port and class, as inside.p4 has it: bytes inside, and whether its neighbour was told to pause.
    bit<32> inside_bytes;
    bit<1>  inside_paused;
    // In the array of packets that an ingress port has inside.
    @field_list(LIST_HELD) slot_t slot;
    @field_list(LIST_HELD) bit<1> has_slot;
    // Among its flow's bytes inside.
    @field_list(LIST_HELD) bit<1> flow_counted;

#ifdef COUNTS_CREDITS
    // A flow control packet, and its four bytes: operation 4 bits, FCTBS 12, lane 4, FCCL 12.
    bit<1>  is_flow_control;
    bit<32> flow_control;
#endif

    // Verdicts of egress.
    bit<1>  hold;     // the port is paused for this class
    bit<1>  departs;  // leaves by egress_port: marking points apply
    bit<1>  marked;   // by NP-ECN by time
    bit<32> pn;       // before this departure
    bit<32> left_bytes;  // that wait in its port and class when it has departed
#ifdef TELLS_RESUME
    time_us_t resumed_at;  // if this is the first departure since a RESUME, otherwise 0
#endif
    bit<1>  send_pfc; // a PAUSE or RESUME is due out of ingress_port
}

#endif
