/* Hosts as a kind of node: endpoints on one or several links. */
#include "hosts/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "links/build.h"

/* The host's endpoint i. */
VN_ALWAYS const struct vn_endpoint_kind *endpoint_of(const struct vn_context *context,
                                                     const struct vn_host *host, uint32_t i)
{
    VN_ASSERT(i < host->n);
    return context->endpoint_kinds[host->endpoints[i]];
}

/* ---- frames that wait ---- */

void vn_host_send_queued(struct vn_context *context, struct vn_link *link)
{
    if (link->has_control) {
        vn_transmit(context, link, vn_control_pop(context, link));
        return;
    }
    uint32_t class = 31u - (uint32_t)__builtin_clz(vn_gate_passes(link, link->waiting));
    struct vn_fifo *queue = &link->classes[class].queue;
    uint32_t id = vn_fifo_pop(context, queue);
    VN_ASSERT(link->waiting >> class & 1);
    if (queue->packets == 0) link->waiting &= (uint8_t)~(1u << class);
    vn_transmit(context, link, id);
    vn_gate_sent(context, link, class, id);
}

/* Without an endpoint that decides: as soon as the line is free. */
static void send_soon(struct vn_context *context, struct vn_link *link)
{
    if (link->up && vn_host_waits(link)) vn_host_at(context, link, link->free_at);
}

static void host_may_send(struct vn_context *context, struct vn_link *link, uint32_t number)
{
    (void)number;
    const struct vn_host *host = vn_host_of(vn_near(context, link));
    if (host->n != 0 && endpoint_of(context, host, 0)->may_send != NULL)
        endpoint_of(context, host, 0)->may_send(context, link);
    else send_soon(context, link);
}

void vn_host_send_first(struct vn_context *context, uint32_t number, uint32_t id)
{
    vn_control_push(context, &context->links[number], id);
    host_may_send(context, &context->links[number], number);
}

void vn_host_send(struct vn_context *context, uint32_t number, uint32_t id, uint32_t class)
{
    struct vn_link *link = &context->links[number];
    VN_ASSERT(class < VN_CLASSES &&
              (link->waiting >> class & 1) == (link->classes[class].queue.packets != 0));
    vn_fifo_push(context, &link->classes[class].queue, id);
    link->waiting |= (uint8_t)(1u << class);
    host_may_send(context, link, number);
}

void vn_host_event(struct vn_context *context, uint32_t number)
{
    struct vn_link *link = vn_link_of(context, number);
    const struct vn_host *host = vn_host_of(vn_near(context, link));
    VN_ASSERT(vn_host_port(link)->scheduled == context->now);
    vn_host_port(link)->scheduled = VN_NEVER;
    if (host->n != 0 && endpoint_of(context, host, 0)->act != NULL) {
        endpoint_of(context, host, 0)->act(context, link);
        return;
    }
    if (link->up && link->free_at <= context->now && vn_host_waits(link))
        vn_host_send_queued(context, link);
    send_soon(context, link);
}

bool vn_host_replaced(const struct vn_context *context, uint32_t number, uint64_t time)
{
    return vn_host_port(vn_link_of(context, number))->scheduled != time;
}

/* ---- what arrives ---- */

VN_ALWAYS void host_offer(struct vn_context *context, struct vn_channel *channel, uint32_t id)
{
    struct vn_node *node = &context->nodes[channel->to];
    const struct vn_host *host = vn_host_of(node);
    for (uint32_t i = 0; i < host->n; i++) {
        if (endpoint_of(context, host, i)->take(context, node, channel->link ^ 1, id)) return;
    }
    context->totals.stray_frames++;
    vn_packet_free(context, id);
}

static void host_take(struct vn_context *context, struct vn_channel *channel, uint32_t id)
{
    host_offer(context, channel, id);
}

static void host_arrival(struct vn_context *context, struct vn_channel *channel, uint32_t id)
{
    if (!vn_flow_control_took(context, channel, id)) host_offer(context, channel, id);
}

static void host_control(struct vn_context *context, struct vn_channel *channel, uint32_t id)
{
    (void)channel;
    vn_packet_free(context, id);
}

/* ---- endpoints' events ---- */

enum { NUMBERS = (1 << 24) - 1 };

void vn_endpoint_start(struct vn_context *context, uint32_t id)
{
    context->endpoint_kinds[id >> 24]->start(context, id & NUMBERS);
}
void vn_endpoint_window(struct vn_context *context, uint32_t id)
{
    context->endpoint_kinds[id >> 24]->window(context, id & NUMBERS);
}
void vn_endpoint_timer(struct vn_context *context, uint32_t id)
{
    context->endpoint_kinds[id >> 24]->timer(context, id & NUMBERS);
}

uint32_t vn_endpoint_start_node(const struct vn_context *context, uint32_t id)
{
    return context->endpoint_kinds[id >> 24]->node_of(context, VN_EV_START, id & NUMBERS);
}

uint32_t vn_endpoint_window_node(const struct vn_context *context, uint32_t id)
{
    return context->endpoint_kinds[id >> 24]->node_of(context, VN_EV_WINDOW, id & NUMBERS);
}

uint32_t vn_endpoint_timer_node(const struct vn_context *context, uint32_t id)
{
    return context->endpoint_kinds[id >> 24]->node_of(context, VN_EV_TIMER, id & NUMBERS);
}

bool vn_endpoints_cannot_finish(struct vn_context *context, uint64_t within)
{
    for (uint32_t i = 0; i < VN_ENDPOINT_KINDS; i++) {
        const struct vn_endpoint_kind *kind = context->endpoint_kinds[i];
        if (kind->cannot_finish_yet != NULL && kind->cannot_finish_yet(context, within))
            return true;
    }
    return false;
}

bool vn_endpoints_cannot_wake(struct vn_context *context, uint64_t within)
{
    for (uint32_t i = 0; i < VN_ENDPOINT_KINDS; i++) {
        const struct vn_endpoint_kind *kind = context->endpoint_kinds[i];
        if (kind->cannot_wake_yet != NULL && !kind->cannot_wake_yet(context, within)) return false;
    }
    return true;
}

void vn_endpoints_answer(struct vn_context *context, const struct vn_question *question)
{
    context->endpoint_kinds[question->endpoint]->answer(context, question->about);
}

/* The kind that calls Python: there is one, where anything raises. */
static const struct vn_endpoint_kind *python_of(const struct vn_context *context)
{
    uint32_t i = 0;
    while (context->endpoint_kinds[i]->hold == NULL) i++;
    return context->endpoint_kinds[i];
}

void *vn_endpoints_hold(struct vn_context *context) { return python_of(context)->hold(context); }

void vn_endpoints_release(struct vn_context *context, void *held, bool raise)
{
    python_of(context)->release(context, held, raise);
}

/* ---- the kind ---- */

static bool host_attach(struct vn_context *context, struct vn_node *node, uint16_t port,
                        uint32_t link)
{
    struct vn_host *host = vn_host_of(node);
    struct vn_link *added = vn_link_of(context, link);
    vn_host_port(added)->scheduled = VN_NEVER;
    if (host->link == VN_NONE) {
        host->link = link;
        return true;
    }
    for (uint32_t port_link = host->link; port_link != VN_NONE;
         port_link = vn_host_next(context, port_link)) {
        if (context->links[port_link].port == port) return false;
    }
    struct vn_host_more *more = added->more = calloc(1, sizeof *more);
    if (more == NULL) return false;
    more->next = host->others;
    host->others = link;
    if (host->n != 0 && endpoint_of(context, host, 0)->port_added != NULL)
        endpoint_of(context, host, 0)->port_added(more->state);
    return true;
}

static void host_prefetch(const struct vn_context *context, const struct vn_node *node,
                          uint32_t step, uint32_t i)
{
    enum { PACKETS = 16 /* most in flight to it */ };
    const struct vn_channel *in = &node->in[i];
    const struct vn_host *host = vn_host_of((struct vn_node *)node);
    if (step == 0) {
        vn_prefetch(in);
        vn_prefetch(&node->events.at[node->events.n]);
        vn_prefetch(node->others.events);
    } else if (step == 1) {
        for (uint32_t n = 0; n < in->n && n < PACKETS; n += 4) vn_prefetch(vn_in_flight_at(in, n));
        vn_prefetch(&context->links[in->link ^ 1]);
    } else { /* step 3 repeats the prefetches of step 2 that the processor dropped */
        for (uint32_t n = 0; n < in->n && n < PACKETS; n++)
            vn_prefetch_packet(context, vn_in_flight_at(in, n)->packet);
    }
    if (host->n != 0 && endpoint_of(context, host, 0)->prefetch != NULL)
        endpoint_of(context, host, 0)
            ->prefetch(context, node, vn_link_of(context, in->link ^ 1), step);
}

static void host_prefetch_arrival(const struct vn_context *context, const struct vn_node *node,
                                  uint32_t packet)
{
    const struct vn_host *host = vn_host_of((struct vn_node *)node);
    const struct vn_endpoint_kind *first = host->n != 0 ? endpoint_of(context, host, 0) : NULL;
    if (first != NULL && first->prefetch_arrival != NULL) first->prefetch_arrival(context, packet);
}

static void host_free(struct vn_context *context, struct vn_node *node)
{
    struct vn_host *host = vn_host_of(node);
    if (host->n == 0 || endpoint_of(context, host, 0)->free_port == NULL) return;
    endpoint_of(context, host, 0)->free_port(host->state);
    for (uint32_t port = host->others; port != VN_NONE; port = vn_host_next(context, port)) {
        endpoint_of(context, host, 0)->free_port(vn_host_own(context, &context->links[port]));
    }
}

static const struct vn_node_kind vn_host_kind = {
    .name = "host",
    .attach = host_attach,
    .take = host_take,
    .arrival = host_arrival,
    .control = host_control,
    .may_send = host_may_send,
    .prefetch = host_prefetch,
    .prefetch_arrival = host_prefetch_arrival,
    .free = host_free,
};

int64_t vn_add_host(struct vn_context *context, const uint8_t ip[4])
{
    if (context->pool.base != NULL)
        return vn_refuse(context, -EBUSY, "the network runs already: no host can be added");
    struct vn_node *node = vn_node_new(context, &vn_host_kind);
    if (node == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
    struct vn_host *host = vn_host_of(node);
    *host = (struct vn_host){.link = VN_NONE, .others = VN_NONE};
    memcpy(host->ip, ip, 4);
    return node->number;
}

int vn_add_endpoint(struct vn_context *context, uint32_t number, const char *name)
{
    struct vn_node *node = number < context->n_nodes ? &context->nodes[number] : NULL;
    if (node == NULL || node->kind != &vn_host_kind)
        return vn_refuse(context, -EINVAL, "no such host");
    struct vn_host *host = vn_host_of(node);
    if (host->n == sizeof host->endpoints)
        return vn_refuse(context, -ENOSPC, "a host has as many endpoints as it can");
    for (uint32_t i = 0; i < VN_ENDPOINT_KINDS; i++) {
        if (strcmp(context->endpoint_kinds[i]->name, name) != 0) continue;
        if (context->endpoint_kinds[i]->act != NULL && host->n != 0) {
            return vn_refuse(context, -EINVAL,
                             "an endpoint that decides what starts when is a host's first");
        }
        if (node->n_in > 1)
            return vn_refuse(context, -EBUSY, "a host has its endpoints before its second link");
        if (context->endpoint_kinds[i]->added != NULL &&
            !context->endpoint_kinds[i]->added(context, node))
            return vn_refuse(context, -ENOMEM, "out of memory");
        if (host->n == 0 && context->endpoint_kinds[i]->port_added != NULL)
            context->endpoint_kinds[i]->port_added(host->state);
        host->endpoints[host->n++] = (uint8_t)i;
        return 0;
    }
    return vn_refuse(context, -EINVAL, "no such endpoint");
}

struct vn_node *vn_host_with(struct vn_context *context, uint32_t number,
                             enum vn_endpoint_number endpoint)
{
    struct vn_node *node = number < context->n_nodes ? &context->nodes[number] : NULL;
    if (node == NULL || node->kind != &vn_host_kind || vn_host_of(node)->link == VN_NONE)
        return NULL;
    const struct vn_host *host = vn_host_of(node);
    return memchr(host->endpoints, endpoint, host->n) != NULL ? node : NULL;
}
