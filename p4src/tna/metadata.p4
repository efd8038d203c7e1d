// What the program remembers of a packet besides its headers. The traffic manager forgets all of it but the bridge, a
// header that ingress puts in front of the frame and egress takes off again.
//
// v1model twin: one struct for ingress and egress, and field lists of it that held packets and clones keep.

#ifndef PCN_TNA_METADATA_P4
#define PCN_TNA_METADATA_P4

#include "architecture.p4"
#include "../shared/constants.p4"

// Nanoseconds: the lowest bits of the switch's clock of 48. They wrap every 4.29 s.
typedef bit<32> time_ns_t;

header bridge_t {
    time_ns_t arrival;  // of the frame in the ingress pipeline
}

// What comes to egress where copies are made, see mirror.p4.
enum bit<8> kind_t {
    NEW = 0,     // a packet from ingress
    SAMPLE = 1,  // a copy of one that was sampled at its arrival
    CNM = 2      // a copy of one whose source is told
}

// In front of the bridge; copies have it alone.
header origin_t {
    kind_t          kind;
    bit<8>          feedback;
    @padding bit<7> pad;
    port_t          ingress_port;
    bit<32>         bytes;  // of a SAMPLE: what its input had admitted; of a CNM: the queue
}

struct ingress_metadata_t {
    bridge_t      bridge;
    class_t       class;
    bit<1>        discard;
    drop_reason_t reason;
    bool          checksum_error;

    // Where copies are made.
    origin_t      origin;
    kind_t        copy_kind;
    MirrorId_t    session;

    // Of QCN, see there.
    bit<16>       length;
    bit<32>       next_sample;
}

struct egress_metadata_t {
    bridge_t  bridge;
    class_t   class;

    // rest_config of its port and class.
    bit<1>    counts;     // its dequeue ends a rest of the port
    bit<1>    watched;    // PFC stops its class
    time_ns_t gap_bound;
    time_ns_t until;      // what silence of the port this dequeue explains

    // Of Rest, see there.
    time_ns_t now;
    time_ns_t waited;
    time_ns_t since;
    time_ns_t rest_age;
    time_ns_t waited_more;
    time_ns_t resume_age;

    // tcd_config of its port.
    bit<1>    has_states;
    time_ns_t look_until;  // until when a look now, or a RESUME, puts off the next one
    bit<1>    look_wraps;  // the clock wraps before
    bit<32>   empty;
    bit<32>   looks;

    // Of TCD, see there. Queues are in cells of the buffer.
    bit<32>   left;
    bit<32>   more_left;
    bit<2>    step;
    bit<8>    undetermined;
    bit<32>   missing;

    // Of RED, see there.
    bit<8>    curve;      // 0: none
    bit<1>    marks;
    bit<32>   last_draw;
    bit<32>   draw;
    bit<1>    drawn;
}

// In place of egress_metadata_t where copies are made.
struct copying_metadata_t {
    origin_t   origin;
    bridge_t   bridge;
    MirrorId_t session;

    // Of QCN, see there.
    bit<16>    length;
    bit<32>    next_sample;
}

#endif
