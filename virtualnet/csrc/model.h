/* The model of a network: packets, links with their queues, switches and hosts with their ports, flows, samplers. */
#ifndef VN_MODEL_H
#define VN_MODEL_H

#include <stdio.h>

#include "events.h"
#include "internal.h"
#include "cache_lines.h"
#include "virtualnet.h"

enum { VN_ACKREQS = 8192 /* packets with AckReq of one flow in flight at most; of more, measured round trips are too short */ };
enum {
    VN_NONE = -1u,
    VN_STORED = 128, /* bytes of a frame that are stored where programs don't run in place */
    VN_QUANTUM_BITS = 512,
    VN_HIGHEST_CLASS = 7,
    VN_AHEAD = 8, /* arrivals between a packet's prefetch and its arrival */
};

struct vn_fifo { uint32_t head, tail, packets; };

/* A frame: two cache lines where programs run in place. Its first bytes are stored, at vn_frame; the rest is payload, zeros
 * and the ICRC. */
struct vn_packet {
    uint32_t next, flow;
    uint32_t in_link;  /* the link by which it came into this switch */
    uint16_t bytes;    /* length of the frame at the last link or queue */
    bool data, inside; /* a data packet; flow control counts it in the occupancy of in_link */
    uint32_t enq_timestamp, enq_qdepth;
    uint8_t bridged[SW_BRIDGED_BYTES];
} __attribute__((aligned(64)));

/* Where programs don't run in place, this follows; then PHV, headroom, frame. */
struct vn_plain { struct sw_packet p; uint32_t truncate_to; };

/* One class of a link, in one cache line: the output queue where the link starts, PFC's account of the input where it ends. */
struct vn_class {
    struct vn_fifo queue;
    uint32_t xoff, xon;
    bool lossless;               /* PFC protects it where the link ends */
    uint64_t queued_bytes;
    uint64_t paused_until;       /* by PFC's latest PAUSE, if the gate is closed */
    uint64_t held_bytes, held_max; /* occupancy: bytes that came in over the link and are inside, now and at most so far */
    uint64_t stopped_since;      /* when the far end was told to stop, VN_NEVER: it may send */
} __attribute__((aligned(64)));

/* A frame in flight; a ring holds them in the order of arrival. `due`: when the last bit has arrived. */
struct vn_in_flight { uint64_t due; uint32_t packet; };

/* The receive side of one of a node's ports; a node's are contiguous. */
struct vn_rx_port {
    uint64_t next_arrival; /* of the first frame in flight that isn't listed (order.c) yet; VN_NEVER: there is none */
    struct vn_in_flight *ring;
    uint32_t head, n, capacity; /* of the ring; the capacity is a power of two */
    uint32_t link;              /* that starts at this port; frames arrive over link ^ 1 */
    uint32_t node, from;        /* the port's node; the neighbour, where link ^ 1 starts */
    uint64_t delay;             /* of link ^ 1 */
    uint16_t port;
    bool host;
};

/* One direction of a cable; link ^ 1 is the other one. It starts at a port with its queues. The first cache line has what
 * every hop needs. */
struct vn_link {
    uint64_t free; /* when the frame that is being sent has left completely */
    uint64_t delay;
    uint64_t packets, bytes; /* sent */
    uint32_t ps_per_byte;    /* 0: not a whole number, or too large */
    uint32_t rx_port, node;  /* where it ends; the node where it starts */
    uint16_t port, slot;     /* of that node; slot: of VN_EV_PORT or VN_EV_NIC in its tournament */
    uint8_t waiting, closed, recirculating; /* bit masks of classes: packets wait; the gate is closed; packets were recirculated */
    bool host, up, pending, serving;  /* pending: a VN_EV_PORT is on its way */
    bool urgent, captured;            /* `control` isn't empty; `capture` is set */
    uint8_t last_class;               /* the class of the last departure */

    FILE *capture __attribute__((aligned(64)));
    uint64_t rate_bps;
    struct vn_fifo control, arrived; /* sent first: PFC frames, or a host's CNPs; PFC frames that wait for the response time */
    uint32_t to;
    uint16_t to_port;
    bool to_host;
    uint8_t lossless; /* bit mask of the classes that PFC protects where the link ends */

    struct vn_class classes[VN_CLASSES];

    uint64_t refresh, pause, resume, paused_ps, refused, expired;
    uint16_t quanta;
    uint8_t mac[6];
    uint64_t limit[VN_CLASSES];      /* XOFF and the headroom: more can't be inside */
    uint64_t pause_sent[VN_CLASSES]; /* when the latest PAUSE of it was, VN_NEVER: none holds */
    uint64_t recirculated[VN_CLASSES]; /* until then the class waits for what was recirculated */
} __attribute__((aligned(64)));

/* A flow's entry in the NIC's round robin, half a cache line. `next`: when the pacer lets the next frame go; `eligible`: when
 * the gate does, too; VN_NEVER: not before the flow's end. */
struct vn_tx_flow { uint64_t next, end, eligible; uint32_t flow; uint8_t priority; };

/* What a NIC does next. index: of a flow, in tx_flows. */
struct vn_choice { uint64_t when; enum { VN_NOTHING, VN_START, VN_CONTROL, VN_END } what; uint32_t index; };

struct vn_node {
    struct sw_instance *instance; /* of a switch: its program ... */
    uint32_t *out;                /* ... and the link that starts at each port, or VN_NONE */
    uint64_t digest;
    struct vn_rx_port *rx_ports;
    uint32_t n_ports;
    bool host;
    uint8_t ip[4];
    uint32_t link; /* of a host */
    struct vn_tournament events; /* a slot for each port; slot 0: the first of `others`. Arrivals aren't in it */
    struct vn_queue others;
    struct vn_queue starts;      /* of flows that start after those in `others`: a list, see nic.c */
    uint32_t n_starting;         /* flow starts in `others` */
    uint64_t last_start;         /* the latest of these */
    bool unsorted;               /* the list `starts` */
    /* The NIC, see nic.c. */
    struct vn_tx_flow *tx_flows; /* in order of the flows' numbers */
    uint32_t n_tx_flows, capacity;
    uint32_t last; /* the flow that sent last */
    uint64_t scheduled;
    struct vn_choice choice;
    struct sw_switch *sw;
    struct sw_register state; /* the program's first register, if it has any */
    struct sw_cache_lines lines; /* of its tables, of this generation */
    uint64_t table_generation;
} __attribute__((aligned(64)));

/* A flow, both ends of it. By the time of its next event it has been evicted from the caches, so the fields that one event needs
 * stand together, in few cache lines. */
struct vn_flow {
    /* The sender: what a frame needs, ... */
    uint64_t packets, sent, sent_bytes, interval, base, due_bytes; /* packets: 0 if it has no end */
    uint64_t *ackreqs; /* departure times of the last n_ackreqs packets with AckReq; NULL: no packet has it */
    uint16_t frame_bytes, last_frame_bytes;
    uint8_t priority;
    bool has_base;
    _Alignas(64) uint8_t data[VN_TEMPLATE_BYTES]; /* what frames begin with, as in vn_flow_config */
    uint8_t last_data[VN_TEMPLATE_BYTES];
    /* ... a start, a notification. */
    uint64_t start, end, ended, cnps_received;
    PyObject *rp;
    double rate_bps, limit_bps;
    uint32_t src, segment;

    /* The receiver: what arrives, ... */
    uint64_t window_end, window_first, received, received_bytes, received_payload, last;
    uint64_t missing; /* packets - received, kept beside `received`; VN_NEVER: the flow has no end */
    uint32_t expected;
    uint16_t payload_bytes, last_payload_bytes;
    /* ... a window's end: totals as they were at its start; */
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
    uint32_t n_ackreqs;
} __attribute__((aligned(64)));

struct vn_sampler {
    uint64_t every, n, capacity;
    uint32_t n_sources;
    struct vn_source_spec *sources;
    uint64_t *times;
    double *values;
};

#endif
