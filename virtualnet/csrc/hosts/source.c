/* A source and a sink of frames, whatever they are: it sends each at its time, as soon as the class of its link may start it, and keeps
 * what arrives. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hosts/host.h"
#include "links/build.h"

/* A frame that is to be sent. */
struct outgoing {
    uint32_t host;
    uint16_t length;
    uint8_t class, stored;
    uint8_t bytes[VN_STORED];
};

/* What has arrived at a host. */
struct incoming {
    struct vn_taken *at;
    uint64_t n, capacity;
};

struct sources {
    struct outgoing *frames;
    struct incoming *hosts; /* by node */
    uint32_t n_frames, capacity, n_hosts;
};

static struct sources *sources_of(const struct vn_context *context) { return context->endpoints[VN_ENDPOINT_source]; }

static bool source_added(struct vn_context *context, struct vn_node *node)
{
    struct sources *sources = sources_of(context);
    if (sources == NULL) {
        sources = context->endpoints[VN_ENDPOINT_source] = calloc(1, sizeof *sources);
        if (sources == NULL) return false;
    }
    if (node->number < sources->n_hosts) return true;
    struct incoming *hosts = realloc(sources->hosts, (node->number + 1) * sizeof *hosts);
    if (hosts == NULL) return false;
    memset(hosts + sources->n_hosts, 0, (node->number + 1 - sources->n_hosts) * sizeof *hosts);
    sources->hosts = hosts;
    sources->n_hosts = node->number + 1;
    return true;
}

int vn_source_frame(struct vn_context *context, uint32_t host, uint64_t time_ps, uint8_t class, const uint8_t *frame,
                    uint32_t stored, uint32_t length)
{
    struct sources *sources = sources_of(context);
    struct vn_node *node = vn_host_with(context, host, VN_ENDPOINT_source);
    if (node == NULL) return vn_refuse(context, -EINVAL, "frames at times need a host with a link and a source");
    if (class >= VN_CLASSES || stored > VN_STORED || stored > length) {
        return vn_refuse(context, -EINVAL, "no such class, or more bytes than a frame stores");
    }
    if (time_ps < context->now) return vn_refuse(context, -EINVAL, "that time is over");
    if (sources->n_frames == 1u << 24) return vn_refuse(context, -ENOSPC, "too many frames at times");
    int code = vn_allow_frame(context, length);
    if (code != 0) return code;
    if (sources->n_frames == sources->capacity) {
        uint32_t capacity = sources->capacity == 0 ? 64 : 2 * sources->capacity;
        struct outgoing *frames = realloc(sources->frames, capacity * sizeof *frames);
        if (frames == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
        sources->frames = frames;
        sources->capacity = capacity;
    }
    struct outgoing *out = &sources->frames[sources->n_frames];
    *out = (struct outgoing){.host = host, .length = (uint16_t)length, .class = class, .stored = (uint8_t)stored};
    memcpy(out->bytes, frame, stored);
    vn_endpoint_at(context, host, time_ps, VN_EV_START, VN_ENDPOINT_source, sources->n_frames++);
    return 0;
}

static void source_start(struct vn_context *context, uint32_t number)
{
    const struct outgoing *out = &sources_of(context)->frames[number];
    uint32_t id = vn_packet_new(context);
    if (id == VN_NONE) return;
    VN_ASSERT(number < sources_of(context)->n_frames && out->stored <= out->length);
    struct vn_packet *packet = vn_packet_at(context, id);
    memcpy(vn_frame(context, packet), out->bytes, context->pool.stored);
    packet->bytes = out->length;
    packet->flow = VN_NONE;
    packet->data = true;
    vn_host_send(context, &context->nodes[out->host], id, out->class);
}

static uint32_t source_node_of(const struct vn_context *context, enum vn_kind kind, uint32_t number)
{
    (void)kind;
    return sources_of(context)->frames[number].host;
}

static bool source_take(struct vn_context *context, struct vn_node *node, uint32_t id)
{
    struct incoming *in = &sources_of(context)->hosts[node->number];
    VN_ASSERT(in->n <= in->capacity && (in->n == 0 || in->at[in->n - 1].time_ps <= context->now));
    if (in->n == in->capacity) {
        uint64_t capacity = in->capacity == 0 ? 64 : 2 * in->capacity;
        struct vn_taken *at = realloc(in->at, capacity * sizeof *at);
        if (at == NULL) {
            vn_fail(context, "out of memory for frames that have arrived");
            return false;
        }
        in->at = at;
        in->capacity = capacity;
    }
    struct vn_packet *packet = vn_packet_at(context, id);
    uint32_t stored = packet->bytes < context->pool.stored ? packet->bytes : context->pool.stored;
    struct vn_taken *taken = &in->at[in->n++];
    *taken = (struct vn_taken){.time_ps = context->now, .length = packet->bytes, .stored = stored};
    memcpy(taken->bytes, vn_frame(context, packet), stored);
    vn_packet_free(context, id);
    return true;
}

uint64_t vn_taken(const struct vn_context *context, uint32_t host, const struct vn_taken **at)
{
    const struct sources *sources = sources_of(context);
    if (sources == NULL || host >= sources->n_hosts) return 0;
    *at = sources->hosts[host].at;
    return sources->hosts[host].n;
}

static void source_free(struct vn_context *context)
{
    struct sources *sources = sources_of(context);
    if (sources == NULL) return;
    for (uint32_t i = 0; i < sources->n_hosts; i++) free(sources->hosts[i].at);
    free(sources->hosts);
    free(sources->frames);
    free(sources);
}

static const struct vn_endpoint_kind vn_endpoint_source = {
    .name = "source",
    .added = source_added,
    .take = source_take,
    .start = source_start,
    .node_of = source_node_of,
    .free = source_free,
};
