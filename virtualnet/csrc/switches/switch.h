/* Owns what a switch is beside its links: its program, entries and state (softswitch/csrc),
 * which link starts at each port, its scheduler and its fabric. It may touch links, their gates
 * and flow control, packets and the order of events; it knows neither hosts nor what frames are
 * for. It promises that packets leave a class in the scheduler's order, and that a lossless
 * class refuses none.
 *
 * A packet's way: hop.c (through a program in place) or phv.c (through any), port.c's admission,
 * scheduler.h, port.c or fabric.c. */
#ifndef VN_SWITCH_H
#define VN_SWITCH_H

#include "cache_lines.h"
#include "internal.h"
#include "links/gate.h"
#include "trim.h"

struct vn_switch {
    struct sw_instance *instance; /* its program ... */
    uint32_t *out; /* ... and the link that starts at each port, or VN_NONE */
    struct sw_switch *sw;
    struct sw_register reg; /* the program's first register, for prefetching; zero: it has none */
    /* by port and class, which it counts up in ingress; no cells: it has none */
    struct sw_register waiting_packets, waiting_bytes;
    struct sw_cache_lines lines; /* of its tables, as of table_generation */
    uint64_t table_generation;
    const struct vn_scheduler *scheduler; /* of its links; NULL: FIFO */
    struct vn_fabric_config fabric; /* no buffer_bytes: it has none */
    struct vn_shared_buffer *shared; /* NULL: each class of a port has its own thresholds */
    uint64_t latency; /* from a frame's arrival to its ingress */
    uint64_t called; /* when it was last called */
    /* the number of Python's function for packet-ins and digests; VN_NONE: there is none */
    uint32_t call;
    bool cuts_through;
};
_Static_assert(sizeof(struct vn_switch) <= VN_NODE_STATE, "a node has room for it");

static inline struct vn_switch *vn_switch_of(struct vn_node *node)
{
    return (struct vn_switch *)(void *)node->state;
}

/* Picoseconds in ticks of the clock that the program reads. */
static inline uint64_t vn_ticks_of(const struct sw_instance *instance, uint64_t ps)
{
    return ps / (instance->tick_ns * 1000u);
}

struct vn_scheduler;
struct vn_output;
struct vn_weights;
struct vn_watchdog;

/* What a switch keeps of a port: link.h's `own` ... */
struct vn_port {
    uint8_t last_class; /* class of the latest departure; see port.c's is_idle */
    uint8_t recirculating; /* bit mask of classes: see blocked_until */
    uint8_t resting; /* likewise: see rests_until */
    bool serving; /* vn_port_serve is running */
    bool fabric : 1; /* behind the scheduler there is a fabric and an `output` buffer */
    bool scheduled : 1; /* `scheduler` is set */
    bool rated : 1; /* a class has an `interval` or a `cap`, or `served` counts departures */
    bool trims : 1; /* `trimming` is set */
    bool weighted : 1; /* `weights` is set */
    bool discards : 1; /* the link is down, and `dropping` is of all classes */
    bool holds : 1; /* likewise: a switch that cuts through may hold packets */
    uint8_t dropping; /* bit mask of classes in a PAUSE storm, whose packets its watchdog drops */
};
_Static_assert(sizeof(struct vn_port) <= VN_PORT_STATE, "a link has room for it");

/* ... and its `kept`. */
struct vn_port_more {
    /* NULL: a FIFO a class. Else of a class's `queue` only `packets` is used */
    const struct vn_scheduler *scheduler;
    void *queues; /* the scheduler's */
    struct vn_output *output; /* NULL: packets leave from the scheduler */
    struct vn_weights *weights; /* NULL: all classes have strict priorities */
    struct vn_watchdog *watchdog; /* NULL: none */
    uint64_t served[VN_CLASSES]; /* packets that left the queue, where `rated` */
    /* until then the class can't send: a packet of it was recirculated; the latest event by which
     * one can again: only that class waits for it, so it isn't the port's own event */
    uint64_t blocked_until[VN_CLASSES], unblocked_at;
    /* by a clock that stands: such a port has a rule of its own, by how often the packet had been
     * sent round before that was the latest to be so */
    bool by_passes;
    uint32_t turn; /* so many packets may leave its queues before others have their turn */
    uint32_t passes;
    uint32_t round_bytes; /* of that packet, as its egress left it */
    /* by the machine's clock, on a port without rate: what goes round and round there does so less
     * and less often, at least once in this time; 0: once in a frame's time. Rounds of a class
     * since the port's packet of that number */
    uint64_t longest_round, rounds[VN_CLASSES], rounds_since[VN_CLASSES];
    /* a packet leaves the class's queue once in this time; 0: at any time ... */
    uint64_t interval[VN_CLASSES];
    /* bit/s: after a frame the class waits for as long as that takes at this rate; 0: no cap */
    uint64_t cap[VN_CLASSES];
    uint64_t rests_until[VN_CLASSES]; /* ... that is, not before then, when a VN_EV_READY comes */
    struct sw_trimming trimming;
    uint64_t trimmed[VN_CLASSES]; /* packets that this class refused */
    uint64_t uncut; /* of these, lost behind egress: they aren't IPv4's */
    struct vn_fifo pipeline; /* of packets that came in by the port; see pipeline.h */
    /* a packet that came in by the port, to be admitted to that link; VN_NONE: none */
    uint32_t held, held_link;
    uint8_t held_class;
};

VN_ALWAYS struct vn_port *vn_port_of(const struct vn_link *link)
{
    return (struct vn_port *)(void *)link->state;
}
VN_ALWAYS struct vn_port_more *vn_port_more(const struct vn_link *link) { return link->more; }

/* ---- a packet's hop: hop.c through an in-place program, phv.c through a program with a PHV
 * ---- */
/* Runs ingress for a packet that came in by `port`, and queues it. */
VN_ALWAYS void vn_hop_ingress(struct vn_context *, struct vn_node *, uint16_t port, uint32_t id);
static void vn_phv_ingress(struct vn_context *, struct vn_node *, uint16_t port, uint32_t id);
/* Egress. VN_SEND: the caller sends the packet. VN_DROPPED: it was freed. VN_RECIRCULATED: it is
 * back at ingress. `deq_qdepth`: packets left in the queue; behind a fabric those ahead, see
 * fabric.c. */
enum vn_verdict { VN_SEND, VN_DROPPED, VN_RECIRCULATED };
VN_ALWAYS enum vn_verdict vn_hop_egress(struct vn_context *, struct vn_node *, uint16_t port,
                                        uint32_t id, uint32_t queue, uint32_t deq_qdepth);
static enum vn_verdict vn_phv_egress(struct vn_context *, struct vn_node *, uint16_t port,
                                     uint32_t id, uint32_t queue, uint32_t deq_qdepth,
                                     uint32_t passes);
/* the same in line; passes: 0 where the port has a link */
VN_ALWAYS enum vn_verdict vn_phv_egress_here(struct vn_context *, struct vn_node *, uint16_t port,
                                             uint32_t id, uint32_t queue, uint32_t deq_qdepth,
                                             uint32_t passes);
/* What `reenters` took is at ingress again, now. */
VN_OFFERED void vn_phv_again(struct vn_context *, struct vn_node *, uint32_t packet);
/* that a queue cuts, behind egress */
static void vn_phv_truncate(struct vn_context *, uint32_t id, uint32_t bytes);
/* between a packet and its frame, where programs don't run in place */
static uint32_t vn_phv_bytes(const struct vn_pool *);

/* ---- generator.c: the packet generator ---- */
/* false: the run has failed */
static bool vn_generator_start(struct vn_context *, struct vn_node *);
static void vn_generate(struct vn_context *, uint32_t node); /* a batch */
static uint32_t vn_generate_node(const struct vn_context *, uint32_t node);

/* ---- cpu.c: the CPU port ---- */
/* A frame comes in there, now. 0, or a negative errno. */
static int vn_cpu_out(struct vn_context *, uint32_t node, const uint8_t *frame, uint32_t length);
/* Gives the controller a copy of the frame at `data`, of which the packet has the first bytes. */
static void vn_cpu_in(struct vn_context *, struct vn_node *, const struct vn_packet *,
                      const uint8_t *data, uint32_t length);
/* that the packet asks for */
static void vn_cpu_digest(struct vn_context *, struct vn_node *, const struct sw_packet *);

/* ---- port.c: ports ---- */
VN_ALWAYS void vn_port_admit(struct vn_context *, uint32_t link, uint32_t id, uint32_t queue);
/* sends, if the link is free */
static void vn_port_serve(struct vn_context *, struct vn_link *, uint32_t number);

/* What waits for the fabric, or for a class's rate, can go on. */
static void vn_port_ready(struct vn_context *, uint32_t link);
/* whatever holds it */
static void vn_port_admit_held(struct vn_context *, uint32_t link, uint32_t id, uint32_t queue);
/* From now on all packets that are to leave by it are lost, and so are those that wait there; or no
 * more. */
static void vn_port_discard(struct vn_context *, struct vn_link *, bool discards);

/* ---- trim.c: packets that a queue refuses, cut to their headers ---- */
/* The packet that a full queue refuses: the one that comes, `id`, or the one that waited last,
 * whose place that has taken. */
static uint32_t vn_trim_refused(struct vn_context *, struct vn_link *, uint32_t class, uint32_t id);
/* False: the packet isn't one to be trimmed. True: it is for that queue now. */
static bool vn_trim(struct vn_context *, const struct vn_link *, uint32_t class, uint32_t id,
                    uint32_t *queue);
/* The length that a trimmed packet's frame had, by its IPv4 header. */
static uint32_t vn_trim_whole(const uint8_t *frame);
/* After the egress of a packet that is VN_TRIMMED: writes its frame. VN_DROPPED: it couldn't be
 * trimmed, and was freed. */
static enum vn_verdict vn_trim_finish(struct vn_context *, const struct vn_link *, uint32_t id);

/* ---- fabric.c: output buffers behind a fabric, of switches that have them ---- */
/* NULL: out of memory */
static struct vn_output *vn_output_new(const struct vn_fabric_config *, uint64_t rate_bps);
/* takes what waits, as far as there is room */
static void vn_fabric_grant(struct vn_context *, struct vn_link *, uint32_t number);
static void vn_fabric_ready(struct vn_context *, uint32_t link);
static void vn_fabric_crossed(struct vn_context *, uint32_t link);
/* sends, if the link is free */
static void vn_fabric_serve(struct vn_context *, struct vn_link *, uint32_t number);
static uint64_t vn_output_bytes(const struct vn_context *, const struct vn_link *,
                                uint32_t class); /* in the buffer or on their way there */

/* ---- switch.c ---- */
/* the latter: its frames take time, see pipeline.h */
static const struct vn_node_kind vn_switch_kind, vn_late_switch_kind;
static void switch_take(struct vn_context *, struct vn_channel *, uint32_t packet);
/* NULL: the node has none. */
static struct vn_shared_buffer *vn_shared_buffer_at(const struct vn_context *, uint32_t node);
static inline bool vn_is_switch(const struct vn_node *node)
{
    return node->kind == &vn_switch_kind || node->kind == &vn_late_switch_kind;
}

#endif
