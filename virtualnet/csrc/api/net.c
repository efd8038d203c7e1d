/* A network from its beginning to its end, and running it. */
#include "api/net.h"

#include <errno.h>
#include <stdlib.h>

#include "links/build.h"
#include "links/faults.h"
#include "links/observer.h"
#include "links/pfc.h"
#include "links/pfc_log.h"
#include "switches/paths.h"
#include "time/crew.h"
#include "time/parts.h"
#include "switches/watchdog.h"
#include "switches/weights.h"

enum { MOST_LINKS = 1 << 20 };

struct vn_net *vn_create(bool by_node, bool prefetch, uint32_t threads, uint64_t response_ps)
{
    struct vn_net *net = aligned_alloc(64, vn_aligned(sizeof *net));
    if (net == NULL) return NULL;
    memset(net, 0, sizeof *net);
    net->threads = by_node ? threads : 1;
    struct vn_context *context = &net->context;
    context->order.by_node = by_node;
    context->order.kinds = vn_event_kinds;
    context->endpoint_kinds = vn_endpoint_kinds;
    context->order.cannot_finish_yet = vn_endpoints_cannot_finish;
    context->order.cannot_wake_yet = vn_endpoints_cannot_wake;
    context->order.answer = vn_endpoints_answer;
    context->order.hold = vn_endpoints_hold;
    context->order.release = vn_endpoints_release;
    context->order.shared = !by_node;
    context->prefetch.enabled = prefetch;
    context->most_links = MOST_LINKS;
    context->links = vn_reserve(context, "links", sizeof *context->links, &context->most_links);
    context->exchange.reason = VN_UNTIL;
    context->response = response_ps;
    context->longest_frame = VN_STORED; /* until an endpoint has longer frames */
    context->pool.inplace = true;
    context->pool.depth = VN_TEMPLATE_BYTES;
    return net;
}

void vn_destroy(struct vn_net *net)
{
    if (net == NULL) return;
    struct vn_context *context = &net->context;
    for (uint32_t i = 0; i < net->n_samplers; i++) {
        free(net->samplers[i].sources);
        free(net->samplers[i].times);
        free(net->samplers[i].values);
    }
    free(net->samplers);
    for (uint32_t i = 0; i < VN_ENDPOINT_KINDS; i++) {
        if (vn_endpoint_kinds[i]->free != NULL) vn_endpoint_kinds[i]->free(context);
    }
    vn_observers_free(context);
    vn_pfc_log_free(context);
    vn_paths_free(context->paths);
    vn_links_free(context);
    vn_shares_free(context);
    vn_pool_free(&context->pool);
    vn_order_free(context);
    free(context->unable);
    free(net);
}

const char *vn_error(const struct vn_context *context) { return context->error; }

struct vn_exchange *vn_exchange_of(struct vn_context *context) { return &context->exchange; }

int vn_return_at(struct vn_context *context, uint64_t time_ps, uint32_t number)
{
    if (time_ps < context->now) return vn_refuse(context, -EINVAL, "that time is over");
    vn_at(context, VN_NONE, time_ps, VN_EV_RETURN, number);
    return 0;
}

/* Before the first packet. */
static void start(struct vn_context *context)
{
    if (context->pool.base != NULL || context->failed) return;
    uint32_t between = context->pool.inplace ? 0 : vn_phv_bytes(&context->pool);
    if (!vn_links_init(context) || !vn_order_init(context, vn_net_of(context)->threads) ||
        !vn_pool_init(context, between))
        return;
    if (context->pfc_log != NULL && vn_log_pfc(context) != 0)
        vn_fail(context, "out of memory for events of PFC");
    if (!vn_crew_packets(context)) vn_fail(context, "out of memory for packets");
}

int vn_store_whole(struct vn_context *context, uint32_t most_bytes)
{
    if (context->pool.base != NULL)
        return vn_refuse(context, -EBUSY,
                         "the network runs already: frames are stored as they are");
    if (most_bytes < VN_STORED || most_bytes > SW_MAX_FRAME) {
        return vn_refuse(context, -EINVAL, "frames are stored whole with 128 to 9216 bytes");
    }
    context->pool.whole = most_bytes;
    context->pool.inplace = false;
    return 0;
}

int vn_survive(struct vn_context *context)
{
    if (context->unable == NULL) context->unable = calloc(context->n_nodes, sizeof(uint64_t));
    if (context->unable == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
    for (uint32_t i = 0; i < context->n_links; i++) vn_fault_overruns(vn_link_of(context, i));
    return 0;
}

int64_t vn_unable(const struct vn_context *context, uint32_t node)
{
    if (node >= context->n_nodes) return -ENOENT;
    return context->unable != NULL ? (int64_t)context->unable[node] : 0;
}

uint64_t vn_now(const struct vn_context *context) { return context->now; }

int vn_discard(struct vn_context *context, uint32_t number, bool discards)
{
    start(context);
    if (context->failed) return -EINVAL;
    struct vn_link *link = number < context->n_links ? vn_link_of(context, number) : NULL;
    if (link == NULL || !vn_is_switch(vn_near(context, link)))
        return vn_refuse(context, -EINVAL, "no such port of a switch");
    if (vn_port_of(link)->fabric)
        return vn_refuse(context, -EINVAL,
                         "output buffers keep what waits for a link that is down");
    vn_port_discard(context, link, discards);
    return 0;
}

int vn_pfc_arrives(struct vn_context *context, uint32_t number, const uint8_t mac[6],
                   uint32_t class, uint16_t quanta)
{
    start(context);
    if (context->failed) return -EINVAL;
    if (number >= context->n_links || class >= VN_CLASSES ||
        vn_end_of(context, number)->flow_control != VN_FLOW_CONTROL_pfc)
        return vn_refuse(context, -EINVAL, "no such class of a port with PFC");
    if (!vn_here(context, vn_link_of(context, number)->to)) return 0;
    /* its neighbour has sent none: after a RESUME more may come in there than headroom is for */
    uint32_t out = (uint32_t)(vn_end_of(context, number) - context->links);
    vn_fault_overruns(vn_end_of(context, out));
    vn_pfc_receive(context, number, mac, class, quanta);
    return context->failed ? -EINVAL : 0;
}

/* Its departures are counted where a class has a rate or a cap, or there is a watchdog. */
static void note_rates(const struct vn_link *link)
{
    const struct vn_port_more *more = vn_port_more(link);
    bool rated = more->watchdog != NULL;
    for (uint32_t class = 0; class < VN_CLASSES; class++)
        rated |= more->interval[class] != 0 || more->cap[class] != 0;
    vn_port_of(link)->rated = rated;
}

int vn_set_queue(struct vn_context *context, uint32_t number, uint32_t class, uint32_t depth,
                 uint64_t rate)
{
    start(context);
    if (context->failed) return -EINVAL;
    struct vn_link *link = number < context->n_links ? vn_link_of(context, number) : NULL;
    if (link == NULL || class >= VN_CLASSES || !vn_is_switch(vn_near(context, link))) {
        return vn_refuse(context, -EINVAL, "no such queue of a switch");
    }
    if (depth > VN_NO_QUEUE)
        return vn_refuse(context, -EINVAL,
                         "a queue's depth is 65534 packets at most, or 0: unlimited");
    if (rate != 0 && vn_port_of(link)->fabric)
        return vn_refuse(context, -EINVAL, "a queue before output buffers has no rate");
    link->classes[class].depth = (uint16_t)depth;
    vn_port_more(link)->interval[class] = rate == 0 ? 0 : 1000000000000u / rate;
    note_rates(link);
    return 0;
}

int vn_set_caps(struct vn_context *context, uint32_t number, const uint64_t caps_bps[VN_CLASSES])
{
    start(context);
    if (context->failed) return -EINVAL;
    struct vn_link *link = number < context->n_links ? vn_link_of(context, number) : NULL;
    if (link == NULL || !vn_is_switch(vn_near(context, link)))
        return vn_refuse(context, -EINVAL, "no port of a switch");
    if (vn_port_of(link)->fabric)
        return vn_refuse(context, -EINVAL, "a class before output buffers has no cap");
    memcpy(vn_port_more(link)->cap, caps_bps, sizeof vn_port_more(link)->cap);
    note_rates(link);
    return 0;
}

int vn_set_trimming(struct vn_context *context, uint32_t number, const struct sw_trimming *trimming)
{
    start(context);
    if (context->failed) return -EINVAL;
    struct vn_link *link = number < context->n_links ? vn_link_of(context, number) : NULL;
    if (link == NULL || !vn_is_switch(vn_near(context, link)))
        return vn_refuse(context, -EINVAL, "no such port of a switch");
    if (!sw_trimming_possible(trimming)) {
        return vn_refuse(context, -EINVAL,
                         "packets are trimmed to 64 to 1024 bytes, with a DSCP of up to 63, into a "
                         "queue that doesn't trim");
    }
    if (vn_port_of(link)->fabric)
        return vn_refuse(context, -EINVAL, "a queue before output buffers trims no packets");
    if (vn_port_of(link)->weighted)
        return vn_refuse(context, -EINVAL, "a port whose classes have weights trims no packets");
    vn_port_more(link)->trimming = *trimming;
    vn_port_of(link)->trims = trimming->queues != 0;
    return 0;
}

int vn_set_weights(struct vn_context *context, uint32_t number, const uint16_t weights[VN_CLASSES])
{
    start(context);
    if (context->failed) return -EINVAL;
    struct vn_link *link = number < context->n_links ? vn_link_of(context, number) : NULL;
    if (link == NULL || !vn_is_switch(vn_near(context, link)))
        return vn_refuse(context, -EINVAL, "no port of a switch");
    return vn_weights_set(context, link, weights);
}

int vn_set_watchdog(struct vn_context *context, uint32_t number,
                    const struct vn_watchdog_config *config)
{
    start(context);
    if (context->failed) return -EINVAL;
    struct vn_link *link = number < context->n_links ? vn_link_of(context, number) : NULL;
    if (link == NULL || !vn_is_switch(vn_near(context, link)))
        return vn_refuse(context, -EINVAL, "no port of a switch");
    return vn_watchdog_set(context, link, config);
}

int vn_watchdog_of(const struct vn_context *context, uint32_t number, struct vn_watchdog_stats *out)
{
    if (context->pool.base == NULL || number >= context->n_links) return -ENOENT;
    const struct vn_link *link = vn_link_of(context, number);
    if (!vn_is_switch(vn_near(context, link))) return -ENOENT;
    vn_watchdog_count(link, out);
    return 0;
}

int vn_packet_out(struct vn_context *context, uint32_t node, const uint8_t *frame, uint32_t length)
{
    start(context);
    return context->failed ? -EINVAL : vn_cpu_out(context, node, frame, length);
}

enum vn_reason vn_run(struct vn_net *net)
{
    struct vn_context *context = &net->context;
    if (context->raised)
        snprintf(context->error, sizeof context->error,
                 "an algorithm raised an error: the run can't go on");
    start(context);
    if (!vn_paths_room(context)) vn_fail(context, "out of memory for paths");
    enum vn_reason reason = context->failed ? VN_FAILED : vn_run_events(context);
    if (context->raised) return VN_FAILED; /* exchange says which flow's algorithm raised */
    context->exchange.now_s = vn_seconds(context->now);
    return context->exchange.reason = context->failed ? VN_FAILED : reason;
}
