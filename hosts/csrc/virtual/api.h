/* The API of the RDMA endpoint: flows, their RPs and NPs. As virtualnet/csrc/virtualnet.h, for
 * ctypes. */
#ifndef VN_RDMA_API_H
#define VN_RDMA_API_H

#include "frames/pool.h"
#include "virtual/python.h"
#include "virtualnet.h"

struct vn_context;

/* Tuples of hosts/algorithms/base.py: its classes Window, Cnp, Cnm, Ack, Loss, Telemetry, Hop,
 * Demand, Grant, its Marks by ECN value, and its Turns; they must outlive the network. 0, or a
 * negative errno. */
int vn_rdma(struct vn_context *, PyObject *classes, PyObject *marks, PyObject *turns);

/* For the next vn_run. on_window, if not None, is called after each NP's on_window, with (flow,
 * now_s, window, cnp); on_rate after each method of an RP, with (flow, now_s). on_failure, where
 * the run survives (vn_survive), with (flow, now_s, of_np, error) for what an RP or NP raised, or
 * what was called after it: that RP's flow is stopped, that NP isn't called any more. `flow` is the
 * item of the sequence `flows` at the flow's index; an NP in C is its attribute np then. */
void vn_rdma_calls(struct vn_context *, PyObject *flows, PyObject *on_window, PyObject *on_rate,
                   PyObject *on_failure);

enum { VN_NO_GROUP = UINT32_MAX };

/* What many flows have in common. */
struct vn_flow_kind {
    uint8_t priority;
    uint8_t wants_marked; /* the NP has on_marked */
    uint8_t needs_rec_rate; /* the RP wants no CNP without RecRate */
    uint8_t reliability; /* enum reliability of reliable.h */
    uint8_t avoids; /* paths.h: ports of marked packets */
    uint8_t exact_marks; /* an acknowledgement goes at each change between CE and no CE */
    /* the NP does: templates have WIRE_HAS_CREDIT, and the engine writes demands and grants */
    uint8_t grants;
    /* where `data` has room for telemetry, acknowledgements have it, too */
    uint16_t cnp_bytes, ack_bytes;
    uint32_t frame_bytes, last_frame_bytes, payload_bytes, last_payload_bytes;
    /* packets from AckReq to AckReq; 0: no packet has it, but those that fill the window */
    uint32_t every;
    uint64_t period_ps; /* of the NP's windows; 0: none */
    uint64_t timeout_ps,
        /* reliability: the retransmission timer; how much later what overtakes a lost packet
         * left */
        reordering_ps;
    uint64_t gap_ps; /* of flowlets; 0: each packet is one */
    /* Templates, the first bytes of frames, all ECT(0); data, last: a data packet and the flow's
     * last one. The engine writes ends and flow, PSN, AckReq, mark and RecRate; whose they are is
     * left open. An `ack` of zeros: none. */
    uint8_t data[VN_TEMPLATE_BYTES], last[VN_TEMPLATE_BYTES], cnp[VN_TEMPLATE_BYTES],
        ack[VN_TEMPLATE_BYTES];
};

struct vn_flow_config {
    const struct vn_flow_kind *kind;
    /* UDP source ports of a flow with several paths, n_ports; 0 or 1: it has one */
    const uint16_t *ports;
    /* struct reaction_point, of an RP in C, in memory of what is given beside it; NULL: the RP runs
     * in Python */
    void *compiled;
    void *np_in_c; /* struct notification_point, likewise */
    uint64_t packets; /* 0: no end */
    uint64_t start_ps, end_ps; /* start_ps VN_NEVER: it waits for others, see vn_flow_after */
    uint64_t phase_ps; /* from the start of an NP's window to the first packet */
    uint64_t timer_ps, due_bytes; /* the RP's first timer and byte counter; VN_NEVER: none */
    uint64_t demand_bytes; /* its first demand */
    double rate_bps, limit_bps; /* limit_bps: the largest rate, whatever the RP sets */
    double window_bytes; /* INFINITY: none, and it stays so if `every` is 0 */
    /* links: by which data leaves the sender, and CNPs and ACKs the receiver */
    uint32_t port, back_port;
    /* that it counts in: from 0, at most the number of groups so far; VN_NO_GROUP: none */
    uint32_t group;
    uint32_t number; /* on the wire its QP has it, and its UDP source port the last 14 bits */
    uint32_t n_ports;
    uint8_t src_mac[6], dst_mac[6];
};
_Static_assert(sizeof(struct vn_flow_config) == 144,
               "hosts/virtual/native.py packs it field by field");
/* Flows that start now or later, and lists of what their algorithms live in: an RP or NP in Python
 * itself, what has the memory of one in C. Returns how many are added, in
 * order: the first ones; where that isn't all, vn_error has the reason. A flow's index is the
 * number of those before it. */
uint32_t vn_add_flows(struct vn_context *, const struct vn_flow_config *, uint32_t n, PyObject *rps,
                      PyObject *nps);
/* `flow`, added with the start VN_NEVER, starts at the latest of `least_ps` and, of each flow that
 * it waits for, which `other` is one more of, `delay_ps` after it has arrived whole; unless
 * `back_ps` is VN_NEVER, after its sender has the last acknowledgement, or, where the last packet
 * has none, `back_ps` later than it has arrived. Its RP's on_start is called then. */
int vn_flow_after(struct vn_context *, uint32_t flow, uint32_t earlier, uint64_t delay_ps,
                  uint64_t back_ps, uint64_t least_ps);
uint32_t vn_flow_bytes(const struct vn_context *); /* of a flow in memory, of any network or none */
int vn_stop_flow(struct vn_context *, uint32_t flow);
/* Before the first flow: how long a receiver takes to make a CNP, from its NP's decision until it
 * waits for its line. */
int vn_set_cnp_delay(struct vn_context *, uint64_t delay_ps);
/* Before the first flow: the tick of the clock by which switches stamp telemetry. */
int vn_set_telemetry_tick(struct vn_context *, double tick_s);
/* The flow's data leaves by another port of its sender from now on, CNPs and ACKs by one of its
 * receiver; what waits at the old ones stays there. */
int vn_flow_ports(struct vn_context *, uint32_t flow, uint32_t port, uint32_t back_port);
/* CNPs and ACKs that wait at a host's port go to the ports by which those of their flows leave
 * now. */
int vn_move_notifications(struct vn_context *, uint32_t port);

struct vn_flow_stats {
    uint64_t sent, sent_bytes, sent_payload; /* packets; bytes of frames; payload */
    uint64_t received, received_bytes, received_payload, marked_ce, marked_ue, out_of_order;
    uint64_t lost; /* packets: by faults, programs, full queues */
    uint64_t cnps_sent, cnps_received; /* received: CNMs, too */
    uint64_t start_ps, ended_ps, first_ps, last_ps, complete_ps; /* VN_NEVER: not yet */
    double rate_bps, window_bytes; /* window_bytes: INFINITY, if it has none */
    uint64_t in_flight_bytes; /* 0 if no packet requests acknowledgements */
    /* packets among `sent`; how often the retransmission timer ran out */
    uint64_t repeated, timeouts;
    /* packets not among `received`: that had come before; that came out of order, with go-back-N */
    uint64_t again, refused;
};
/* Of `n` flows from `flow` on. */
int vn_flow_stats(const struct vn_context *, uint32_t flow, uint32_t n, struct vn_flow_stats *);

/* Measures the latency of each data packet that leaves from now on: from when its first bit left
 * the sender's NIC until it has arrived whole. vn_latency: how many packets of a class there are by
 * latency, of VN_LATENCY_BUCKETS buckets; bucket i, from VN_LATENCY_STEPS on, begins at
 * (VN_LATENCY_STEPS + i % VN_LATENCY_STEPS) << (i / VN_LATENCY_STEPS - 1) ns, those before it at i
 * ns. NULL: not measured. */
enum { VN_LATENCY_STEPS = 64, VN_LATENCY_BUCKETS = 40 * VN_LATENCY_STEPS };
int vn_measure_latency(struct vn_context *);
const uint64_t *vn_latency(struct vn_context *, uint32_t class);

/* What a sampler records of a flow, the object: beside enum vn_source. With `number` VN_OF_GROUP
 * the object is a group, and the value the sum over its flows: sent bytes, and what is received. */
enum { VN_OF_GROUP = 1 };
enum vn_flow_source {
    VN_FLOW_RATE = VN_OF_ENDPOINTS, /* bit/s */
    VN_FLOW_SENT_BYTES, /* of frames that have started */
    VN_FLOW_RECEIVED_PAYLOAD,
    VN_FLOW_RECEIVED_PACKETS,
    VN_FLOW_MARKED_PACKETS, /* marked CE, of those received */
    VN_FLOW_MARKED_UE_PACKETS, /* likewise UE */
    /* bytes of frames that have started, and aren't acknowledged; 0 where no packet requests it */
    VN_FLOW_IN_FLIGHT,
    VN_FLOW_WINDOW, /* bytes; infinite: none */
};

#endif
