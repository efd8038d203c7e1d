/* A packet's hop by a program's general form, which has a PHV; any v1model program has one. What
 * happens after ingress and after egress is the live switch's (softswitch/csrc/rules.h).
 *
 * A port without a link (the program's internal port) is served at once, and drops packets that
 * it doesn't recirculate. A recirculated packet re-enters ingress at once. */
#include <string.h>

#include "switches/switch.h"

/* A packet's visit to a switch. `passes`: how often in a row it was resubmitted, or left by a port
 * without a link. */
struct visit {
    struct vn_context *context;
    struct vn_node *node;
    uint32_t passes;
    uint64_t ticks; /* of the program's clock, now */
    uint32_t round_bytes; /* of the frame that egress has sent round */
};

typedef struct visit rules_switch;
typedef uint32_t rules_packet;
#define RULES_NONE VN_NONE
#include "rules.h"

enum { MAX_PASSES = 64 };

/* What follows a vn_packet; then the PHV, headroom and the frame do. With VN_LENT nothing does, and
 * all that is in the switch's packet. */
struct vn_phv_packet {
    struct sw_packet p;
    uint32_t truncate_to;
};

/* The state of a packet before it is parsed. */
static void reset(const struct vn_context *context, struct sw_packet *p)
{
    memset(p->phv, 0, context->pool.phv_size);
    p->std = (struct sw_std){0};
}

static struct vn_phv_packet *phv_packet_of(struct vn_context *context, uint32_t id)
{
    return (struct vn_phv_packet *)(void *)(vn_packet_at(context, id) + 1);
}

static struct sw_packet *view_of(struct vn_context *context, uint32_t id)
{
    return VN_LENT ? &vn_packet_at(context, id)->lent->p : &phv_packet_of(context, id)->p;
}

static uint32_t *truncate_to_of(struct vn_context *context, uint32_t id)
{
    return VN_LENT ? &vn_packet_at(context, id)->lent->truncate_to
                   : &phv_packet_of(context, id)->truncate_to;
}

/* Headroom, then the frame. */
static uint8_t *buffer_of(struct vn_context *context, uint32_t id)
{
    return vn_frame(context, vn_packet_at(context, id)) - context->pool.headroom;
}

uint32_t vn_phv_bytes(const struct vn_pool *pool)
{
    if (VN_LENT) return 0;
    return (uint32_t)vn_aligned(sizeof(struct vn_phv_packet)) + pool->phv_size + pool->headroom;
}

void vn_phv_truncate(struct vn_context *context, uint32_t id, uint32_t bytes)
{
    uint32_t *to = truncate_to_of(context, id);
    if (bytes < *to) *to = bytes; /* the program may have cut more */
}

/* Moves the frame to behind the headroom, after headers were added or removed. */
static void restore_headroom(struct vn_context *context, uint32_t id)
{
    struct sw_packet *p = view_of(context, id);
    uint8_t *buffer = buffer_of(context, id), *at = buffer + context->pool.headroom;
    if (p->data == at) return;
    size_t stored = context->pool.headroom + context->pool.stored - (size_t)(p->data - buffer);
    memmove(at, p->data, stored < context->pool.stored ? stored : context->pool.stored);
    p->data = at;
}

static struct visit visit_of(struct vn_context *context, struct vn_node *node, uint32_t passes)
{
    return (struct visit){context, node, passes,
                          vn_ticks_of(vn_switch_of(node)->instance, context->now), 0};
}

static struct sw_instance *rules_instance(struct visit *visit)
{
    return vn_switch_of(visit->node)->instance;
}
static const struct sw_pre *rules_groups(struct visit *visit)
{
    return &vn_switch_of(visit->node)->sw->groups;
}
static const struct sw_pre *rules_clone_sessions(struct visit *visit)
{
    return &vn_switch_of(visit->node)->sw->clones;
}
static uint64_t rules_now(struct visit *visit) { return visit->ticks; }
static struct sw_packet *rules_view(struct visit *visit, uint32_t id)
{
    return view_of(visit->context, id);
}
static uint32_t *rules_truncate_to(struct visit *visit, uint32_t id)
{
    return truncate_to_of(visit->context, id);
}

static void rules_drop(struct visit *visit, uint32_t id)
{
    visit->context->totals.dropped++;
    vn_packet_lose(visit->context, id);
}

static void rules_drop_ungrouped(struct visit *visit, uint32_t id)
{
    visit->context->totals.ungrouped++;
    rules_drop(visit, id);
}

/* To a port without a link. */
static void drop_unlinked(struct visit *visit, uint32_t id)
{
    visit->context->totals.unlinked++;
    rules_drop(visit, id);
}

static void rules_digest(struct visit *visit, uint32_t id)
{
    vn_cpu_digest(visit->context, visit->node, view_of(visit->context, id));
}

/* A packet's place, for a copy of it. It keeps the flow, but isn't one of its data packets. VN_NONE:
 * there is none. */
static uint32_t copy_place(struct vn_context *context, uint32_t id)
{
    uint32_t copy = vn_packet_new(context);
    if (copy == VN_NONE) return VN_NONE;
    *vn_packet_at(context, copy) = *vn_packet_at(context, id);
    vn_packet_at(context, copy)->data = false;
    vn_packet_at(context, copy)->counted =
        vn_end_of(context, vn_packet_at(context, id)->in_link)->paid ? VN_OWN : VN_LOSSY;
    return copy;
}

/* A copy of these bytes of a packet with VN_LENT, from its frame's first one on. */
static uint32_t copy_lent(struct vn_context *context, uint32_t id, uint32_t bytes)
{
    uint8_t *frame = vn_packet_at(context, id)->frame;
    struct sw_pkt *pkt = sw_pkt_copy_bytes(context->pool.lender, frame, bytes);
    if (pkt == NULL) return VN_NONE;
    uint32_t copy = copy_place(context, id);
    if (copy == VN_NONE) {
        sw_pkt_free(context->pool.lender, pkt);
        return VN_NONE;
    }
    struct vn_packet *packet = vn_packet_at(context, copy);
    pkt->passes = vn_packet_at(context, id)->lent->passes;
    packet->lent = pkt;
    packet->frame = pkt->p.data;
    return copy;
}

static uint32_t copy_whole_lent(struct vn_context *context, uint32_t id)
{
    const struct sw_packet *from = view_of(context, id);
    uint32_t parsed = (uint32_t)(from->data - vn_packet_at(context, id)->frame);
    uint32_t copy = copy_lent(context, id, parsed + from->length);
    if (copy == VN_NONE) return VN_NONE;
    struct sw_packet *to = view_of(context, copy);
    to->data += parsed;
    to->length = from->length;
    to->length_register = from->length_register;
    to->ingress_length = from->ingress_length;
    to->std = from->std;
    memcpy(to->phv, from->phv, context->pool.lender->phv_size);
    return copy;
}

static uint32_t rules_copy(struct visit *visit, uint32_t id)
{
    struct vn_context *context = visit->context;
    if (VN_LENT) return copy_whole_lent(context, id);
    uint32_t copy = copy_place(context, id);
    if (copy == VN_NONE) return VN_NONE;
    struct vn_phv_packet *to = phv_packet_of(context, copy);
    const struct vn_phv_packet *from = phv_packet_of(context, id);
    *to = *from;
    to->p.phv = buffer_of(context, copy) - context->pool.phv_size;
    to->truncate_to = UINT32_MAX;
    memcpy(to->p.phv, from->p.phv, context->pool.phv_size);
    memcpy(buffer_of(context, copy), buffer_of(context, id),
           context->pool.headroom + context->pool.stored);
    to->p.data = buffer_of(context, copy) + (from->p.data - buffer_of(context, id));
    return copy;
}

static uint32_t rules_copy_unparsed(struct visit *visit, uint32_t id, const uint8_t *frame,
                                    uint32_t length)
{
    if (VN_LENT) {
        uint32_t lent = copy_lent(visit->context, id, length);
        if (lent != VN_NONE)
            view_of(visit->context, lent)->std.ingress_port =
                view_of(visit->context, id)->std.ingress_port;
        return lent;
    }
    uint32_t copy = rules_copy(visit, id);
    if (copy == VN_NONE) return VN_NONE;
    struct sw_packet *p = view_of(visit->context, copy);
    uint16_t ingress_port = p->std.ingress_port;
    p->data = buffer_of(visit->context, copy) + (frame - buffer_of(visit->context, id));
    p->length = p->length_register = length;
    p->req = SW_NO_REQUESTS;
    reset(visit->context, p);
    p->std.ingress_port = ingress_port;
    return copy;
}

/* Whether a packet with which no run can go on is lost and counted instead: the caller drops it. */
static bool survived(struct visit *visit)
{
    if (visit->context->unable == NULL) return false;
    visit->context->unable[visit->node - visit->context->nodes]++;
    return true;
}

/* Whether the parser found all headers among the stored bytes. Others were read from elsewhere, and
 * would be written there. */
static bool is_stored(struct visit *visit, uint32_t id)
{
    struct vn_context *context = visit->context;
    if (VN_LENT) return true;
    ptrdiff_t parsed = view_of(context, id)->data - vn_frame(context, vn_packet_at(context, id));
    if (parsed <= (ptrdiff_t)context->pool.stored) return true;
    if (survived(visit)) return false;
    vn_fail(context, "a parser took %td bytes of a packet, and virtual time stores the first %u",
            parsed, context->pool.stored);
    return false;
}

/* Whether a run goes on that drops a frame which is too long. */
static __attribute__((noinline)) bool survives_length(struct visit *visit, uint32_t id,
                                                      uint32_t length, uint32_t most)
{
    struct vn_context *context = visit->context;
    if (survived(visit)) return true;
    vn_fail(context,
            "node %u, a packet that came by port %u: headers that a program adds make a frame of "
            "%u bytes: %u is the most",
            (uint32_t)(visit->node - context->nodes), view_of(context, id)->std.ingress_port,
            length, most);
    return false;
}

/* Notes a frame's length, once headers were written. False: it is too long, and to be dropped. */
VN_ALWAYS bool has_bytes(struct visit *visit, uint32_t id, uint32_t length)
{
    const struct vn_pool *pool = &visit->context->pool;
    uint32_t most = VN_LENT ? SW_MAX_FRAME : pool->whole != 0 ? pool->whole : UINT16_MAX;
    if (length > most && survives_length(visit, id, length, most)) return false;
    vn_packet_at(visit->context, id)->bytes = (uint16_t)length;
    return true;
}

static void rules_enqueue(struct visit *visit, uint32_t id, uint32_t number)
{
    struct vn_context *context = visit->context;
    struct vn_packet *packet = vn_packet_at(context, id);
    uint32_t link = number < SW_MAX_PORTS ? vn_switch_of(visit->node)->out[number] : VN_NONE,
             queue = view_of(context, id)->std.priority;
    packet->enq_timestamp = (uint32_t)rules_now(visit);
    packet->enq_qdepth = 0;
    if (!is_stored(visit, id)) {
        rules_drop(visit, id);
        return;
    }
    if (link != VN_NONE && queue < VN_CLASSES) {
        vn_port_admit(context, link, id, queue);
        return;
    }
    if (visit->passes >= MAX_PASSES) {
        if (survived(visit)) {
            rules_drop(visit, id);
            return;
        }
        vn_fail(context,
                "node %u, a packet that came by port %u: it went through port %u %u times without "
                "time going on",
                (uint32_t)(visit->node - context->nodes), view_of(context, id)->std.ingress_port,
                number, visit->passes);
    }
    if (number >= SW_MAX_PORTS) drop_unlinked(visit, id);
    else if (context->failed || queue >= VN_CLASSES) rules_drop(visit, id);
    else vn_phv_egress(context, visit->node, (uint16_t)number, id, queue, 0, visit->passes + 1);
}

/* A lent packet's frame in a new one, with the metadata of a field list. False: there is none. */
static bool begin_again(struct visit *visit, struct vn_packet *packet, int32_t list,
                        enum sw_instance_type type)
{
    struct sw_pool *pool = visit->context->pool.lender;
    struct sw_pkt *old = packet->lent, *pkt = sw_pkt_take_frame(pool, old);
    if (pkt == NULL) return false;
    rules_preserve(visit, list, &old->p, &pkt->p, type);
    pkt->passes = old->passes + 1;
    sw_pkt_free(pool, old);
    packet->lent = pkt = sw_pkt_restore_headroom(pool, pkt);
    if (pkt == NULL) return false;
    packet->frame = pkt->p.data;
    packet->data = VN_WHOLE; /* a queue's cut is behind egress alone */
    pkt->p.std.packet_length = pkt->p.length;
    return true;
}

/* No memory, or too long: a live switch counts it where it came in (softswitch/csrc/switch.h). */
static __attribute__((noinline)) void lose_round(struct visit *visit, uint32_t id,
                                                 uint16_t ingress_port)
{
    struct sw_port *in = sw_port_of(vn_switch_of(visit->node)->sw, ingress_port);
    if (in != NULL) in->stats.rx_dropped++;
    rules_drop(visit, id);
}

/* Resets headers and metadata, except the fields of the list. */
static void rules_reenter(struct visit *visit, uint32_t id, int32_t list,
                          enum sw_instance_type type)
{
    struct visit again = *visit;
    visit->round_bytes = view_of(visit->context, id)->length;
    if (type == SW_RESUBMIT && again.passes++ >= MAX_PASSES) {
        if (!survived(visit))
            vn_fail(visit->context,
                    "node %u, a packet that came by port %u: it was resubmitted %u times without "
                    "time going on",
                    (uint32_t)(visit->node - visit->context->nodes),
                    view_of(visit->context, id)->std.ingress_port, visit->passes);
        rules_drop(visit, id);
        return;
    }
    if (VN_LENT) {
        struct vn_packet *packet = vn_packet_at(visit->context, id);
        const struct vn_context *context = visit->context;
        uint16_t ingress_port = packet->lent->p.std.ingress_port;
        if (!begin_again(visit, packet, list, type) ||
            !has_bytes(visit, id, packet->lent->p.length))
            lose_round(visit, id, ingress_port);
        else if (context->reenters != NULL) context->reenters(visit->context, visit->node, id);
        else rules_ingress(&again, id);
        return;
    }
    uint32_t old = rules_copy(visit, id);
    if (old == VN_NONE) {
        rules_drop(visit, id);
        return;
    }
    struct sw_packet *p = view_of(visit->context, id);
    reset(visit->context, p);
    rules_preserve(visit, list, view_of(visit->context, old), p, type);
    vn_packet_free(visit->context, old);
    restore_headroom(visit->context, id);
    *truncate_to_of(visit->context, id) = UINT32_MAX;
    p->std.packet_length = p->length;
    if (has_bytes(visit, id, p->length)) rules_ingress(&again, id);
    else rules_drop(visit, id);
}

void vn_phv_again(struct vn_context *context, struct vn_node *node, uint32_t id)
{
    struct visit visit = visit_of(context, node, 0);
    rules_ingress(&visit, id);
}

void vn_phv_ingress(struct vn_context *context, struct vn_node *node, uint16_t port, uint32_t id)
{
    struct sw_packet *p = view_of(context, id);
    if (!VN_LENT) { /* else it is as the switch made it */
        p->phv = buffer_of(context, id) - context->pool.phv_size;
        reset(context, p);
        p->data = vn_frame(context, vn_packet_at(context, id));
        p->length = vn_packet_at(context, id)->bytes;
        *truncate_to_of(context, id) = UINT32_MAX;
    }
    p->std.packet_length = p->length;
    p->std.ingress_port = port;
    struct visit visit = visit_of(context, node, 0);
    p->std.ingress_global_timestamp = visit.ticks;
    rules_ingress(&visit, id);
}

enum vn_verdict vn_phv_egress_here(struct vn_context *context, struct vn_node *node, uint16_t port,
                                   uint32_t id, uint32_t queue, uint32_t deq_qdepth,
                                   uint32_t passes)
{
    struct vn_packet *packet = vn_packet_at(context, id);
    struct sw_packet *p = view_of(context, id);
    p->std.enq_timestamp = packet->enq_timestamp;
    p->std.enq_qdepth = packet->enq_qdepth;
    struct visit visit = visit_of(context, node, passes);
    uint32_t rounds = VN_LENT ? packet->lent->passes : 0;
    enum rules_verdict verdict = rules_egress(&visit, id, port, queue, deq_qdepth);
    if (verdict == RULES_RECIRCULATED && passes == 0) {
        struct vn_port_more *more =
            vn_port_more(vn_link_of(context, vn_switch_of(node)->out[port]));
        more->passes = rounds;
        more->round_bytes = visit.round_bytes;
    }
    if (verdict != RULES_SEND) return verdict == RULES_RECIRCULATED ? VN_RECIRCULATED : VN_DROPPED;
    uint32_t limit = *truncate_to_of(context, id), length = limit < p->length ? limit : p->length;
    if (passes != 0 && vn_switch_of(node)->out[port] == VN_NONE) {
        const struct sw_switch *sw = vn_switch_of(node)->sw;
        if (port == sw->cpu_port && port != 0) {
            vn_cpu_in(context, node, packet, p->data, length);
            vn_packet_lose(context, id);
        } else {
            drop_unlinked(&visit, id);
        }
        return VN_DROPPED;
    }
    if (VN_LENT) {
        packet->frame = p->data;
        p->length = length;
    } else {
        restore_headroom(context, id);
    }
    if (length == 0 || !has_bytes(&visit, id, length)) { /* all is cut off: there is no frame */
        rules_drop(&visit, id);
        return VN_DROPPED;
    }
    if (packet->data != VN_TRIMMED) return VN_SEND;
    return vn_trim_finish(context, vn_link_of(context, vn_switch_of(node)->out[port]), id);
}

enum vn_verdict vn_phv_egress(struct vn_context *context, struct vn_node *node, uint16_t port,
                              uint32_t id, uint32_t queue, uint32_t deq_qdepth, uint32_t passes)
{
    return vn_phv_egress_here(context, node, port, id, queue, deq_qdepth, passes);
}
