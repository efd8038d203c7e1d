/* A switch's ports: flow-control frames first, then strict priority among the classes that the
 * gate lets pass. The program's egress runs when a packet starts to leave.
 *
 * A recirculated packet takes no time on the wire, but its class is blocked as long as if it
 * did, as in the live switch. */
#include "switches/paths.h"
#include "switches/pipeline.h"
#include "switches/scheduler.h"
#include "switches/watchdog.h"
#include "switches/weights.h"

/* A packet that its class refuses, `*id` or the last one there, which becomes `*id`, goes to the
 * queue of trimmed ones, if it is to be trimmed. False: it isn't queued. */
static __attribute__((noinline)) bool trimmed(struct vn_context *context, struct vn_link *link,
                                              uint32_t class, uint32_t *id)
{
    uint32_t queue;
    *id = vn_trim_refused(context, link, class, *id);
    if (!vn_trim(context, link, class, *id, &queue)) return false;
    vn_packet_at(context, *id)->enq_qdepth = vn_scheduler_waiting(link, queue) & 0x7ffffu;
    if (vn_scheduler_admit(context, link, queue, *id)) return true;
    if (VN_LENT) { /* which counts it as lost, once */
        link->refused[class]--;
        vn_port_more(link)->trimmed[class]--;
    }
    return false;
}

/* A packet is lost that is to leave by a link that is down. The program's egress sees it, so that
 * what the program counts stays right. */
static __attribute__((noinline)) void discard(struct vn_context *context, struct vn_link *link,
                                              uint32_t class, uint32_t id)
{
    if (vn_hop_egress(context, vn_near(context, link), link->port, id, class, 0) == VN_SEND)
        vn_packet_lose(context, id);
}

/* Whether a packet is lost, or held, that is to leave by the port. */
static bool drops(struct vn_context *context, struct vn_link *link, uint32_t class, uint32_t id)
{
    if (vn_port_of(link)->discards) discard(context, link, class, id);
    else if (vn_port_of(link)->holds) return vn_pipeline_holds(context, link, class, id);
    else vn_watchdog_drops(context, link, id);
    return true;
}

void vn_port_discard(struct vn_context *context, struct vn_link *link, bool discards)
{
    vn_port_of(link)->discards = discards;
    vn_port_of(link)->dropping = discards || vn_port_of(link)->holds ? UINT8_MAX : 0;
    for (uint32_t class = 0; discards && class < VN_CLASSES; class++) {
        while (link->waiting >> class & 1) {
            struct vn_departure departure = vn_scheduler_next(context, link, class);
            discard(context, link, class, departure.packet);
            vn_scheduler_release(context, class, &departure);
        }
    }
}

static void take_from(const struct sw_register *reg, uint32_t cell, uint32_t n)
{
    if (cell < reg->size)
        *(uint32_t *)(void *)((uint8_t *)reg->cells + (size_t)cell * reg->stride) -= n;
}

/* A packet is lost that the queue refuses. v1model has no hook where a program would learn that:
 * what it counts as waiting at `port`, by which it marks, is without the packet again. */
static __attribute__((noinline)) void refuse(struct vn_context *context, struct vn_link *link,
                                             uint32_t class, uint32_t id, uint16_t port)
{
    const struct vn_switch *self = vn_switch_of(vn_near(context, link));
    struct vn_packet *packet = vn_packet_at(context, id);
    uint32_t cell = port * VN_CLASSES + class;
    take_from(&self->waiting_packets, cell, 1);
    take_from(&self->waiting_bytes, cell,
              packet->data == VN_TRIMMED ? vn_trim_whole(vn_frame(context, packet))
                                         : packet->bytes);
    vn_packet_lose(context, id);
}

/* A lossy packet is refused, and queued all the same where the scheduler gives up another one for
 * it, which is lost. */
static __attribute__((noinline)) bool exchanged(struct vn_context *context, struct vn_link *link,
                                                uint32_t class, uint32_t id, uint16_t port)
{
    const struct vn_scheduler *scheduler = vn_port_more(link)->scheduler;
    struct vn_class *to = &link->classes[class];
    if (scheduler == NULL || scheduler->give_up == NULL || to->queue.packets == 0) return false;
    const struct vn_packet *packet = vn_packet_at(context, id);
    if (vn_end_of(context, packet->in_link)->classes[class].lossless) return false;
    uint32_t lost = scheduler->give_up(context, link, class, id);
    if (lost == VN_NONE) return false;
    const struct vn_packet *loser = vn_packet_at(context, lost);
    struct vn_departure departure = {lost, 0, loser->in_link, loser->bytes, loser->counted};
    if (--to->queue.packets == 0) link->waiting &= (uint8_t)~(1u << class);
    to->queued_bytes -= loser->bytes;
    vn_scheduler_release(context, class, &departure);
    refuse(context, link, class, lost, port);
    return vn_scheduler_admit(context, link, class, id);
}

static void serve(struct vn_context *, struct vn_link *, uint32_t number);

/* Whether a frame may start once the line is free. */
VN_ALWAYS bool waits(const struct vn_link *link)
{
    return (vn_gate_passes(link, link->waiting) & ~(uint32_t)vn_port_of(link)->resting) != 0 ||
           link->has_control;
}

/* For how long a class is blocked after a packet of it was recirculated. */
static uint64_t round_time(struct vn_link *link, uint32_t class)
{
    enum { STEP = 1000000 }; /* ps, a round */
    struct vn_port_more *more = vn_port_more(link);
    uint64_t time = vn_duration(link, more->round_bytes);
    if (__builtin_expect(more->longest_round == 0, 1)) return time;
    if (more->by_passes) { /* as traffic.c's sw_tm_recirculated */
        if (more->passes < SW_LOOP_PASSES) return time;
        if (more->rounds[class] == 0) more->rounds[class] = vn_scheduler_waiting(link, class) + 1;
        return --more->rounds[class] == 0 ? time + more->longest_round : time;
    }
    if (more->rounds_since[class] != link->packets) more->rounds[class] = 0;
    more->rounds_since[class] = link->packets;
    uint64_t waits = more->rounds[class]++ * STEP;
    return time + (waits < more->longest_round ? waits : more->longest_round);
}

/* A packet was recirculated: its class is blocked. */
static void block(const struct vn_context *context, struct vn_link *link, uint32_t class)
{
    vn_port_of(link)->recirculating |= (uint8_t)(1u << class);
    vn_port_more(link)->blocked_until[class] = context->now + round_time(link, class);
}

/* Nothing waits or is being sent, and nothing has been set by which a packet would be held, lost or
 * counted. */
VN_ALWAYS bool is_idle(const struct vn_context *context, const struct vn_link *link)
{
    uint64_t state, last_class = 0; /* the first of its bytes, and no other, may be set */
    uint32_t busy; /* `waiting` to `has_control` */
    _Static_assert(sizeof state == sizeof link->state, "a port's state is a word");
    _Static_assert(offsetof(struct vn_link, waiting) + sizeof busy == offsetof(struct vn_link, up),
                   "they are in a row");
    memcpy(&state, link->state, sizeof state);
    memcpy(&last_class, link->state, sizeof vn_port_of(link)->last_class);
    memcpy(&busy, (const char *)link + offsetof(struct vn_link, waiting), sizeof busy);
    return state == last_class && busy == 0 && link->up && link->free_at <= context->now;
}

/* What admission and serving do where a lossy packet finds its port idle, and wouldn't be refused:
 * as is mostly the case at a live switch. False: it isn't so. */
VN_ALWAYS bool passes(struct vn_context *context, struct vn_link *link, uint32_t number,
                      uint32_t id, uint32_t class)
{
    struct vn_packet *packet = vn_packet_at(context, id);
    const struct vn_class *in = &vn_end_of(context, packet->in_link)->classes[class];
    if (!is_idle(context, link) || packet->counted || in->lossless ||
        link->classes[class].depth == VN_NO_QUEUE)
        return false;
    vn_observe_queued(context, link, class, id);
    vn_port_of(link)->last_class = (uint8_t)class;
    vn_port_of(link)->serving = true;
    enum vn_verdict verdict =
        vn_phv_egress_here(context, vn_near(context, link), link->port, id, class, 0, 0);
    if (__builtin_expect(verdict == VN_SEND, 1)) {
        vn_transmit(context, link, id);
        vn_gate_sent(context, link, class, id);
        if (__builtin_expect(link->waiting || link->has_control, 0) && waits(link))
            vn_link_await(context, link, link->free_at, number);
    } else {
        if (verdict == VN_RECIRCULATED) block(context, link, class);
        serve(context, link, number);
    }
    vn_port_of(link)->serving = false;
    return true;
}

/* `port`: for which the program has taken it. */
VN_ALWAYS void admit(struct vn_context *context, struct vn_link *link, uint32_t number, uint32_t id,
                     uint32_t class, uint16_t port)
{
    if (!vn_scheduler_admit(context, link, class, id) &&
        !(vn_port_of(link)->trims && trimmed(context, link, class, &id)) &&
        !exchanged(context, link, class, id, port)) {
        refuse(context, link, class, id, port);
        return;
    }
    if (vn_port_of(link)->fabric) vn_fabric_grant(context, link, number);
    else if (!link->pending) vn_port_serve(context, link, number);
}

void vn_port_admit(struct vn_context *context, uint32_t number, uint32_t id, uint32_t class)
{
    uint16_t port = vn_link_of(context, number)->port;
    if (__builtin_expect(context->paths != NULL, 0))
        number = vn_path_taken(context, number, vn_packet_at(context, id));
    struct vn_link *link = vn_link_of(context, number);
    VN_ASSERT(class < VN_CLASSES && vn_is_switch(vn_near(context, link)));
    /* bit<19> */
    vn_packet_at(context, id)->enq_qdepth = vn_scheduler_waiting(link, class) & 0x7ffffu;
    if (VN_LENT && passes(context, link, number, id, class)) return;
    if (__builtin_expect(vn_port_of(link)->dropping >> class & 1, 0) &&
        drops(context, link, class, id))
        return;
    admit(context, link, number, id, class, port);
}

void vn_port_admit_held(struct vn_context *context, uint32_t number, uint32_t id, uint32_t class)
{
    struct vn_link *link = vn_link_of(context, number);
    if (vn_port_of(link)->discards) discard(context, link, class, id);
    else admit(context, link, number, id, class, link->port);
}

/* Removes the classes that are blocked after a recirculation. Lowers `next` to the end of the first
 * one's blocking. */
static uint32_t without_blocked(struct vn_link *link, uint32_t classes, uint64_t now,
                                uint64_t *next)
{
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        if (!(vn_port_of(link)->recirculating >> class & 1)) continue;
        if (vn_port_more(link)->blocked_until[class] <= now) {
            vn_port_of(link)->recirculating &= (uint8_t)~(1u << class);
        } else if (classes >> class & 1) {
            classes &= ~(1u << class);
            if (vn_port_more(link)->blocked_until[class] < *next)
                *next = vn_port_more(link)->blocked_until[class];
        }
    }
    return classes;
}

/* The port looks again when the first blocked class may send; what comes meanwhile in others goes
 * at once. One event is enough for all looks until then. */
static void await_unblocked(struct vn_context *context, const struct vn_link *link, uint64_t time,
                            uint32_t number)
{
    struct vn_port_more *more = vn_port_more(link);
    if (more->unblocked_at > context->now && more->unblocked_at <= time) return;
    more->unblocked_at = time;
    vn_at(context, link->node, time, VN_EV_READY, number);
}

/* A packet of so many bytes has left the queue of a class, whose rate or cap may keep back the next
 * one. */
static void rest(struct vn_context *context, struct vn_link *link, uint32_t number, uint32_t class,
                 uint32_t bytes)
{
    struct vn_port_more *more = vn_port_more(link);
    uint64_t until = context->now + more->interval[class];
    more->served[class]++;
    if (more->cap[class] != 0) {
        /* From when it could have left, or by what waited for the line the class would lose; but by a
         * frame's time at most, as a class gains no credit while it has nothing to send. */
        uint64_t time = bytes * UINT64_C(8000000000000) / more->cap[class]; /* below 2^60 */
        uint64_t from = more->rests_until[class];
        if (from == 0 || from + time < context->now) from = context->now;
        if (from + time > until) until = from + time;
    }
    if (until == context->now) return;
    vn_port_of(link)->resting |= (uint8_t)(1u << class);
    more->rests_until[class] = until;
    vn_at(context, link->node, more->rests_until[class], VN_EV_READY, number);
}

void vn_port_ready(struct vn_context *context, uint32_t number)
{
    struct vn_link *link = vn_link_of(context, number);
    if (vn_port_of(link)->fabric) {
        vn_fabric_ready(context, number);
        return;
    }
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        if (vn_port_more(link)->rests_until[class] <= context->now)
            vn_port_of(link)->resting &= (uint8_t)~(1u << class);
    }
    if (!link->pending) vn_port_serve(context, link, number);
}

/* Of a switch whose clock stands: see live/live.c. */
VN_ALWAYS bool by_turns(const struct vn_link *link)
{
    return VN_LENT && vn_port_more(link)->by_passes;
}

static void serve(struct vn_context *context, struct vn_link *link, uint32_t number)
{
    VN_ASSERT(vn_port_of(link)->serving && !vn_port_of(link)->fabric);
    while (link->up && !context->failed) {
        uint32_t classes =
            vn_gate_passes(link, link->waiting) & ~(uint32_t)vn_port_of(link)->resting;
        if (classes == 0 && !link->has_control) return;
        if (context->now < link->free_at) {
            vn_link_await(context, link, link->free_at, number);
            return;
        }
        if (link->has_control) {
            vn_transmit(context, link, vn_control_pop(context, link));
            continue;
        }
        uint64_t next = VN_NEVER;
        if (vn_port_of(link)->recirculating != 0)
            classes = without_blocked(link, classes, context->now, &next);
        if (classes == 0) {
            await_unblocked(context, link, next, number);
            return;
        }
        if (by_turns(link) && vn_port_more(link)->turn-- == 0) return;
        bool weighted = vn_port_of(link)->weighted;
        uint32_t class = 31u - (uint32_t)__builtin_clz(classes);
        if (__builtin_expect(weighted, 0)) class = vn_weights_choose(link, classes);
        else if (__builtin_expect(vn_port_of(link)->trims, 0))
            class = sw_trim_turn(&vn_port_more(link)->trimming, classes);
        vn_port_of(link)->last_class = (uint8_t)class;
        struct vn_departure departure = vn_scheduler_next(context, link, class);
        if (vn_port_of(link)->rated) rest(context, link, number, class, departure.bytes);
        enum vn_verdict verdict = vn_hop_egress(context, vn_near(context, link), link->port,
                                                departure.packet, class, departure.deq_qdepth);
        if (verdict == VN_RECIRCULATED) {
            block(context, link, class);
            continue;
        }
        if (verdict == VN_SEND) {
            if (__builtin_expect(weighted, 0)) {
                vn_weights_charge(link, class, vn_packet_at(context, departure.packet)->bytes);
            }
            vn_transmit(context, link, departure.packet);
            vn_gate_sent(context, link, class, departure.packet);
        }
        vn_scheduler_release(context, class, &departure);
        if (verdict != VN_SEND) continue;
        if (by_turns(link) && link->free_at <= context->now) continue; /* it has no rate */
        if (waits(link)) vn_link_await(context, link, link->free_at, number);
        return; /* the line is busy now */
    }
}

void vn_port_serve(struct vn_context *context, struct vn_link *link, uint32_t number)
{
    /* a nested call, e.g. a departing packet's clone was admitted */
    if (vn_port_of(link)->serving) return;
    vn_port_of(link)->serving = true;
    if (vn_port_of(link)->fabric) vn_fabric_serve(context, link, number);
    else serve(context, link, number);
    vn_port_of(link)->serving = false;
}
