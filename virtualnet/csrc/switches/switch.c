/* Switches as a kind of node: what they do with what arrives, and what is fetched for them
 * ahead. */
#include "switches/switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "links/build.h"
#include "links/shared_buffer.h"
#include "switches/pipeline.h"
#include "switches/scheduler.h"

#define VN_SCHEDULER(name) static const struct vn_scheduler vn_scheduler_##name;
VN_SCHEDULERS(VN_SCHEDULER)
#undef VN_SCHEDULER

#define VN_SCHEDULER(name) &vn_scheduler_##name,
static const struct vn_scheduler *const vn_schedulers[] = {VN_SCHEDULERS(VN_SCHEDULER)};
#undef VN_SCHEDULER

const struct vn_scheduler *vn_scheduler_named(const char *name)
{
    for (size_t i = 0; i < sizeof vn_schedulers / sizeof *vn_schedulers; i++) {
        /* one that its file doesn't define is all zeros */
        const char *known = vn_schedulers[i]->name;
        if (known != NULL && strcmp(known, name) == 0) return vn_schedulers[i];
    }
    return NULL;
}

VN_ALWAYS void switch_ingress(struct vn_context *context, struct vn_channel *channel, uint32_t id)
{
    struct vn_packet *packet = vn_packet_at(context, id);
    packet->in_link = channel->link;
    context->totals.data_traversals += packet->data != VN_NOT_DATA;
    vn_hop_ingress(context, &context->nodes[channel->to], channel->port, id);
}

static void switch_take(struct vn_context *context, struct vn_channel *channel, uint32_t id)
{
    switch_ingress(context, channel, id);
}

static void switch_arrival(struct vn_context *context, struct vn_channel *channel, uint32_t id)
{
    if (!vn_flow_control_took(context, channel, id)) switch_ingress(context, channel, id);
}

static bool switch_attach(struct vn_context *context, struct vn_node *node, uint16_t port,
                          uint32_t link)
{
    (void)context;
    const struct sw_switch *sw = vn_switch_of(node)->sw;
    uint32_t *out = vn_switch_of(node)->out;
    /* what leaves by a switch's own CPU port is its controller's, unless its engine has queues there */
    bool to_cpu = port != 0 && port == sw->cpu_port && sw->engine == NULL;
    if (port >= SW_MAX_PORTS || out[port] != VN_NONE || to_cpu) return false;
    out[port] = link;
    return true;
}

static bool start_port(struct vn_context *context, struct vn_node *node, struct vn_link *link)
{
    const struct vn_switch *self = vn_switch_of(node);
    struct vn_port_more *more = link->more = calloc(1, sizeof *more);
    if (more == NULL) {
        vn_fail(context, "out of memory for ports");
        return false;
    }
    more->held = VN_NONE;
    if (self->cuts_through) {
        vn_end_of(context, (uint32_t)(link - context->links))->cut = true;
        vn_port_of(link)->holds = true;
        vn_port_of(link)->dropping = UINT8_MAX;
    }
    if (self->fabric.buffer_bytes != 0) {
        vn_port_of(link)->fabric = true;
        more->output = vn_output_new(&self->fabric, link->rate_bps);
        if (more->output == NULL) vn_fail(context, "out of memory for output buffers");
    }
    if (self->scheduler != NULL) {
        more->scheduler = self->scheduler;
        vn_port_of(link)->scheduled = true;
        more->queues = more->scheduler->make(node);
        if (more->queues == NULL) vn_fail(context, "out of memory for a scheduler");
    }
    return !context->failed;
}

static bool switch_start(struct vn_context *context, struct vn_node *node)
{
    for (const struct vn_channel *in = node->in; in < node->in + node->n_in; in++) {
        if (!start_port(context, node, &context->links[in->link ^ 1])) return false;
    }
    return vn_generator_start(context, node);
}

/* ---- prefetching ---- */

enum { PACKETS = 16 /* most in flight to a port */ };

/* Lines i, i + stride, ... of a switch's tables. */
static void prefetch_lines(const struct sw_cache_lines *lines, uint32_t i, uint32_t stride)
{
    for (; i < lines->n; i += stride) vn_prefetch(lines->at[i]);
}

/* Input and output of the switch's port i. */
static void switch_prefetch(const struct vn_context *context, const struct vn_node *node,
                            uint32_t step, uint32_t i)
{
    enum { EVENTS = 4, POINTERS = 8 }; /* per cache line */
    const struct vn_switch *self = vn_switch_of((struct vn_node *)node);
    const struct vn_channel *in = &node->in[i];
    if (step == 0) {
        vn_prefetch(in);
        for (uint32_t at = i * EVENTS; at < 2 * node->events.n; at += node->n_in * EVENTS)
            vn_prefetch(&node->events.at[at]);
        return;
    }
    const struct vn_link *out = &context->links[in->link ^ 1];
    if (step == 1) {
        for (uint32_t n = 0; n < in->n && n < PACKETS; n += 4) vn_prefetch(vn_in_flight_at(in, n));
        vn_prefetch(out);
        return;
    }
    const struct vn_channel *far = &context->channels[out->channel];
    if (step == 2) {
        vn_prefetch(&out->classes[vn_port_of(out)->last_class]);
        vn_prefetch(far);
        if (in->n != 0) vn_prefetch_packet(context, vn_in_flight_at(in, 0)->packet);
        if (i * POINTERS < self->lines.n) vn_prefetch(&self->lines.at[i * POINTERS]);
        if (i == 0) vn_prefetch(&self->sw->table_generation);
    } else {
        /* A hint: programs of this project index registers by port and class. */
        uint32_t index = (uint32_t)out->port * VN_CLASSES + vn_port_of(out)->last_class;
        if (index < self->reg.size)
            vn_prefetch((const char *)self->reg.cells + (size_t)index * self->reg.stride);
        vn_scheduler_prefetch(context, out, vn_port_of(out)->last_class);
        for (uint32_t more = 0; far->n < far->capacity && more < 8; more += 4)
            vn_prefetch(vn_in_flight_at(far, far->n + more));
        prefetch_lines(&self->lines, i, node->n_in);
    }
}

static void switch_turn(struct vn_context *context, struct vn_node *node)
{
    (void)context;
    struct vn_switch *self = vn_switch_of(node);
    if (self->table_generation == self->sw->table_generation) return;
    sw_instance_cache_lines(self->instance, &self->lines);
    self->table_generation = self->sw->table_generation;
}

static bool switch_fits(const struct vn_node *node, uint32_t bytes)
{
    uint64_t room = vn_switch_of((struct vn_node *)node)->fabric.buffer_bytes;
    return room == 0 || bytes <= room;
}

static void switch_free(struct vn_context *context, struct vn_node *node)
{
    uint32_t *out = vn_switch_of(node)->out;
    for (uint32_t port = 0; port < SW_MAX_PORTS; port++) {
        const struct vn_port_more *more =
            out[port] != VN_NONE ? vn_port_more(&context->links[out[port]]) : NULL;
        if (more == NULL) continue;
        if (more->queues != NULL && more->scheduler->end != NULL)
            more->scheduler->end(more->queues);
        free(more->queues);
        free(more->output);
        free(more->weights);
        free(more->watchdog);
    }
    free(out);
    free(vn_switch_of(node)->lines.at);
    vn_shared_buffer_free(vn_switch_of(node)->shared);
}

/* control: programs may follow flow control. */
#define SWITCH_KIND                                                                                \
    .name = "switch", .holds = true, .attach = switch_attach, .start = switch_start,               \
    .control = switch_take, .fits = switch_fits, .may_send = vn_port_serve,                        \
    .prefetch = switch_prefetch, .turn = switch_turn, .free = switch_free

static const struct vn_node_kind vn_switch_kind = {SWITCH_KIND, .take = switch_take,
                                                   .arrival = switch_arrival};
static const struct vn_node_kind vn_late_switch_kind = {SWITCH_KIND, .take = vn_pipeline_take,
                                                        .latency = vn_pipeline_latency};

/* ---- building ---- */

int64_t vn_add_switch(struct vn_context *context, struct sw_switch *sw)
{
    struct vn_pool *pool = &context->pool;
    if (pool->base != NULL)
        return vn_refuse(context, -EBUSY, "the network runs already: no switch can be added");
    if (sw->instance == NULL) return vn_refuse(context, -EINVAL, "the switch has no program");
    uint32_t *out = malloc(SW_MAX_PORTS * sizeof *out);
    if (out == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
    memset(out, 0xff, SW_MAX_PORTS * sizeof *out);
    const struct sw_program *program = sw->instance->program;
    if (program->phv_size > pool->phv_size)
        pool->phv_size = (uint32_t)vn_aligned(program->phv_size);
    if (program->headroom > pool->headroom)
        pool->headroom = (uint32_t)vn_aligned(program->headroom);
    if (program->inplace == NULL || sw->cpu_port != 0) pool->inplace = false;
    else if (program->inplace->depth > pool->depth) pool->depth = program->inplace->depth;
    struct vn_node *node = vn_node_new(context, &vn_switch_kind);
    if (node == NULL) {
        free(out);
        return vn_refuse(context, -ENOMEM, "out of memory");
    }
    struct vn_switch *self = vn_switch_of(node);
    *self = (struct vn_switch){.sw = sw, .instance = sw->instance, .out = out, .call = VN_NONE};
    if (program->n_registers != 0) self->reg = sw->instance->registers[0];
    return node->number;
}

/* NULL: it can't be changed. */
static struct vn_switch *changed(struct vn_context *context, uint32_t node)
{
    if (context->pool.base != NULL) {
        vn_refuse(context, -EBUSY, "the network runs already: no switch can be changed");
        return NULL;
    }
    if (node < context->n_nodes && vn_is_switch(&context->nodes[node]))
        return vn_switch_of(&context->nodes[node]);
    vn_refuse(context, -EINVAL, "no such switch");
    return NULL;
}

static bool counts(const struct sw_instance *instance, uint32_t number, struct sw_register *reg)
{
    if (number >= instance->program->n_registers ||
        instance->registers[number].cell_bytes != sizeof(uint32_t))
        return false;
    *reg = instance->registers[number];
    return true;
}

int vn_count_waiting(struct vn_context *context, uint32_t node, uint32_t packets, uint32_t bytes)
{
    struct vn_switch *self = changed(context, node);
    if (self == NULL) return -EINVAL;
    if (counts(self->instance, packets, &self->waiting_packets) &&
        counts(self->instance, bytes, &self->waiting_bytes))
        return 0;
    return vn_refuse(context, -EINVAL, "what waits is counted in registers of 32 bits");
}

int vn_set_latency(struct vn_context *context, uint32_t node, uint64_t latency_ps,
                   bool cuts_through)
{
    struct vn_switch *self = changed(context, node);
    if (self == NULL) return -EINVAL;
    if (self->fabric.buffer_bytes != 0)
        return vn_refuse(context, -EINVAL, "output buffers have a latency themselves");
    self->latency = latency_ps;
    self->cuts_through = cuts_through;
    context->nodes[node].kind = &vn_late_switch_kind;
    return 0;
}

int vn_set_fabric(struct vn_context *context, uint32_t node, const struct vn_fabric_config *config)
{
    struct vn_switch *self = changed(context, node);
    if (self == NULL) return -EINVAL;
    if (!(config->buffer_bytes > 0 && config->speed_up > 0))
        return vn_refuse(context, -EINVAL, "no buffer, or no fabric");
    if (self->shared != NULL)
        return vn_refuse(context, -EEXIST, "the switch has a shared buffer already");
    if (context->nodes[node].kind == &vn_late_switch_kind)
        return vn_refuse(context, -EEXIST, "the switch has a latency already");
    self->fabric = *config;
    return 0;
}

struct vn_shared_buffer *vn_shared_buffer_at(const struct vn_context *context, uint32_t node)
{
    if (node >= context->n_nodes || !vn_is_switch(&context->nodes[node])) return NULL;
    return vn_switch_of(&context->nodes[node])->shared;
}

int vn_set_shared_buffer(struct vn_context *context, uint32_t node, uint64_t bytes)
{
    struct vn_switch *self = changed(context, node);
    if (self == NULL) return -EINVAL;
    if (self->shared != NULL || self->fabric.buffer_bytes != 0)
        return vn_refuse(context, -EEXIST, "the switch has buffers already");
    self->shared = vn_shared_buffer_new(node, bytes);
    return self->shared != NULL ? 0
                                : vn_refuse(context, -ENOMEM, "out of memory for a shared buffer");
}

int vn_set_share(struct vn_context *context, uint32_t link, uint32_t class,
                 const struct vn_share_config *config)
{
    struct vn_shared_buffer *buffer =
        link < context->n_links ? vn_shared_buffer_at(context, context->links[link].to) : NULL;
    if (buffer == NULL || class >= VN_CLASSES)
        return vn_refuse(context, -EINVAL, "no link to a switch with a shared buffer");
    if (context->pool.base != NULL)
        return vn_refuse(context, -EBUSY, "the network runs already: no share can be set");
    return vn_share_new(context, buffer, vn_end_of(context, link), class, config);
}

int vn_buffer_stats(const struct vn_context *context, uint32_t node,
                    struct vn_shared_buffer_stats *out)
{
    const struct vn_shared_buffer *buffer = vn_shared_buffer_at(context, node);
    if (buffer == NULL) return -ENOENT;
    vn_shared_buffer_count(context, buffer, out);
    return 0;
}

int vn_set_scheduler(struct vn_context *context, uint32_t node, const char *name)
{
    struct vn_switch *self = changed(context, node);
    if (self == NULL) return -EINVAL;
    self->scheduler = vn_scheduler_named(name);
    if (self->scheduler != NULL) return 0;
    char why[128];
    snprintf(why, sizeof why, "no scheduler %.40s: no file defines vn_scheduler_%.40s", name, name);
    return vn_refuse(context, -EINVAL, why);
}

bool vn_reads_left(const struct vn_context *context, uint32_t node)
{
    const struct vn_scheduler *scheduler = vn_switch_of(&context->nodes[node])->scheduler;
    return scheduler != NULL && scheduler->reads_left;
}
