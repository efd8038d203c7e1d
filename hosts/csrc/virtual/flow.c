/* Flows are added: their state, the templates of their frames, and where they begin. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "virtual/flow.h"

static bool map_flow(struct vn_rdma *rdma, uint32_t qp, uint32_t flow)
{
    uint32_t **page = &rdma->flow_of[qp / VN_QP_PAGE];
    if (*page == NULL) {
        *page = malloc(VN_QP_PAGE * sizeof **page);
        if (*page == NULL) return false;
        for (uint32_t i = 0; i < VN_QP_PAGE; i++) (*page)[i] = VN_NONE;
    }
    (*page)[qp % VN_QP_PAGE] = flow;
    return true;
}

struct end {
    const uint8_t *mac, *ip;
};

/* Copies a template for the flow's frames from the first end to the second. */
static void address(uint8_t *to, const uint8_t *model, const struct end *src, const struct end *dst,
                    uint32_t flow)
{
    memcpy(to, model, VN_TEMPLATE_BYTES);
    memcpy(to, dst->mac, 6);
    memcpy(to + 6, src->mac, 6);
    memcpy(to + WIRE_SRC_IP, src->ip, 4);
    memcpy(to + WIRE_DST_IP, dst->ip, 4);
    wire_store16(to + WIRE_IP_CHECKSUM, 0);
    uint32_t sum = 0;
    for (const uint8_t *at = to + WIRE_IP; at < to + WIRE_UDP; at += 2) sum += wire_load16(at);
    sum = (sum & 0xffff) + (sum >> 16);
    wire_store16(to + WIRE_IP_CHECKSUM, (uint16_t)~(sum + (sum >> 16)));
    wire_store16(to + WIRE_UDP, (uint16_t)(WIRE_FIRST_PORT | (flow & 0x3fff)));
    wire_store24(to + WIRE_QP, flow);
}

/* The host that has the port; NULL: there is none, or it has no RDMA. */
static struct vn_node *host_at(struct vn_context *context, uint32_t port)
{
    return port < context->n_links
               ? vn_host_with(context, context->links[port].node, VN_ENDPOINT_rdma)
               : NULL;
}

/* Makes room for how many packets each of n nodes still misses. False: no memory. */
static bool has_nodes(struct vn_rdma *rdma, uint32_t n)
{
    if (rdma->n_missing == n) return true;
    uint64_t *missing = realloc(rdma->missing, n * sizeof *missing);
    if (missing == NULL) return false;
    rdma->missing = missing;
    rdma->n_missing = n;
    return true;
}

static int add_flow(struct vn_context *context, const struct vn_flow_config *config, PyObject *rp,
                    PyObject *np)
{
    const struct vn_flow_kind *kind = config->kind;
    struct vn_rdma *rdma = vn_rdma_of(context);
    struct vn_node *from = host_at(context, config->port),
                   *to = host_at(context, config->back_port);
    if (from == NULL || to == NULL) {
        return vn_refuse(context, -EINVAL, "a flow needs two hosts that have links");
    }
    if (kind->cnp_bytes > UINT8_MAX || kind->ack_bytes > UINT8_MAX ||
        kind->frame_bytes > UINT16_MAX || kind->last_frame_bytes > kind->frame_bytes) {
        return vn_refuse(context, -EINVAL, "frames of a flow that are too long");
    }
    if (kind->reliability > SELECTIVE ||
        (kind->reliability != LOSSLESS && (kind->every == 0 || kind->timeout_ps == 0))) {
        return vn_refuse(context, -EINVAL,
                         "to repeat what is lost, a flow needs acknowledgements and a timer");
    }
    bool acknowledges = kind->every != 0 || config->window_bytes < INFINITY;
    if (config->n_ports > PATHS_MOST)
        return vn_refuse(context, -EINVAL, "too many UDP source ports of a flow");
    if (config->n_ports > 1 && acknowledges && kind->reliability != SELECTIVE) {
        return vn_refuse(
            context, -EINVAL,
            "a flow of several paths needs selective repeat, as its packets overtake each other");
    }
    if (!(config->rate_bps > 0) || kind->priority >= VN_CLASSES) {
        return vn_refuse(context, -EINVAL, "no rate, or no such class");
    }
    if (!(config->window_bytes > 0)) return vn_refuse(context, -EINVAL, "a window of no bytes");
    if (config->start_ps < context->now)
        return vn_refuse(context, -EINVAL, "the flow's start is over");
    int code = vn_allow_frame(context, kind->frame_bytes);
    bool telemetry = kind->data[WIRE_BECN] & WIRE_HAS_TELEMETRY;
    if (code == 0 && telemetry)
        code = vn_pool_store(context, WIRE_ACK_TELEMETRY + WIRE_TELEMETRY_BYTES);
    if (code != 0) return code;
    if (rdma->n_flows == rdma->most_flows) {
        return vn_refuse(context, -ENOSPC,
                         "too many flows, or too little address space for them (ulimit -v)");
    }
    bool here = vn_here(context, from->number) || vn_here(context, to->number),
         repeats = kind->reliability != LOSSLESS;
    struct transport *transport = NULL;
    if (acknowledges && here) {
        transport =
            aligned_alloc(64, vn_aligned(repeats ? sizeof(struct vn_repeat) : sizeof *transport));
        if (transport == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
        *transport = (struct transport){
            .window_bytes = config->window_bytes,
            .packets = config->packets,
            .every = kind->every,
            .frame_bytes = kind->frame_bytes,
            .last_frame_bytes = kind->last_frame_bytes,
        };
    }
    if (!has_nodes(rdma, context->n_nodes) || (kind->grants && !vn_grants_new(context)) ||
        !vn_flow_group_exists(rdma, config->group) ||
        !vn_pool_counts(&context->pool, rdma->n_flows) ||
        !map_flow(rdma, config->number, rdma->n_flows)) {
        free(transport);
        return vn_refuse(context, -ENOMEM, "out of memory");
    }
    uint32_t number = rdma->n_flows++;
    if (kind->last_frame_bytes < rdma->shortest_bytes || number == 0)
        rdma->shortest_bytes = kind->last_frame_bytes;
    if (!here) return 0;
    struct vn_flow *flow = &rdma->flows[number];
    *flow = (struct vn_flow){
        .priority = kind->priority,
        .port = config->port,
        .back_port = config->back_port,
        .group = config->group,
        .frame_bytes = (uint16_t)kind->frame_bytes,
        .last_frame_bytes = (uint16_t)kind->last_frame_bytes,
        .payload_bytes = (uint16_t)kind->payload_bytes,
        .last_payload_bytes = (uint16_t)kind->last_payload_bytes,
        .cnp_bytes = (uint8_t)kind->cnp_bytes,
        .ack_bytes = (uint8_t)kind->ack_bytes,
        .packets = config->packets,
        .missing = config->packets != 0 ? config->packets : VN_NEVER,
        .start = config->start_ps,
        .end = config->end_ps,
        .period = kind->period_ps,
        .phase = config->phase_ps,
        .rate_bps = config->rate_bps,
        .limit_bps = config->limit_bps,
        .rp = rp,
        .np = np,
        .ended = VN_NEVER,
        /* one in the past is due now, as of an RP's later decisions */
        .timer = config->timer_ps < context->now ? context->now : config->timer_ps,
        .due_bytes = config->due_bytes,
        .granted = kind->grants != 0,
        .demand = vn_grants_demand(config->demand_bytes),
        .transport = transport,
        .windowed = transport != NULL,
        .repeats = repeats,
        .sprays = config->n_ports > 1,
        .compiled = config->compiled,
        .np_in_c = config->np_in_c,
        .marked_from = kind->wants_marked ? 0 : VN_NEVER,
        .needs_rec_rate = kind->needs_rec_rate != 0,
        .first = VN_NEVER,
        .last = VN_NEVER,
        .complete = VN_NEVER,
        .followers = VN_NONE,
        .window_first = VN_NEVER,
        .window_end = VN_NEVER,
    };
    if (flow->sprays)
        flow->paths = paths_new(config->ports, config->n_ports, kind->gap_ps, kind->avoids);
    if ((flow->sprays && flow->paths == NULL) || !vn_repeat_new(flow, kind)) {
        vn_repeat_free(flow);
        rdma->n_flows--;
        return vn_refuse(context, -ENOMEM, "out of memory");
    }
    Py_IncRef(rp);
    Py_IncRef(np);
    const struct end src = {config->src_mac, vn_host_of(from)->ip},
                     dst = {config->dst_mac, vn_host_of(to)->ip};
    address(flow->data, kind->data, &src, &dst, config->number);
    address(flow->last_data, kind->last, &src, &dst, config->number);
    address(flow->cnp, kind->cnp, &dst, &src, config->number);
    address(flow->ack, kind->ack, &dst, &src, config->number);
    if (config->packets != 0 && vn_receives_here(context, flow)) context->turns.unfinished++;
    if (flow->timer != VN_NEVER && vn_sends_here(context, flow)) {
        vn_endpoint_at(context, vn_sender_of(context, flow), flow->timer, VN_EV_TIMER,
                       VN_ENDPOINT_rdma, number);
    }
    if (config->start_ps == VN_NEVER || !vn_sends_here(context, flow)) return 0; /* see wait.c */
    if (config->start_ps > context->now) vn_nic_await(context, number);
    else vn_nic_add(context, number);
    return 0;
}

uint32_t vn_add_flows(struct vn_context *context, const struct vn_flow_config *configs, uint32_t n,
                      PyObject *rps, PyObject *nps)
{
    for (uint32_t i = 0; i < n; i++) {
        if (add_flow(context, &configs[i], PyList_GetItem(rps, i), PyList_GetItem(nps, i)) != 0)
            return i;
    }
    return n;
}
