/* The engine by a switch's clock: what moves the packets of one that forwards (softswitch/csrc/
 * engine.h). Its network is the switch and, beyond each port, an edge. Frames come in at the time
 * of the call; one that starts on a port's wire is the switch's again, which has the port's delay,
 * its interface or its link in memory. Packets are the switch's, lent while they are inside (VN_LENT):
 * none is copied on its way in or out.
 *
 * Bounds: MOST_PACKETS inside, what a program makes of them included, and what the switch's pool
 * has; BUDGET events a call, after
 * which others get the switch's lock. Nothing that comes in ends it: where the engine can't go on,
 * what is inside is lost, and another one begins.
 *
 * On the manual clock it does at one moment what the switch's queues do, in their order: all that
 * comes in, what programs have sent round, then ports, any of which has queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/net.h"
#include "internal.h"
#include "links/build.h"
#include "switches/switch.h"
#include "switches/weights.h"

enum {
    MOST_PACKETS = 1 << 14,
    BUDGET = 4096,
    ROUNDS = 64, /* at one moment of the manual clock, as in softswitch/csrc/clock.c */
};
#define LONGEST_ROUND_PS (SW_LOOP_PAUSE_NS * UINT64_C(1000))
/* Times are counted from a multiple of it: 2^54 ns are 208 days, and 2^64 ps 213. */
#define EPOCH_NS (UINT64_C(1) << 53)

/* A packet that a program has sent round. */
struct again {
    uint64_t due_ps;
    uint32_t packet;
};

struct live_port {
    uint32_t link; /* that leads to its edge; VN_NONE: none */
    bool held; /* its way out isn't free: it doesn't serve */
    bool weighted;
    /* without rate: frames that started at that time, which take none of it; after SW_BATCH of them
     * its line is busy, or what multiplies at a port would be its only event */
    bool unshaped;
    uint32_t burst;
    uint64_t burst_ps;
    uint16_t weights[VN_CLASSES];
    bool trims;
    struct sw_trimming trimming; /* as it was set, if it `trims` */
};

struct live {
    struct sw_engine engine; /* first */
    struct sw_switch *sw;
    struct vn_net *net; /* NULL: not yet, or not any more */
    uint32_t node, n_held;
    uint64_t unable; /* that were lost so far since what they wanted has no end, or no room */
    uint64_t epoch_ns;
    const char *scheduler; /* NULL: FIFO */
    /* of the manual clock: at this moment something has come in or was due, and no port has had its
     * turn since */
    bool holds;
    uint64_t sent_round; /* packets, in all */
    /* a ring, of the manual clock: in order, on their way back; NULL: there were none yet */
    struct again *again;
    uint32_t n_again, first_again;
    uint32_t rounds; /* so often they were brought back at ... */
    uint64_t rounds_ps, not_before_ps; /* ... that moment; when they may be next */
    struct live_port ports[SW_MAX_PORTS];
};

struct edge {
    struct live *live;
    struct live_port *port;
    struct sw_tm_port *queues; /* the switch's; NULL: none until the first frame */
    uint16_t number;
};

static struct edge *edge_of(struct vn_node *node) { return (struct edge *)(void *)node->state; }

static uint64_t live_ps(const struct live *live, uint64_t ns)
{
    return (ns - live->epoch_ns) * 1000;
}

static void hold(struct live *live, struct live_port *port)
{
    if (port->held) return;
    port->held = true;
    live->n_held++;
    vn_link_of(&live->net->context, port->link)->up = false; /* it admits, and doesn't serve */
}

/* The next port that is held, its way out being free; NULL: none is. */
static struct live_port *to_release(struct live *live)
{
    const struct sw_switch *sw = live->sw;
    for (uint32_t i = 0; live->n_held != 0 && i < sw->tm.n_active; i++) {
        const struct sw_tm_port *queues = sw->tm.ports[sw->tm.active[i]];
        struct live_port *port = &live->ports[queues->port];
        if (port->held && sw_port_can_run(sw, queues)) return port;
    }
    return NULL;
}

static void release(struct live *live)
{
    struct vn_context *context = &live->net->context;
    for (struct live_port *port; (port = to_release(live)) != NULL;) {
        struct vn_link *link = vn_link_of(context, port->link);
        port->held = false;
        live->n_held--;
        live->holds = live->sw->manual;
        link->up = true;
        if (!link->pending) vn_port_serve(context, link, port->link);
    }
}

/* ---- the manual clock's moments ---- */

/* Nothing was due before the time that stands. */
static void catch_up(struct live *live)
{
    struct vn_context *context = &live->net->context;
    uint64_t now_ps = live_ps(live, sw_now_ns(live->sw));
    if (context->now < now_ps) context->now = now_ps;
}

/* Before something comes in, or may leave. */
static void hold_all(struct live *live)
{
    catch_up(live);
    live->holds = true;
}

/* Grows with each packet that a queue has given away. */
static uint64_t taken(const struct live *live)
{
    const struct vn_context *context = &live->net->context;
    uint64_t n = context->totals.dropped + live->sent_round;
    for (uint32_t i = 0; i < live->sw->tm.n_active; i++)
        n += vn_link_of(context, live->ports[live->sw->tm.active[i]].link)->packets;
    return n;
}

/* All that comes in has come: each port serves once, as in softswitch/csrc/clock.c, no more packets
 * than waited there before. A port takes packets and doesn't serve while `serving` is set, which is
 * all the time but for its turn: what egress copies to a port leaves there behind the packet that it
 * is a copy of. The next turn is behind what has been sent round. */
static void serve_all(struct live *live)
{
    struct vn_context *context = &live->net->context;
    struct sw_tm *tm = &live->sw->tm;
    for (uint32_t i = 0; i < SW_MAX_PORTS; i++) { /* queues are made at the first frame */
        if (tm->ports[i] == NULL && vn_link_of(context, live->ports[i].link)->waiting)
            sw_tm_port(tm, i);
    }
    uint64_t before = taken(live);
    for (uint32_t i = 0; i < tm->n_active && !context->failed; i++) {
        uint32_t number = live->ports[tm->active[i]].link;
        struct vn_link *link = vn_link_of(context, number);
        if (link->pending) continue;
        uint32_t waiting = 0;
        for (uint32_t class = 0; class < VN_CLASSES; class++)
            waiting += vn_scheduler_waiting(link, class);
        vn_port_more(link)->turn = waiting < SW_BATCH ? waiting : SW_BATCH;
        vn_port_of(link)->serving = false;
        vn_port_serve(context, link, number);
        vn_port_of(link)->serving = true;
    }
    live->holds = before != taken(live);
}

static void reenters(struct vn_context *context, struct vn_node *node, uint32_t packet)
{
    struct live *live = (struct live *)(void *)vn_switch_of(node)->sw->engine;
    if (live->again == NULL) live->again = calloc(MOST_PACKETS, sizeof *live->again);
    if (live->again == NULL) {
        vn_packet_lose(context, packet);
        return;
    }
    live->sent_round++;
    live->again[(live->first_again + live->n_again++) % MOST_PACKETS] =
        (struct again){context->now + live->sw->reentry_ns * 1000, packet};
}

static uint64_t again_ps(const struct live *live)
{
    if (live->n_again == 0) return VN_NEVER;
    uint64_t due_ps = live->again[live->first_again].due_ps;
    return due_ps > live->not_before_ps ? due_ps : live->not_before_ps;
}

/* Those that are due by then are back; what is sent round meanwhile, when ports have had their
 * turn. */
static void bring_back(struct live *live, uint64_t until_ps)
{
    struct vn_context *context = &live->net->context;
    if (again_ps(live) > until_ps) return;
    if (live->rounds_ps != until_ps) live->rounds = 0;
    live->rounds_ps = until_ps;
    if (++live->rounds >= ROUNDS) {
        live->not_before_ps = until_ps + LONGEST_ROUND_PS;
        return;
    }
    for (uint32_t n = live->n_again; n > 0 && again_ps(live) <= until_ps; n--) {
        uint32_t packet = live->again[live->first_again].packet;
        live->first_again = (live->first_again + 1) % MOST_PACKETS;
        live->n_again--;
        hold_all(live);
        vn_phv_again(context, &context->nodes[live->node], packet);
    }
}

/* ---- edges ---- */

static bool edge_attach(struct vn_context *context, struct vn_node *node, uint16_t port,
                        uint32_t link)
{
    return (void)context, (void)node, (void)port, (void)link, true;
}

static void edge_starts(struct vn_context *context, struct vn_link *link, uint32_t id)
{
    struct edge *edge = edge_of(vn_far(context, link));
    struct sw_switch *sw = edge->live->sw;
    struct sw_pkt *pkt = vn_packet_give_back(context, id);
    if (edge->queues == NULL) edge->queues = sw_tm_port(&sw->tm, edge->number);
    if (edge->queues == NULL) {
        struct sw_port *out = sw_port_of(sw, edge->number);
        if (out != NULL) out->stats.tx_dropped++;
        sw_pkt_free(&sw->pool, pkt);
        return;
    }
    pkt->start_ns = sw->origin_ns + edge->live->epoch_ns + context->now / 1000;
    sw_start_frame(sw, edge->queues, pkt);
    struct live_port *port = edge->port;
    if (port->unshaped && !sw->manual) {
        if (port->burst_ps != context->now) port->burst = 0;
        port->burst_ps = context->now;
        if (++port->burst % SW_BATCH == 0)
            link->free_at = context->now + SW_BATCH * SW_UNSHAPED_NS * UINT64_C(1000);
    }
    if (!sw_port_can_run(sw, edge->queues)) hold(edge->live, port);
}

static void edge_sends(struct vn_context *context, struct vn_link *link, uint32_t number)
{
    (void)context, (void)link, (void)number; /* nothing waits here */
}

static const struct vn_node_kind edge_kind = {
    .name = "edge",
    .attach = edge_attach,
    .started = edge_starts,
    .may_send = edge_sends,
};

/* ---- the network ---- */

/* The latest packet of a class with another interval now left one before it may go on, also where it
 * might have done so already (softswitch/csrc/traffic.c). */
static void rest_anew(struct vn_context *context, uint32_t number, uint32_t class,
                      uint64_t before_ps)
{
    struct vn_link *link = vn_link_of(context, number);
    struct vn_port_more *more = vn_port_more(link);
    uint8_t bit = (uint8_t)(1u << class);
    uint64_t *until = &more->rests_until[class];
    if (before_ps == 0 || more->interval[class] == before_ps || *until < before_ps) return;
    bool waits = *until > context->now;
    *until += more->interval[class] - before_ps;
    if (waits && *until < context->now) *until = context->now;
    vn_port_of(link)->resting &= (uint8_t)~bit;
    if (*until <= context->now) return;
    vn_port_of(link)->resting |= bit;
    vn_at(context, link->node, *until, VN_EV_READY, number);
}

static bool is_set_so(const struct sw_trimming *a, const struct sw_trimming *b)
{
    return a->size == b->size && a->dscp_value == b->dscp_value &&
           a->queue_index == b->queue_index && a->queues == b->queues &&
           a->tail_percent == b->tail_percent && a->weight == b->weight && a->turns == b->turns &&
           a->drawn == b->drawn;
}

/* Where it is set as before, turns and random numbers go on. */
static void trim(struct live *live, struct live_port *port, const struct sw_trimming *to)
{
    if (port->trims && is_set_so(&port->trimming, to)) return;
    port->trimming = *to;
    struct sw_trimming of_queues = *to; /* what comes for a queue that isn't there is lost */
    of_queues.queues &= (uint8_t)((1u << live->sw->tm.priorities) - 1);
    port->trims = vn_set_trimming(&live->net->context, port->link, &of_queues) == 0;
}

/* As the switch has it. Whole nanoseconds; what is in order stays. */
static void set_port(struct live *live, uint16_t number)
{
    struct vn_context *context = &live->net->context;
    struct live_port *port = &live->ports[number];
    const struct sw_tm *tm = &live->sw->tm;
    const struct sw_tm_port *queues = tm->ports[number]; /* NULL: as any port to come */
    if (port->link == VN_NONE) return;
    struct vn_link *link = vn_link_of(context, port->link);
    port->unshaped = queues == NULL || queues->rate_bps == 0;
    link->tick = port->unshaped ? 1 : 1000;
    vn_set_rate(link, port->unshaped ? VN_AT_ONCE : queues->rate_bps);
    vn_port_more(link)->longest_round = port->unshaped ? LONGEST_ROUND_PS : 0;
    vn_port_more(link)->by_passes = live->sw->manual;
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        uint32_t depth = queues != NULL ? queues->queues[class].depth : tm->depth[class];
        if (class >= tm->priorities || depth == 0) depth = VN_NO_QUEUE;
        else if (depth >= VN_NO_QUEUE) depth = VN_NO_QUEUE - 1;
        uint64_t interval_ns = queues != NULL ? queues->interval_ns[class] : tm->interval_ns[class];
        uint64_t before_ps = vn_port_more(link)->interval[class];
        vn_set_queue(context, port->link, class, depth, interval_ns != 0);
        vn_port_more(link)->interval[class] = interval_ns * 1000; /* not its rounded rate */
        rest_anew(context, port->link, class, before_ps);
    }
    /* weights and trimming: the options refuse both at once */
    if (port->weighted) vn_set_weights(context, port->link, port->weights);
    else trim(live, port, queues != NULL ? &queues->trimming : &tm->trimming);
    if (!port->held && !link->pending) vn_port_serve(context, link, port->link);
}

static bool add_port(struct live *live, uint16_t number)
{
    struct vn_context *context = &live->net->context;
    bool manual = live->sw->manual; /* then the CPU port has queues, too */
    if (live->ports[number].link != VN_NONE ||
        (number == live->sw->cpu_port && number != 0 && !manual))
        return true;
    if (!manual && sw_tm_port(&live->sw->tm, number) == NULL) return false;
    struct vn_node *node = vn_node_new(context, &edge_kind);
    if (node == NULL) return false;
    *edge_of(node) = (struct edge){.live = live, .port = &live->ports[number], .number = number};
    int64_t link = vn_add_link(context, live->node, number, node->number, 0, 1000000000, 0);
    if (link < 0) return false;
    vn_link_of(context, (uint32_t)link)->cut = true;
    live->ports[number].link = (uint32_t)link;
    return true;
}

static uint64_t live_now_ns(void *of)
{
    const struct live *live = of;
    return live->net != NULL ? live->epoch_ns + live->net->context.now / 1000 : sw_now_ns(live->sw);
}

static bool add_all(struct live *live, uint64_t now_ns)
{
    struct sw_switch *sw = live->sw;
    struct vn_context *context = &live->net->context;
    context->pool.limit = MOST_PACKETS;
    context->pool.lender = &sw->pool;
    int64_t node = vn_store_whole(context, SW_MAX_FRAME) == 0 ? vn_add_switch(context, sw) : -1;
    if (node < 0) return false;
    live->node = (uint32_t)node;
    if (live->scheduler != NULL && vn_set_scheduler(context, live->node, live->scheduler) != 0)
        return false;
    for (uint32_t i = 0; i < sw->n_active; i++) {
        const struct sw_port *port = sw->ports[sw->active[i]];
        if (port->present && !add_port(live, port->port)) return false;
    }
    for (uint32_t i = 0; i < sw->tm.n_active; i++) { /* that have settings, and no interface */
        if (!add_port(live, sw->tm.active[i])) return false;
    }
    /* What comes from no port, as of the controller, counts for any link of the switch. */
    if (context->n_links == 0 && !sw->manual && !add_port(live, sw->drop_port)) return false;
    for (uint32_t i = 0; sw->manual && i < SW_MAX_PORTS; i++) {
        if (!add_port(live, (uint16_t)i)) return false;
    }
    if (sw->manual) context->reenters = reenters;
    if (vn_survive(context) != 0) return false;
    context->now = live_ps(live, now_ns);
    context->exchange.until_ps = context->now;
    context->exchange.budget = BUDGET;
    if (vn_run(live->net) == VN_FAILED) return false;
    for (uint32_t i = 0; i < SW_MAX_PORTS; i++) {
        set_port(live, (uint16_t)i);
        if (sw->manual) vn_port_of(vn_link_of(context, live->ports[i].link))->serving = true;
    }
    sw_trace_clock(sw, live_now_ns, live);
    return true;
}

/* Adds what a port's queues have refused for good, and what they have trimmed. */
static void add_refused(const struct vn_link *link, uint64_t *dropped, uint64_t *trimmed)
{
    const struct vn_port_more *more = vn_port_more(link);
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        *dropped += link->refused[class] - more->trimmed[class];
        *trimmed += more->trimmed[class];
    }
    *dropped += more->uncut;
    *trimmed -= more->uncut;
}

static void drop(struct live *live)
{
    if (live->net == NULL) return;
    for (uint32_t i = 0; i < SW_MAX_PORTS; i++) {
        struct live_port *port = &live->ports[i];
        struct sw_tm_port *queues = live->sw->tm.ports[i];
        if (port->link != VN_NONE && queues != NULL && live->net->context.pool.base != NULL) {
            add_refused(vn_link_of(&live->net->context, port->link), &queues->dropped,
                        &queues->trimmed);
        }
        port->link = VN_NONE;
        port->held = port->trims = false;
    }
    live->n_held = 0;
    live->n_again = 0;
    live->not_before_ps = 0;
    live->holds = false;
    live->unable = 0;
    vn_destroy(live->net);
    live->net = NULL;
}

static __attribute__((noinline)) struct vn_context *begin(struct live *live, uint64_t now_ns)
{
    drop(live);
    if (live->sw->instance == NULL) return NULL;
    live->epoch_ns = now_ns / EPOCH_NS * EPOCH_NS;
    live->net = vn_create(false, false, 1, 0);
    if (live->net == NULL) return NULL;
    if (add_all(live, now_ns)) return &live->net->context;
    sw_notice(live->sw, "the engine can't begin, and packets are lost: %s",
              live->net->context.error);
    drop(live);
    return NULL;
}

/* The network, which is built where there is a program and none yet; NULL: it can't be. */
static inline struct vn_context *ready(struct live *live, uint64_t now_ns)
{
    if (live->net == NULL || now_ns - live->epoch_ns >= 2 * EPOCH_NS) return begin(live, now_ns);
    return &live->net->context;
}

/* Says what was lost, and whether the network goes on. */
static __attribute__((noinline)) bool note_losses(struct live *live)
{
    struct vn_context *context = &live->net->context;
    if (context->failed) {
        sw_notice(live->sw, "the engine begins anew, and what was inside is lost: %s",
                  context->error);
        drop(live);
        return false;
    }
    if (live->unable == 0) {
        sw_notice(live->sw,
                  "a packet was lost, as will be others like it: it went round without end, or "
                  "its headers need more than %d bytes",
                  SW_MAX_FRAME);
    }
    live->unable = context->unable[live->node];
    return true;
}

/* After events: whether the network goes on. */
static inline bool goes_on(struct live *live)
{
    const struct vn_context *context = &live->net->context;
    if (!context->failed && context->unable[live->node] == live->unable) return true;
    return note_losses(live);
}

/* ---- what the switch calls ---- */

static struct live *live_of(struct sw_engine *engine) { return (struct live *)(void *)engine; }

static void live_receive(struct sw_engine *engine, struct sw_pkt *pkt, uint16_t port)
{
    struct live *live = live_of(engine);
    struct vn_context *context = ready(live, sw_now_ns(live->sw));
    uint32_t id = context != NULL && pkt->p.length != 0 ? vn_packet_new(context) : VN_NONE;
    if (id == VN_NONE) {
        sw_refuse(live->sw, pkt, port);
        return;
    }
    struct vn_packet *packet = vn_packet_at(context, id);
    packet->lent = pkt;
    packet->frame = pkt->p.data;
    packet->bytes = (uint16_t)pkt->p.length;
    packet->flow = VN_NONE;
    packet->data = VN_WHOLE;
    packet->stamp = VN_NEVER;
    uint32_t link = live->ports[port].link;
    struct vn_node *node = &context->nodes[live->node];
    packet->in_link = link != VN_NONE ? link ^ 1 : node->in->link;
    if (live->sw->manual) hold_all(live);
    vn_hop_ingress(context, node, port, id);
    if (context->failed) goes_on(live); /* what else was lost the next run says */
}

static bool live_run(struct sw_engine *engine, uint64_t until_ns)
{
    struct live *live = live_of(engine);
    struct vn_context *context = ready(live, until_ns);
    if (context == NULL) return true;
    release(live);
    uint64_t until_ps = live_ps(live, until_ns);
    if (until_ps < context->now) until_ps = context->now; /* it ran ahead */
    enum vn_reason reason = VN_UNTIL;
    if (vn_shared_first(context, &context->order.queue).time > until_ps && !context->failed) {
        context->now = until_ps;
    } else {
        context->exchange.until_ps = until_ps;
        context->exchange.budget = BUDGET;
        reason = vn_run(live->net);
        if (!goes_on(live)) return true;
    }
    if (live->sw->manual) { /* lines are free and nothing has started: these have their turns */
        bring_back(live, until_ps);
        serve_all(live);
        if (!goes_on(live)) return true;
    }
    return reason != VN_BUDGET;
}

static uint64_t live_next(struct sw_engine *engine)
{
    struct live *live = live_of(engine);
    if (live->net == NULL) return UINT64_MAX;
    if (live->holds || to_release(live) != NULL) return 0;
    struct vn_context *context = &live->net->context;
    uint64_t first = vn_shared_first(context, &context->order.queue).time;
    if (again_ps(live) < first) first = again_ps(live);
    return first == VN_NEVER ? UINT64_MAX : live->epoch_ns + (first + 999) / 1000;
}

static void live_set(struct sw_engine *engine, uint16_t port)
{
    struct live *live = live_of(engine);
    if (live->net == NULL) return;
    if (live->sw->manual) hold_all(live);
    if (live->ports[port].link != VN_NONE) set_port(live, port);
    else if (port != live->sw->cpu_port || port == 0) drop(live); /* it has a port more */
}

static void live_flush(struct sw_engine *engine) { drop(live_of(engine)); }

static void live_count(struct sw_engine *engine, uint16_t number, struct sw_port_stats *stats)
{
    const struct live *live = live_of(engine);
    if (live->net == NULL || live->ports[number].link == VN_NONE) return;
    const struct vn_link *link = vn_link_of(&live->net->context, live->ports[number].link);
    for (uint32_t class = 0; class < VN_CLASSES; class++)
        stats->queue_packets[class] += link->classes[class].queue.packets;
    add_refused(link, &stats->queue_dropped, &stats->trimmed);
}

static void live_end(struct sw_engine *engine)
{
    drop(live_of(engine));
    free(live_of(engine)->again);
    free(engine);
}

/* ---- what Python calls ---- */

/* Before the switch's program: this engine moves its packets, until it is destroyed. */
int vn_live(struct sw_switch *sw)
{
    struct live *live = calloc(1, sizeof *live);
    if (live == NULL) return -ENOMEM;
    *live = (struct live){
        .engine = {live_receive, live_run, live_next, live_set, live_flush, live_count, live_end},
        .sw = sw,
    };
    for (uint32_t i = 0; i < SW_MAX_PORTS; i++) live->ports[i].link = VN_NONE;
    int code = sw_set_engine(sw, &live->engine);
    if (code != 0) free(live);
    return code;
}

/* A port's classes share its rate by these weights (0: strict), from now on. */
int vn_live_weights(struct sw_switch *sw, uint16_t number, const uint16_t weights[VN_CLASSES])
{
    if (number >= SW_MAX_PORTS) return -EINVAL;
    sw_lock(sw);
    struct live *live = live_of(sw->engine);
    live->ports[number].weighted = true;
    memcpy(live->ports[number].weights, weights, sizeof live->ports[number].weights);
    live_set(sw->engine, number);
    sw_unlock(sw);
    return 0;
}

/* The order among packets of a class at the outputs: a scheduler's name. What is inside is lost. */
int vn_live_scheduler(struct sw_switch *sw, const char *name)
{
    const struct vn_scheduler *scheduler = vn_scheduler_named(name);
    if (scheduler == NULL) return -EINVAL;
    sw_lock(sw);
    live_of(sw->engine)->scheduler = scheduler->name;
    live_flush(sw->engine);
    sw_unlock(sw);
    return 0;
}
