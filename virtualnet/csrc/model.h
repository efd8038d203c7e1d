/* The model of a network: packets, links with their queues, switches and hosts with their ports, flows, samplers. */
#ifndef VN_MODEL_H
#define VN_MODEL_H

#include <stdio.h>

#include "events.h"
#include "internal.h"
#include "cache_lines.h"
#include "pacing.h"
#include "virtualnet.h"

enum { VN_ACKREQS = 8192 /* most AckReq packets of a flow in flight; with more, measured round trips are too short */ };
enum {
    VN_NONE = -1u,
    VN_STORED = 128, /* bytes of a frame that are stored where programs don't run in place */
    VN_HIGHEST_CLASS = 7,
    VN_AHEAD = 8, /* a packet is prefetched so many arrivals before its own */
};

struct vn_fifo {
    uint32_t head, tail, packets;
};
/* What protects a class where a link ends; for a packet, by what it is counted in its link's ingress occupancy. */
enum vn_flow_control {
    VN_LOSSY, /* nothing; not counted */
    VN_PFC,
    VN_CREDITS,
    VN_OWN, /* a packet that the switch made: not counted with credits, which nobody has used for it */
};
struct vn_lanes;  /* see credit.c */
struct vn_faults; /* see faults.c */
struct vn_inputs; /* see round_robin.h */
struct vn_output; /* see fabric.c */

/* A frame: two cache lines where programs run in place. Only its first bytes are stored, at vn_frame; the rest is payload, zeros
 * and the ICRC. */
struct vn_packet {
    uint32_t next, flow;
    uint32_t in_link;  /* the link by which it came into this switch */
    uint16_t bytes;    /* length of the frame at the last link or queue */
    bool data;          /* a data packet */
    uint8_t counted;    /* enum vn_flow_control: whether in the ingress occupancy of in_link */
    union {
        struct {
            uint32_t enq_timestamp, enq_qdepth;
        };
        struct {
            uint32_t class, ingress_bytes; /* once a fabric has taken it: its class; what it is counted with. On a link with
                                            * credits: its class */
        };
    };
    uint8_t bridged[SW_BRIDGED_BYTES];
} __attribute__((aligned(64)));

/* Where programs don't run in place, this, the PHV, headroom and the frame follow a vn_packet. */
struct vn_phv_packet {
    struct sw_packet p;
    uint32_t truncate_to;
};

/* One class of a link, in one cache line: the output queue where the link starts, the ingress occupancy (the bytes of the class
 * that came in over the link and haven't left the switch) where it ends. Of the link by which a packet came, its hop seldom
 * needs another one. */
struct vn_class {
    struct vn_fifo queue;
    uint32_t xoff, xon;
    uint8_t lossless;            /* enum vn_flow_control: what protects it where the link ends */
    bool overruns;               /* PAUSE that stops it may be lost or late: see faults.c */
    uint64_t queued_bytes;
    uint64_t paused_until;       /* by the latest PAUSE, if the gate is closed */
    uint64_t held_bytes, held_max; /* the ingress occupancy; its maximum */
    uint64_t xoff_since;         /* when XOFF was passed; VN_NEVER: a RESUME was queued since */
} __attribute__((aligned(64)));

/* A frame in flight; a ring holds them in the order of arrival. `due`: when the last bit has arrived. */
struct vn_in_flight {
    uint64_t due;
    uint32_t packet;
};

/* The receive side of a port. Those of a node are contiguous. */
struct vn_rx_port {
    uint64_t next_arrival; /* of the first frame in flight that order.c hasn't listed yet; VN_NEVER: none */
    struct vn_in_flight *ring;
    uint32_t head, n, capacity; /* of the ring; the capacity is a power of two */
    uint32_t out_link;          /* the link that starts at this port; frames arrive over out_link ^ 1 */
    uint32_t node, from;        /* the port's node; its neighbour, where out_link ^ 1 starts */
    uint64_t delay;             /* of out_link ^ 1 */
    uint16_t port;
    bool host, special; /* special: out_link ^ 1 has credits or faults */
};

/* One direction of a cable; link ^ 1 is the other one. It starts at a port with its queues. The first cache line has what
 * every hop needs. */
struct vn_link {
    uint64_t free_at; /* when the frame being sent has left completely */
    uint64_t delay;
    uint64_t packets, bytes; /* sent */
    uint32_t ps_per_byte;    /* 0: no whole number, or too large */
    uint32_t rx_port, node;  /* the receive port where it ends; the node where it starts */
    uint16_t port, slot;     /* where it starts; its slot in the node's tournament, for VN_EV_PORT or VN_EV_NIC */
    uint8_t waiting, closed, recirculating; /* bit masks of classes: packets wait; gate closed; see blocked_until */
    bool host, up, pending, serving;  /* pending: a VN_EV_PORT is scheduled; serving: vn_port_serve is running */
    bool has_control, captured;       /* `control` isn't empty; `capture` is set */
    bool round_robin;                 /* the scheduler: round robin over `inputs`, or FIFO */
    bool fabric;                      /* behind the scheduler there is a fabric and an `output` buffer */
    uint8_t last_class;               /* class of the latest departure */
    bool credits;                     /* flow control by credits: `lanes` is set */

    FILE *capture __attribute__((aligned(64)));
    struct vn_inputs *inputs; /* the queues of each input; of a class's `queue`, only `packets` is then used. NULL with FIFO */
    struct vn_output *output; /* NULL: packets leave from the scheduler */
    struct vn_lanes *lanes;   /* NULL: no credits */
    struct vn_faults *faults; /* NULL: none yet */
    uint64_t rate_bps;
    struct vn_fifo control; /* sent first: flow-control frames, CNPs, ACKs */
    struct vn_fifo arrived; /* flow-control frames that await the response time ... */
    uint64_t effect_at;     /* ... and when the last one of them takes effect */
    uint32_t to;
    uint16_t to_port;
    bool to_host;
    uint8_t lossless; /* bit mask of the classes that PFC protects where the link ends */

    struct vn_class classes[VN_CLASSES];

    uint64_t refresh, pause[VN_CLASSES], resume, paused_ps, refused, expired;
    uint64_t fc_packets, starved_ps; /* with credits, see vn_link_stats */
    uint64_t lost, repeated, overrun;
    uint16_t quanta;
    uint8_t mac[6];
    uint64_t limit[VN_CLASSES];      /* XOFF plus headroom, or the buffer: the most that the ingress occupancy can be */
    uint64_t pause_sent[VN_CLASSES]; /* when the latest PAUSE was queued; VN_NEVER: RESUME was since */
    uint64_t blocked_until[VN_CLASSES]; /* until then the class can't send: a packet of it was recirculated */
} __attribute__((aligned(64)));

struct vn_node {
    struct sw_instance *instance; /* of a switch: its program ... */
    uint32_t *out;                /* ... and the link that starts at each port, or VN_NONE */
    uint64_t digest;
    struct vn_rx_port *rx_ports;
    uint32_t n_ports;
    bool host;
    uint8_t ip[4];
    uint32_t link; /* of a host */
    struct vn_tournament events; /* a slot per port; slot 0: the first of `others`. Arrivals are listed (order.c) */
    struct vn_event_queue others;      /* events other than arrivals, VN_EV_PORT and VN_EV_NIC */
    struct vn_event_queue starts;      /* flow starts that aren't in `others` yet: a list, see nic.c */
    uint32_t n_starting;         /* flow starts in `others` */
    uint64_t last_start;         /* the latest of these */
    bool unsorted;               /* `starts` isn't in order */
    /* The NIC, see nic.c. */
    struct pacing_flow *tx_flows; /* their numbers are the flows' */
    uint32_t n_tx_flows, capacity;
    uint32_t last; /* the flow that sent last */
    uint64_t scheduled; /* the time of its VN_EV_NIC; VN_NEVER: none */
    struct pacing_choice choice;
    struct sw_switch *sw;
    struct sw_register reg; /* the program's first register, for prefetching; zero: it has none */
    struct sw_cache_lines lines; /* of its tables, as of table_generation */
    uint64_t table_generation;
    bool round_robin; /* of a switch: the scheduler of its links */
    struct vn_fabric_config fabric; /* of a switch; no buffer_bytes: it has no fabric */
} __attribute__((aligned(64)));

/* A flow, both ends of it. By the time of its next event it has been evicted from the caches, so the fields that one event needs
 * share few cache lines. */
struct vn_flow {
    /* Sender, for each frame. */
    uint64_t packets, sent, sent_bytes, interval, base, due_bytes; /* packets: 0 if it has no end; base: see pacing.h */
    uint64_t *ackreqs; /* departure times of the last n_ackreqs packets with AckReq; NULL: no packet has it */
    uint16_t frame_bytes, last_frame_bytes;
    uint8_t priority;
    bool needs_rec_rate; /* for each CNP */
    _Alignas(64) uint8_t data[VN_TEMPLATE_BYTES]; /* templates, see vn_flow_config */
    uint8_t last_data[VN_TEMPLATE_BYTES];
    /* Sender, at the start and for each notification. */
    uint64_t start, end, ended, cnps_received;
    PyObject *rp;
    double rate_bps, limit_bps;
    uint32_t src, segment;

    /* Receiver, for each data packet. */
    uint64_t window_end, window_first, received, received_bytes, received_payload, last;
    uint64_t missing; /* packets - received; VN_NEVER: the flow has no end */
    uint32_t expected; /* PSN */
    uint16_t payload_bytes, last_payload_bytes;
    /* Receiver, at a window's end. window_*: totals at its start. */
    PyObject *np;
    uint64_t period, window_packets, window_bytes, window_ce, window_ue, marked_ce, marked_ue;
    /* Receiver, for a CNP, the first and the last packet. grid: the start of a window; the others are whole periods later. */
    uint64_t grid, phase, first, complete, cnps_sent;
    uint64_t marked_from; /* from then on the NP's on_marked is called; VN_NEVER: it has none */
    uint32_t dst;
    uint16_t cnp_bytes, ack_bytes;
    uint8_t mark;      /* the worst mark since the last ACK: 0, UE or CE */
    _Alignas(64) uint8_t cnp[VN_TEMPLATE_BYTES];
    uint8_t ack[VN_TEMPLATE_BYTES];
    uint64_t timer, out_of_order, lost; /* seldom needed */
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
