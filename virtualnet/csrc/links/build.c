/* Building: nodes, links, their channels. */
#include "links/build.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "links/faults.h"
#include "links/flow_control.h"
#include "time/parts.h"

/* Makes room for one more element, aligned to a cache line; capacities are powers of two. NULL: no
 * memory, no change. */
static void *grow_array(void *array, uint32_t n, size_t size)
{
    if (n != 0 && (n & (n - 1)) != 0) return array;
    void *larger = aligned_alloc(64, vn_aligned((n == 0 ? 1 : 2 * (size_t)n) * size));
    if (larger == NULL) return NULL;
    if (n != 0) memcpy(larger, array, n * size);
    free(array);
    return larger;
}

struct vn_node *vn_node_new(struct vn_context *context, const struct vn_node_kind *kind)
{
    struct vn_node *nodes = grow_array(context->nodes, context->n_nodes, sizeof *nodes);
    if (nodes == NULL) return NULL;
    context->nodes = nodes;
    uint64_t *first = grow_array(context->order.next_event, context->n_nodes, sizeof *first);
    if (first == NULL) return NULL;
    context->order.next_event = first;
    first[context->n_nodes] = VN_NEVER;
    struct vn_node *node = &nodes[context->n_nodes];
    *node = (struct vn_node){.kind = kind, .number = context->n_nodes};
    if (!vn_tournament_grow(&node->events, 1)) return NULL;
    context->n_nodes++;
    return node;
}

static int attach(struct vn_context *context, uint32_t link, uint32_t number, uint16_t port)
{
    struct vn_node *node = &context->nodes[number];
    if (vn_here(context, number) && !vn_tournament_grow(&node->events, node->n_in + 2))
        return vn_refuse(context, -ENOMEM, "out of memory");
    if (!node->kind->attach(context, node, port, link))
        return vn_refuse(context, -EEXIST, "no such port, or it has a link");
    context->links[link].slot = (uint16_t)++node->n_in;
    return 0;
}

int64_t vn_add_link(struct vn_context *context, uint32_t a, uint16_t port_a, uint32_t b,
                    uint16_t port_b, uint64_t rate_bps, uint64_t delay_ps)
{
    if (context->pool.base != NULL)
        return vn_refuse(context, -EBUSY, "the network runs already: no link can be added");
    if (a >= context->n_nodes || b >= context->n_nodes || rate_bps == 0) {
        return vn_refuse(context, -EINVAL, "no such node, or no rate");
    }
    uint32_t n = context->n_links;
    if (n + 2 > context->most_links) {
        return vn_refuse(context, -ENOSPC,
                         "too many links, or too little address space for them (ulimit -v)");
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct vn_link *link = &context->links[n + i];
        *link = (struct vn_link){
            .node = i == 0 ? a : b,
            .port = i == 0 ? port_a : port_b,
            .to = i == 0 ? b : a,
            .to_port = i == 0 ? port_b : port_a,
            .up = true,
            .delay = delay_ps,
            .tick = 1,
            .flow_control = VN_FLOW_CONTROL_pfc,
        };
        vn_set_rate(link, rate_bps);
        if (attach(context, n + i, link->node, link->port) != 0) return -EEXIST;
    }
    context->n_links += 2;
    return n;
}

int vn_set_tick(struct vn_context *context, uint64_t tick_ps)
{
    if (context->pool.base != NULL)
        return vn_refuse(context, -EBUSY, "the network runs already: its ticks can't change");
    if (tick_ps == 0 || tick_ps > UINT32_MAX)
        return vn_refuse(context, -EINVAL, "a tick has 1 ps to 4 ms");
    for (uint32_t i = 0; i < context->n_links; i++) {
        context->links[i].tick = (uint32_t)tick_ps;
        vn_set_rate(&context->links[i], context->links[i].rate_bps);
    }
    return 0;
}

int vn_set_link(struct vn_context *context, uint32_t number, uint64_t rate_bps, bool up)
{
    if (number >= context->n_links || rate_bps == 0)
        return vn_refuse(context, -EINVAL, "no such link, or no rate");
    struct vn_link *link = &context->links[number];
    vn_set_rate(link, rate_bps);
    link->up = up;
    if (!up) vn_fault_overruns(link); /* a PAUSE that is to go by it comes late */
    /* The headroom of either direction may have grown. */
    for (uint32_t i = 0; i < 2; i++) vn_flow_control_limits(context, number ^ i);
    if (!link->pending) vn_link_may_send(context, link, number);
    return 0;
}

/* A node's channels are contiguous, in the order of the links that end there. */
static bool make_channels(struct vn_context *context)
{
    context->channels =
        aligned_alloc(64, vn_aligned((context->n_links + 1) * sizeof *context->channels));
    if (context->channels == NULL) {
        vn_fail(context, "out of memory for links");
        return false;
    }
    struct vn_channel *next = context->channels;
    for (uint32_t i = 0; i < context->n_nodes; i++) {
        context->nodes[i].in = next;
        next += context->nodes[i].n_in;
        context->nodes[i].n_in = 0;
    }
    for (uint32_t i = 0; i < context->n_links; i++) {
        struct vn_link *link = &context->links[i];
        struct vn_node *node = &context->nodes[link->to];
        struct vn_channel *channel = &node->in[node->n_in++];
        *channel = (struct vn_channel){
            .next_arrival = VN_NEVER,
            .from = link->node,
            .to = link->to,
            .link = i,
            .delay = link->delay,
            .port = link->to_port,
            .rate = (float)link->rate_bps / 1e9f,
            .inside = link->delay <= vn_duration(link, VN_SHORT_BYTES),
        };
        link->channel = (uint32_t)(channel - context->channels);
        vn_link_receiver(context, i);
    }
    return true;
}

bool vn_links_init(struct vn_context *context)
{
    if (!make_channels(context)) return false;
    for (uint32_t i = 0; i < context->n_nodes; i++) {
        struct vn_node *node = &context->nodes[i];
        if (node->kind->start != NULL && !node->kind->start(context, node)) return false;
    }
    return true;
}

void vn_links_free(struct vn_context *context)
{
    for (uint32_t i = 0; i < context->n_nodes; i++) {
        struct vn_node *node = &context->nodes[i];
        if (node->kind->free != NULL) node->kind->free(context, node);
        free(node->events.at);
        free(node->others.events);
    }
    for (uint32_t i = 0; i < context->n_links; i++) {
        struct vn_link *link = &context->links[i];
        vn_capture_end(link, 0);
        free(link->more);
        free(link->controlled);
        free(link->faults);
        if (context->channels != NULL) free(context->channels[i].ring);
    }
    free(context->channels);
    free(context->nodes);
    if (context->links != NULL)
        munmap(context->links, context->most_links * sizeof *context->links);
}

int vn_allow_frame(struct vn_context *context, uint32_t bytes)
{
    if (bytes <= context->longest_frame) return 0;
    if (bytes > (context->pool.whole != 0 ? context->pool.whole : UINT16_MAX)) {
        char why[64];
        snprintf(why, sizeof why, "a frame of %u bytes: %u is the most", bytes,
                 context->pool.whole != 0 ? context->pool.whole : UINT16_MAX);
        return vn_refuse(context, -EINVAL, why);
    }
    for (uint32_t i = 0; i < context->n_nodes; i++) {
        const struct vn_node *node = &context->nodes[i];
        if (node->kind->fits != NULL && !node->kind->fits(node, bytes)) {
            return vn_refuse(context, -EINVAL, "a frame that no output buffer has room for");
        }
    }
    if (!vn_flow_control_fits(context, bytes))
        return vn_refuse(context, -EINVAL, "a frame that no lane's buffer has room for");
    context->longest_frame = bytes;
    for (uint32_t i = 0; i < context->n_links; i++) vn_flow_control_limits(context, i);
    return 0;
}
