/* What a network is made of: packets, links with their queues, switches and hosts with their ports, flows, samplers. */
#ifndef VN_MODEL_H
#define VN_MODEL_H

#include <stdio.h>

#include "events.h"
#include "internal.h"
#include "cache_lines.h"
#include "virtualnet.h"

enum { VN_ASKED = 8192 /* segments, or packets, of a flow under way at most, or their round trips are too short */ };
enum {
    VN_NONE = -1u,
    VN_STORED = 128, /* bytes of a frame, where programs don't run in place */
    VN_QUANTUM_BITS = 512,
    VN_HIGHEST_CLASS = 7,
    VN_AHEAD = 8, /* arrivals from the one whose packet is prefetched to the one that happens */
};

struct vn_fifo { uint32_t head, tail, packets; };

/* A frame: two cache lines where programs run in place. Of its bytes the first are stored, at vn_frame; the rest is
 * payload, all zero but for the ICRC. */
struct vn_packet {
    uint32_t next, flow;
    uint32_t in_link; /* the link it came into this switch by, first */
    uint16_t bytes;   /* of the frame, as it was at the last link or queue */
    bool data, inside; /* a data packet; flow control counts it as inside, by the link it came in by */
    uint32_t enq_timestamp, enq_qdepth;
    uint8_t bridged[SW_BRIDGED_BYTES];
} __attribute__((aligned(64)));

/* What follows where programs don't run in place; then PHV, headroom, frame. */
struct vn_plain { struct sw_packet p; uint32_t truncate_to; };

/* One class of a link: one cache line. Where the link starts, packets wait; where it ends, PFC counts what came in. */
struct vn_class {
    struct vn_fifo queue;
    uint32_t xoff, xon;
    bool lossless;               /* PFC counts it where the link ends */
    uint64_t queued_bytes;
    uint64_t paused_until;       /* by PFC's latest PAUSE, if the gate is closed */
    uint64_t held_bytes, held_max; /* inside: now, at most so far */
    uint64_t stopped_since;      /* when the far end was told to stop, VN_NEVER: it may send */
} __attribute__((aligned(64)));

/* Frames on their way, in a ring: in the order in which they arrive. `due`: when the last bit has. */
struct vn_sent { uint64_t due; uint32_t packet; };

/* One of a node's ports, all of them side by side: what arrives there. */
struct vn_side {
    uint64_t arrives; /* when the first frame on its way to it does that isn't listed; VN_NEVER: there is none */
    struct vn_sent *ring;
    uint32_t head, n, capacity; /* which is a power of two */
    uint32_t link;              /* from it; what arrives came over link ^ 1 */
    uint32_t node, from;        /* whose port it is; where that link starts */
    uint64_t delay;             /* of that link */
    uint16_t port;
    bool host;
};

/* One direction of a cable; link ^ 1 is the other one. It starts at a port with its queues. What every hop needs stands
 * in the first line. */
struct vn_link {
    uint64_t free; /* when the frame that is being sent has left */
    uint64_t delay;
    uint64_t packets, bytes; /* sent */
    uint32_t ps_per_byte;    /* 0: not a whole number, or too large */
    uint32_t far, node;      /* the side where it ends; where it starts */
    uint16_t port, slot;     /* slot: of VN_EV_PORT or VN_EV_NIC among that node's events */
    uint8_t waiting, closed, recirculating; /* classes: packets wait; the gate is closed; some were recirculated */
    bool host, up, pending, serving;  /* pending: a VN_EV_PORT is on its way */
    bool urgent, captured;            /* control isn't empty; there is a file */
    uint8_t last_class;               /* that left */

    FILE *capture __attribute__((aligned(64)));
    uint64_t rate_bps;
    struct vn_fifo control, arrived; /* PFC frames that go first, or CNPs; that haven't taken effect */
    uint32_t to;
    uint16_t to_port;
    bool to_host;
    uint8_t lossless; /* classes that PFC counts where the link ends */

    struct vn_class classes[VN_CLASSES];

    uint64_t refresh, pause, resume, paused_ps, refused, expired;
    uint16_t quanta;
    uint8_t mac[6];
    uint64_t limit[VN_CLASSES];      /* XOFF and the headroom: more can't be inside */
    uint64_t pause_sent[VN_CLASSES]; /* when the latest PAUSE of it was, VN_NEVER: none holds */
    uint64_t recirculated[VN_CLASSES]; /* until then the class waits for what was recirculated */
} __attribute__((aligned(64)));

/* What a NIC looks at of each of its flows for each frame, half a cache line. `next`: when the pacer lets the next frame go;
 * `eligible`: when PFC does, too; VN_NEVER: not before the flow's end. */
struct vn_turn { uint64_t next, end, eligible; uint32_t flow; uint8_t priority; };

/* What a NIC does next. index: of a flow, of its turns. */
struct vn_choice { uint64_t when; enum { VN_NOTHING, VN_START, VN_CONTROL, VN_END } what; uint32_t index; };

struct vn_node {
    struct sw_instance *instance; /* of a switch: its program, and links by port, VN_NONE */
    uint32_t *out;
    uint64_t digest;
    struct vn_side *sides;
    uint32_t n_sides;
    bool host;
    uint8_t ip[4];
    uint32_t link; /* of a host */
    struct vn_tournament events; /* its ports', a slot each; slot 0: the first of the others. What arrives isn't there */
    struct vn_queue others;
    struct vn_queue starts;      /* of flows that begin after all whose start is among the others: a list, see nic.c */
    uint32_t n_starting;         /* starts among them */
    uint64_t last_start;         /* the latest of these */
    bool unsorted;               /* the list */
    /* The NIC, see nic.c. */
    struct vn_turn *turns; /* of its flows, in order of their numbers */
    uint32_t n_turns, capacity;
    uint32_t last; /* the flow that sent last */
    uint64_t scheduled;
    struct vn_choice choice;
    struct sw_switch *sw;
    struct sw_register state; /* of a program with registers, the first one */
    struct sw_cache_lines lines; /* of its tables, of this generation */
    uint64_t table_generation;
} __attribute__((aligned(64)));

/* A flow, both ends of it. Hosts that have it in their turns are elsewhere before they come back to it, so what an event needs
 * stands together, in as few cache lines as can be. */
struct vn_flow {
    /* The sender: what a frame needs, ... */
    uint64_t packets, sent, sent_bytes, interval, base, due_bytes; /* packets: 0 if it has no end */
    uint64_t *asked; /* when the latest n_asked packets that ask for an acknowledgement had left; NULL if none does */
    uint16_t frame_bytes, last_frame_bytes;
    uint8_t priority;
    bool has_base;
    _Alignas(64) uint8_t data[VN_TEMPLATE_BYTES]; /* what frames begin with, as in vn_flow_config */
    uint8_t last_data[VN_TEMPLATE_BYTES];
    /* ... a start, a notice. */
    uint64_t start, end, ended, cnps_received;
    PyObject *rp;
    double rate_bps, limit_bps;
    uint32_t src, segment;

    /* The receiver: what arrives, ... */
    uint64_t window_end, window_first, received, received_bytes, received_payload, last;
    uint64_t missing; /* packets - received, beside what arrives; VN_NEVER: it has no end */
    uint32_t expected;
    uint16_t payload_bytes, last_payload_bytes;
    /* ... a window that ends, and the packets in it: what was counted when it began; */
    PyObject *np;
    uint64_t period, window_packets, window_bytes, window_ce, window_ue, marked_ce, marked_ue;
    /* a CNP, a first and a last packet. */
    uint64_t grid, phase, first, complete, cnps_sent, marked_from;
    uint32_t dst;
    uint16_t cnp_bytes, ack_bytes;
    uint8_t mark;      /* the worst since the last acknowledgement: 0, UE or CE */
    _Alignas(64) uint8_t cnp[VN_TEMPLATE_BYTES];
    uint8_t ack[VN_TEMPLATE_BYTES];
    uint64_t timer, out_of_order; /* seldom needed */
    uint32_t n_asked;
} __attribute__((aligned(64)));

struct vn_sampler {
    uint64_t every, n, capacity;
    uint32_t n_sources;
    struct vn_source_spec *sources;
    uint64_t *times;
    double *values;
};

#endif
