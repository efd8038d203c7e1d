/* Owns packets: their memory, and for whom those are counted that go no further. A packet's place
 * is its owner's until it frees it. */
#ifndef VN_POOL_H
#define VN_POOL_H

#include "base.h"
#include "packet.h"
#include "register.h"

enum {
    VN_TEMPLATE_BYTES = 64,
    VN_MOST_PACKETS = 1 << 22, /* in a network, unless it is large: vn_most_packets */
    /* bytes of a frame that are stored where programs don't run in place, unless frames are stored
     * whole */
    VN_STORED = 128,
};

/* Cache lines of a packet that are observers': its last ones, one each. */
enum {
#define VN_OBSERVER(name) VN_LINE_OF_##name,
    VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER
        VN_OBSERVED_LINES
};

/* Of a packet: whether it is its flow's data, which counts there, if it is lost; and whether it was
 * trimmed where it waits. */
enum vn_data { VN_NOT_DATA, VN_WHOLE, VN_TRIMMED };

/* A frame: two cache lines where programs run in place, three where it has telemetry. Only its
 * first bytes are stored, at vn_frame; the rest is payload, zeros and the ICRC. */
struct vn_packet {
    uint32_t next;
    uint32_t flow; /* whose it is, or was cloned from; VN_NONE: nobody's */
    uint32_t in_link; /* the link by which it came into this switch */
    uint16_t bytes; /* length of the frame at the last link or queue */
    uint8_t data; /* enum vn_data */
    uint8_t counted; /* enum vn_flow_control: whether in the ingress occupancy of in_link */
    union {
        struct {
            uint32_t enq_timestamp, enq_qdepth;
        };
        struct {
            /* once a fabric has taken it: its class; what it is counted with. On a link with
             * credits: its class */
            uint32_t class, ingress_bytes;
        };
    };
    union {
        uint8_t bridged[SW_BRIDGED_BYTES];
        struct {
            /* VN_LENT: the switch's packet (NULL: none), and its frame: as it came in, and from its
             * egress on as it leaves */
            struct sw_pkt *lent;
            uint8_t *frame;
        };
    };
    uint64_t stamp; /* of the endpoint whose flow's it is, if that sets it */
} __attribute__((aligned(64)));

/* Of the network: where packets are. */
struct vn_pool {
    uint8_t *base;
    uint32_t lines; /* cache lines of a packet */
    /* in a packet: the frame's offset, and how many of its bytes are stored */
    uint32_t frame_at, stored;
    /* of a frame, at least so many bytes are stored: those that a program or an endpoint may
     * need */
    uint32_t depth;
    uint32_t whole; /* frames are stored whole, and have at most so many bytes; 0: they aren't */
    /* all programs have the form that leaves the frame in place (softswitch/codegen/inplace.py) */
    bool inplace;
    uint32_t phv_size, headroom; /* where they haven't: of the largest program */
    struct sw_pool *lender; /* VN_LENT: whose packets they are */
    uint32_t most_packets;
    uint32_t limit; /* 0: as many as a network may have; see vn_most_packets */
    uint64_t *lost; /* by flow: its data that went no further */
    uint32_t n_lost;
    struct vn_depot *depot; /* packets that are no context's */
};

/* Of a context: packets that it may take, and counts of those in use. Packets move between
 * contexts, so of one alone the counts may be below zero. */
struct vn_packets {
    uint32_t free; /* the first of a list; VN_NONE: it is empty */
    uint32_t spare; /* another list, VN_LIST long; VN_NONE: there is none */
    int32_t in_use, full_at; /* full_at: the list is VN_LIST long when so many are in use */
    int32_t most_in_use;
    int32_t flow_control; /* of those in use: flow control packets of credits, on their way */
};

#endif
