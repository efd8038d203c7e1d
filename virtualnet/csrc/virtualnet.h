/* A network in virtual time: the API that Python calls (virtualnet/native.py, by ctypes). No
 * clock is read that a result depends on: times are whole picoseconds since the start of the
 * run, and the same calls give bit-identical results.
 *
 * Python builds the network, then calls vn_run repeatedly. An endpoint may call Python itself;
 * what more it has to be called for, its own header says (hosts/csrc/virtual/api.h).
 *
 * Calls that can fail return 0 or an index >= 0, or a negative errno; vn_error says why. */
#ifndef VN_VIRTUALNET_H
#define VN_VIRTUALNET_H

#include "base.h"

/* Structs of counts have their fields in virtualnet/counts.py, which come before this file as C. */
struct vn_watchdog_stats;
struct vn_shared_buffer_stats;
struct vn_link_stats;
struct vn_totals;
struct vn_part_stats;

struct sw_switch;
struct sw_trimming;
struct vn_context;
struct vn_net; /* begins with its vn_context: a handle of the one is one of the other */

/* Why vn_run returned. */
enum vn_reason {
    VN_FAILED = 0,   /* vn_error says why; the run can't go on */
    VN_UNTIL = 1,    /* all events until until_ps have happened */
    VN_BUDGET = 2,   /* `budget` events have happened: the caller may look at the wall clock */
    VN_FINISHED = 3, /* every flow of known size has arrived completely */
    VN_RETURN = 4,   /* a time that vn_return_at asked for; `flow` is its number */
    VN_CALLBACK = 5, /* not returned: an algorithm is being called, or has raised */
};

/* Shared with Python, between two calls of vn_run and in callbacks. */
struct vn_exchange {
    uint32_t reason; /* enum vn_reason */
    uint32_t flow;   /* VN_CALLBACK: the algorithm's flow; VN_RETURN: vn_return_at's number */
    uint32_t np;     /* VN_CALLBACK: 1 if the algorithm is the NP, 0 if the RP */
    double now_s;
    /* vn_run ends after the last event at `until_ps`, after `budget` events (it counts them down),
     * and with `finish` when all flows of known size have arrived completely. */
    uint64_t until_ps, budget;
    uint32_t finish;
};

/* No result depends on `by_node` (order.c), `prefetch` (prefetch.h) and `threads` (crew.h), which
 * are one unless by_node. response_ps: of flow control. NULL: no memory. If vn_error says something
 * already, the network can but be destroyed. */
struct vn_net *vn_create(bool by_node, bool prefetch, uint32_t threads, uint64_t response_ps);
void vn_destroy(struct vn_net *);
const char *vn_error(const struct vn_context *);
struct vn_exchange *vn_exchange_of(struct vn_context *);

/* Before a frame: frames are stored whole, of at most so many bytes. */
int vn_store_whole(struct vn_context *, uint32_t most_bytes);
uint64_t vn_now(const struct vn_context *);

/* Return the node's number, in order of addition. A switch runs the program that `sw` has loaded;
 * `sw` must outlive the network. */
int64_t vn_add_switch(struct vn_context *, struct sw_switch *sw);
/* A scheduler of schedulers.c at each output, by its name, instead of one FIFO a class: "round_robin"
 * over the switch's inputs. */
int vn_set_scheduler(struct vn_context *, uint32_t node, const char *name);
bool vn_reads_left(const struct vn_context *, uint32_t node); /* see scheduler.h */
/* At each output of the switch a buffer behind a fabric: see fabric.c. The fabric carries speed_up
 * times the rate that the port has at the start to it. */
struct vn_fabric_config {
    uint64_t buffer_bytes; /* of a port and class */
    uint64_t latency_ps;
    double speed_up;
    bool reliable; /* a packet stays in the ingress occupancy until it is sent */
};
int vn_set_fabric(struct vn_context *, uint32_t node, const struct vn_fabric_config *);
/* A buffer that all ports of the switch share, and, behind vn_set_pfc, the share of a class of what
 * comes in over `link`: `reserve` bytes of its own; beyond them up to `fixed` + alpha (free bytes
 * of the pool) / 2^16; then `headroom` while its PAUSE takes effect (0: as much as flow control
 * needs). RESUME falls due `resume` below that threshold. A class without PFC is refused what is
 * above it. */
struct vn_share_config {
    uint64_t fixed, headroom;
    uint32_t alpha, reserve, resume;
};
int vn_set_shared_buffer(struct vn_context *, uint32_t node, uint64_t bytes);
int vn_set_share(struct vn_context *, uint32_t link, uint32_t class,
                 const struct vn_share_config *);
int vn_buffer_stats(const struct vn_context *, uint32_t node, struct vn_shared_buffer_stats *);
/* A host without endpoints counts what arrives as stray. */
int64_t vn_add_host(struct vn_context *, const uint8_t ip[4]);
/* Of a switch, before the first event: from a frame's arrival to its ingress, flow control apart;
 * and whether frames arrive with their first bytes (VN_CUT_BYTES) and can leave while they come
 * in. */
int vn_set_latency(struct vn_context *, uint32_t node, uint64_t latency_ps, bool cuts_through);
/* Gives a host an endpoint of register.h, by its name. The first one may decide what starts when;
 * what arrives is offered to them in their order. */
int vn_add_endpoint(struct vn_context *, uint32_t host, const char *name);
/* Adds both directions of a cable; returns the index of that from a to b; the other's is one
 * higher. */
int64_t vn_add_link(struct vn_context *, uint32_t a, uint16_t port_a, uint32_t b, uint16_t port_b,
                    uint64_t rate_bps, uint64_t delay_ps);
/* Rate and state of the direction `link` from now on. A frame that has started leaves at the old
 * rate; a link that is down starts no frame, and drops none. But a PAUSE that it keeps back may be
 * late, see `overrun`. */
int vn_set_link(struct vn_context *, uint32_t link, uint64_t rate_bps, bool up);
/* After the last link, before the run: serialisation times are whole multiples of a tick, cut off,
 * and at least one. Without: 1 ps. */
int vn_set_tick(struct vn_context *, uint64_t tick_ps);
/* At a switch: all that is to leave by the link is lost from now on, and what waits there; or no
 * more. */
int vn_discard(struct vn_context *, uint32_t link, bool discards);
/* A PFC frame from `mac` comes in now at the port where the link ends, as if the link's sender had
 * sent it; 0 quanta: RESUME. */
int vn_pfc_arrives(struct vn_context *, uint32_t link, const uint8_t mac[6], uint32_t class,
                   uint16_t quanta);

/* A class's output queue at the start of a link: its depth in packets, and its rate in packets/s,
 * beside the link's; 0: unlimited. Of lossless classes the depth doesn't limit the queue. Depth
 * 65535: there is no such queue, and each packet is refused. */
int vn_set_queue(struct vn_context *, uint32_t link, uint32_t class, uint32_t depth, uint64_t rate);

/* Registers of the switch's program, by port and class, with the packets and bytes that wait there:
 * it counts them up where it takes a packet and down where one leaves. One that a queue refuses is
 * taken off by the engine. */
int vn_count_waiting(struct vn_context *, uint32_t node, uint32_t packets_register,
                     uint32_t bytes_register);
/* Packets that a class's queue at the start of a link refuses are trimmed: see
 * softswitch/csrc/trim.h. */
int vn_set_trimming(struct vn_context *, uint32_t link, const struct sw_trimming *);
/* Deficit round robin at the start of a link, among the classes that have a weight, behind all
 * others. After all else is built. */
int vn_set_weights(struct vn_context *, uint32_t link, const uint16_t weights[VN_CLASSES]);
/* Classes at the start of a link that send at most so many bit/s, whatever waits; 0: no such cap. */
int vn_set_caps(struct vn_context *, uint32_t link, const uint64_t caps_bps[VN_CLASSES]);

/* A PFC watchdog of the port where a link starts, for its lossless classes: a class that was paused
 * and sent none of its packets for detect_ps is in a storm until no PAUSE has held it for
 * restore_ps. It looks every poll_ps at those of `classes`, a bit mask. Meanwhile the port drops
 * the class's packets or, with `forward`, ignores its PAUSE. After all else is built. */
struct vn_watchdog_config {
    uint64_t poll_ps, detect_ps, restore_ps;
    bool forward;
    uint8_t classes;
};
int vn_set_watchdog(struct vn_context *, uint32_t link, const struct vn_watchdog_config *);
int vn_watchdog_of(const struct vn_context *, uint32_t link, struct vn_watchdog_stats *);

/* PFC at the switch where `link` ends. xoff, xon: thresholds in bytes on the link's ingress
 * occupancy; quanta: pause time of a PAUSE, which is sent again every refresh_ps, and after
 * vn_set_link so much more or less often as quanta are shorter or longer; lossless: bit mask of the
 * classes; mac: source address of the frames. While the network runs the classes stay. */
int vn_set_pfc(struct vn_context *, uint32_t link, uint32_t xoff, uint32_t xon, uint16_t quanta,
               uint64_t refresh_ps, uint8_t lossless, const uint8_t mac[6]);

/* Credits on both directions of a cable, instead of PFC: see credit.c. buffer_bytes: of each lane
 * at either end. A lane's flow control packets are at least interval_ps apart where it is credits
 * that cause them, and at most period_ps. */
int vn_set_credits(struct vn_context *, uint32_t link, uint64_t buffer_bytes, uint64_t interval_ps,
                   uint64_t period_ps);

/* Faults of what arrives over a link, from now on: every `lose`th frame of this kind is lost, every
 * `repeat`th comes twice, every `late`th takes effect late_ps later; 0: none. Besides, each is lost
 * with the probability p_lose, by random numbers of `seed` and the link. See faults.c. */
/* notifications: CNPs, CNMs, ACKs */
enum vn_frames { VN_FLOW_CONTROL, VN_NOTIFICATIONS, VN_DATA, VN_FRAMES };
struct vn_disturbance {
    uint32_t lose, repeat, late;
    uint64_t late_ps, seed;
    double p_lose;
};
int vn_disturb(struct vn_context *, uint32_t link, enum vn_frames, const struct vn_disturbance *);

/* Of one direction of a link. */
int vn_link_stats(const struct vn_context *, uint32_t link, struct vn_link_stats *);

/* Classes of links that are stuck for ever. */
struct vn_deadlock {
    /* how many; how many of them others of them wait for: circles, and what joins them */
    uint32_t members, circle;
    uint64_t since_ps; /* when the last one of the circle was told to stop */
    uint64_t held_bytes; /* inside the switches where they end */
};
/* Between runs. `members` has room for eight entries a link; they are link * 8 + class, those of
 * the circle first. Not for output buffers. */
int vn_deadlock(struct vn_context *, struct vn_deadlock *, uint32_t *members);

/* A sampler records the values of its sources at equal intervals. */
enum vn_source {
    VN_REGISTER = 0, /* number: register; index: cell; object: switch */
    VN_COUNTER_PACKETS = 1, /* likewise */
    VN_COUNTER_BYTES = 2,
    VN_QUEUE_PACKETS = 3, /* object: link; index: class. Output queue */
    VN_QUEUE_BYTES = 4,
    VN_HELD_BYTES = 5, /* object: link; index: class. Ingress occupancy */
    /* object: link; index: class. 1: XOFF passed, and no RESUME sent over it since */
    VN_XOFF_SENT = 6,
    VN_PAUSE_SENT = 7, /* object: link: PFC frames over it */
    VN_RESUME_SENT = 8,
    VN_LINK_BYTES = 9,
    /* object: link; index: class. In its output buffer, or on their way there through the fabric */
    VN_OUTPUT_BYTES = 10,
    VN_POOL_USED = 11, /* object: switch. Bytes of its shared buffer's pool */
    /* object: link; index: class. Of its share where it ends, beyond the reserve */
    VN_THRESHOLD = 12,
    VN_HEADROOM_BYTES = 13, /* likewise. In its headroom */
    VN_OF_ENDPOINTS = 32, /* from here on: see their headers */
};
struct vn_source_spec {
    uint32_t source, object, number, index;
};
int64_t vn_add_sampler(struct vn_net *, uint64_t first_ps, uint64_t last_ps, uint64_t every_ps,
                       const struct vn_source_spec *, uint32_t n, uint64_t most, bool largest);
/* Returns the number of samples so far; times has one each, values n each. Valid until the next
 * vn_run. */
uint64_t vn_samples(const struct vn_net *, uint32_t sampler, const uint64_t **times,
                    const double **values);

/* Gives a switch's program a frame at its CPU port, now. Of a frame the first 128 bytes are stored:
 * the others must be zeros. What the program sends to the CPU port, and its digests, are the
 * switch's events (sw_next_event). */
int vn_packet_out(struct vn_context *, uint32_t node, const uint8_t *frame, uint32_t length);
/* Steps of the switch's traced program (sw_trace_start) have the network's time. */
int vn_trace(struct vn_context *, uint32_t node);

/* vn_run returns VN_RETURN when the program has sent packet-ins or digests, likewise. Not
 * `by_node`: other nodes would be ahead. */
int vn_call_for_cpu(struct vn_context *, uint32_t node, uint32_t number);

/* vn_run returns VN_RETURN at that time, with that number in exchange.flow, after all other events
 * of then but samples. */
int vn_return_at(struct vn_context *, uint64_t time_ps, uint32_t number);

/* Logs PFC frames from now on, each PAUSE and RESUME of each class: queued at the port that sends
 * it, and in effect at the port that it stops, whose PAUSE may also run out. `link` leaves that
 * port. vn_pfc_events returns how many there are, valid until the next vn_run. */
enum vn_pfc_kind { VN_PAUSE_QUEUED, VN_RESUME_QUEUED, VN_PAUSED, VN_RESUMED, VN_EXPIRED };
struct vn_pfc_event {
    uint64_t time_ps;
    uint32_t link;
    uint16_t class, kind; /* enum vn_pfc_kind */
};
int vn_log_pfc(struct vn_context *);
int64_t vn_pfc_events(struct vn_context *, const struct vn_pfc_event **);

/* Flows' paths: by which link the data of a flow leaves each switch, instead of what the program
 * chooses there; and what it chose first, from now on. vn_path returns how many switches there are,
 * and their links, valid until the next vn_run. A flow's number is that of its packets
 * (hosts/csrc/virtual/api.h). */
int vn_set_path(struct vn_context *, uint32_t flow, uint32_t link);
int vn_log_paths(struct vn_context *);
uint32_t vn_path(const struct vn_context *, uint32_t flow, const uint32_t **links);

/* Writes every frame that leaves over `link` to a pcap file, with timestamps in nanoseconds of
 * nominal time. */
int vn_capture(struct vn_context *, uint32_t link, int descriptor);
/* Ends the link's. 0, or why it isn't whole. */
int vn_capture_stop(struct vn_context *, uint32_t link);
/* Ends all captures. 0, or why one isn't whole, as errno has it, and its link. */
int vn_captures_end(struct vn_context *, uint32_t *link);

/* If Python code that an endpoint calls raises, its error is set, the result is undefined, and the
 * network must not be changed any more. */
enum vn_reason vn_run(struct vn_net *);

/* A run of which no event happens before its real time, k times the simulated one after from_ps;
 * `slack_ns`: of real time between two batches of events. release and acquire: Python's lock;
 * `lock`: the engine's, which the caller has, and others between two batches. The rest it counts:
 * late[n], events that came less than 2^n ns late and no less than half of that. */
#define VN_PACE_BUCKETS 48
struct vn_lock;
struct vn_pace {
    double k;
    uint64_t from_ps, from_ns, slack_ns; /* from_ns by CLOCK_MONOTONIC */
    void *(*release)(void);
    void (*acquire)(void *);
    struct vn_lock *lock;
    uint64_t looked_ns; /* what was due by then has happened; at first from_ns */
    uint64_t late[VN_PACE_BUCKETS], worst_ns, batches;
    void *left; /* Python's lock, as `acquire` takes it; NULL: the run's thread has it */
};
/* As vn_run; VN_BUDGET ten times a second, too. */
enum vn_reason vn_run_paced(struct vn_net *, struct vn_pace *);

/* After the last link: from now on a packet with which no run could go on is lost and counted at
 * its switch, vn_unable, in place of an error that ends the run. Such ones are resubmitted without
 * end, or go through a port without a link so; have more parsed than is stored, or more headers
 * added than a frame may have; are more than the headroom that XOFF leaves, or than a lane's buffer
 * (vn_link_stats.overrun). */
int vn_survive(struct vn_context *);
int64_t vn_unable(const struct vn_context *, uint32_t node);

/* A lock for an engine that several threads use: between runs, or while a paced one sleeps. Who
 * waits for it doesn't have Python's lock; who has it may wait for that. vn_lock_take: -EBUSY where
 * another thread has it, or waits for it, unless `wait`. */
struct vn_lock *vn_lock_new(void);
void vn_lock_free(struct vn_lock *);
int vn_lock_take(struct vn_lock *, bool wait);
void vn_lock_leave(struct vn_lock *);

/* Frames of the source endpoint (hosts/source.c): each starts at its time, or when the class of the
 * link may then. The first `stored` bytes are given, the others are zeros. vn_source_keep returns
 * the number of a frame that vn_source_frames send: which[i] (NULL: the frame `first`) at times[i],
 * in ascending order, with lengths[i] bytes (NULL: as long as it is). */
int64_t vn_source_keep(struct vn_context *, const uint8_t *frame, uint32_t stored, uint32_t length);
int vn_source_frames(struct vn_context *, uint32_t port, uint8_t class, uint32_t n,
                     const uint64_t *times, uint32_t first, const uint32_t *which,
                     const uint16_t *lengths);
/* What has arrived at such a host, in order; `at`: the first `stored` bytes of the frame in
 * `bytes`. The frames are kept, or, with vn_source_count, counted alone. vn_source_call: vn_run
 * returns VN_RETURN when frames have arrived, as for vn_call_for_cpu. */
struct vn_taken {
    uint64_t time_ps, at;
    uint32_t length, stored;
};
/* How many; valid until the next vn_run. */
uint64_t vn_taken(const struct vn_context *, uint32_t host, const struct vn_taken **,
                  const uint8_t **bytes);
int vn_source_count(struct vn_context *, uint32_t host, bool alone);
int vn_source_call(struct vn_context *, uint32_t host, uint32_t number);
/* A host that counts alone keeps what arrives for vn_source_call's function, and here forgets it.
 * Returns how many frames vn_taken still has, those from before vn_source_count. */
int64_t vn_source_forget(struct vn_context *, uint32_t host);
/* `delay_ps`: from the time at which frames were to be sent to their arrival, of those that a
 * source sent: their number, the sum, and the longest. `marked_ce`: frames of IPv4 with that ECN
 * codepoint. */
struct vn_arrivals {
    uint64_t frames, bytes, first_ps, last_ps, timed, delay_ps, longest_ps, marked_ce;
};
int vn_source_arrivals(const struct vn_context *, uint32_t host, struct vn_arrivals *);

void vn_totals(const struct vn_net *, struct vn_totals *);

/* Bytes, for who tells a network's memory before it is there: of a node; of a direction of a link,
 * with its channel; of a switch's port besides, with PFC; of a port's event; of a packet whose
 * program runs in place, and of its place on a link. */
struct vn_sizes {
    uint64_t node, link, port, event, packet, in_flight;
};
void vn_sizes(struct vn_sizes *);
/* in which nodes had turns (order.c); not a result: it depends on by_node */
uint64_t vn_rounds(const struct vn_context *);

/* A network that several processes share. Each builds it with all nodes and links, in the same
 * order: those of its part as ever, a host of another part as any host, a switch of another part by
 * vn_add_elsewhere; and makes the same calls of vn_run, vn_return_at and vn_add_sampler. Then the
 * events and digests of all nodes are those of one process.
 *
 * vn_partition_of: of a network that isn't run, which has links and any nodes: the owner of each
 * node, of `n`, those that links of no length join with one. vn_split comes before the first node.
 * `exchange` gives `out[i]` to process i and has `in[i]` point to what that one gives, valid until
 * the next call; not 0: the run fails. */
struct vn_mail {
    const uint8_t *at;
    uint64_t bytes;
};
int vn_partition_of(struct vn_context *, uint32_t n, uint32_t *owners);
int vn_split(struct vn_context *, uint32_t n, uint32_t number, const uint32_t *owners,
             uint32_t n_nodes, int (*exchange)(uint32_t, const struct vn_mail *, struct vn_mail *));
int64_t vn_add_elsewhere(struct vn_context *);
/* No result. */
void vn_part_stats(const struct vn_context *, struct vn_part_stats *);
/* By node: those of the other parts are 0 until they are set. */
void vn_digests(struct vn_context *, uint64_t *digests, bool set);

/* Where the time of runs went, by the wall's clock; no result. */
enum { VN_MOST_THREADS = 64 };
struct vn_threads {
    uint64_t n;
    uint64_t wall_ns; /* in rounds */
    /* of that, answers to questions of algorithms in Python, while all threads but one wait */
    uint64_t answering_ns, questions;
    uint64_t passes; /* of all rounds: one a phase, and more where nodes ask */
    /* of each pass the longest of the threads' shares, summed: no number of cores makes it
     * shorter */
    uint64_t longest_ns;
    uint64_t busy_ns[VN_MOST_THREADS]; /* by thread: in turns */
};
void vn_threads(const struct vn_context *, struct vn_threads *);

#endif
