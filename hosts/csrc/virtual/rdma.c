/* The RDMA NIC with RP and NP as an endpoint of virtual time (virtualnet/csrc/hosts/endpoint.h):
 * its API, and the kind; flow.c adds flows. */
#include "virtual/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "links/build.h"
#include "time/crew.h"

enum { MOST_FLOWS = 1 << 22 };

uint32_t vn_flow_of_qp(const struct vn_rdma *rdma, uint32_t qp)
{
    const uint32_t *page = rdma->flow_of[qp / VN_QP_PAGE];
    return page == NULL ? VN_NONE : page[qp % VN_QP_PAGE];
}

/* ---- the API ---- */

int vn_rdma(struct vn_context *context, PyObject *classes, PyObject *marks, PyObject *turns)
{
    if (vn_rdma_of(context) != NULL)
        return vn_refuse(context, -EEXIST, "the network has RDMA already");
    struct vn_rdma *rdma = context->endpoints[VN_ENDPOINT_rdma] = calloc(1, sizeof *rdma);
    if (rdma == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
    pthread_mutex_init(&rdma->starting, NULL);
    rdma->most_flows = MOST_FLOWS;
    rdma->flows = vn_reserve(context, "flows", sizeof *rdma->flows, &rdma->most_flows);
    struct vn_python *python = &rdma->python;
    PyObject **of[] = {&python->window, &python->cnp,    &python->cnm,
                       &python->ack,    &python->loss,   &python->telemetry,
                       &python->hop,    &python->demand, &python->grant};
    for (uint32_t i = 0; i < sizeof of / sizeof *of; i++) *of[i] = PyTuple_GetItem(classes, i);
    for (uint32_t i = 0; i < 4; i++) rdma->python.marks[i] = PyTuple_GetItem(marks, i);
    for (uint32_t i = 0; i <= NP_TURN; i++) rdma->python.turns[i] = PyTuple_GetItem(turns, i);
    if (rdma->flows == NULL || !vn_python_init(&rdma->python)) return -ENOMEM;
    return 0;
}

void vn_rdma_calls(struct vn_context *context, PyObject *flows, PyObject *on_window,
                   PyObject *on_rate, PyObject *on_failure)
{
    struct vn_python *python = &vn_rdma_of(context)->python;
    python->flows = flows;
    python->on_window = on_window;
    python->on_rate = on_rate;
    python->on_failure = on_failure;
    context->order.watched = on_window != &_Py_NoneStruct || on_rate != &_Py_NoneStruct;
}

int vn_set_cnp_delay(struct vn_context *context, uint64_t delay_ps)
{
    if (vn_rdma_of(context)->n_flows != 0) return vn_refuse(context, -EBUSY, "flows exist already");
    vn_rdma_of(context)->cnp_delay = delay_ps;
    return 0;
}

int vn_set_telemetry_tick(struct vn_context *context, double tick_s)
{
    if (vn_rdma_of(context)->n_flows != 0) return vn_refuse(context, -EBUSY, "flows exist already");
    vn_rdma_of(context)->tick_s = tick_s;
    return 0;
}

uint32_t vn_flow_bytes(const struct vn_context *context)
{
    (void)context;
    return sizeof(struct vn_flow);
}

int vn_stop_flow(struct vn_context *context, uint32_t flow)
{
    if (flow >= vn_rdma_of(context)->n_flows) return vn_refuse(context, -ENOENT, "no such flow");
    if (vn_flow_at(context, flow)->ended == VN_NEVER) vn_nic_stop(context, flow);
    return 0;
}

static uint64_t payload_sent(const struct vn_flow *flow)
{
    uint64_t sent = flow->repeats ? vn_repeat_of(flow)->reliable.end : flow->sent;
    bool whole = flow->packets != 0 && sent == flow->packets;
    return whole ? (sent - 1) * flow->payload_bytes + flow->last_payload_bytes
                 : sent * flow->payload_bytes;
}

static double window_bytes_of(const struct vn_flow *flow)
{
    return flow->windowed ? flow->transport->window_bytes : INFINITY;
}
static uint64_t in_flight(const struct vn_flow *flow)
{
    return flow->windowed ? transport_in_flight(flow->transport) : 0;
}

static struct vn_flow_stats stats_of(const struct vn_context *context, uint32_t number)
{
    const struct vn_flow *flow = vn_flow_at(context, number);
    return (struct vn_flow_stats){
        .sent = flow->sent,
        .sent_payload = payload_sent(flow),
        .sent_bytes = flow->sent_bytes,
        .received = flow->received,
        .received_bytes = flow->received_bytes,
        .received_payload = flow->received_payload,
        .marked_ce = flow->marked_ce,
        .marked_ue = flow->marked_ue,
        .out_of_order = flow->out_of_order,
        .lost = context->pool.lost[number],
        .cnps_sent = flow->cnps_sent,
        .cnps_received = flow->cnps_received,
        .start_ps = flow->start,
        .ended_ps = flow->ended,
        .first_ps = flow->first,
        .last_ps = flow->last,
        .complete_ps = flow->complete,
        .rate_bps = flow->rate_bps,
        .window_bytes = window_bytes_of(flow),
        .in_flight_bytes = in_flight(flow),
        .repeated = flow->repeats ? vn_repeat_of(flow)->reliable.repeated : 0,
        .timeouts = flow->repeats ? vn_repeat_of(flow)->reliable.timeouts : 0,
        .again = flow->receiver != NULL ? flow->receiver->again : 0,
        .refused = flow->receiver != NULL ? flow->receiver->out_of_order : 0,
    };
}

int vn_flow_stats(const struct vn_context *context, uint32_t number, uint32_t n,
                  struct vn_flow_stats *out)
{
    uint32_t n_flows = vn_rdma_of(context)->n_flows;
    if (number > n_flows || n > n_flows - number) return -ENOENT;
    for (uint32_t i = 0; i < n; i++) out[i] = stats_of(context, number + i);
    return 0;
}

int vn_measure_latency(struct vn_context *context)
{
    struct vn_rdma *rdma = vn_rdma_of(context);
    for (uint32_t i = 0; i < rdma->n_flows; i++) {
        if (rdma->flows[i].sent != 0)
            return vn_refuse(context, -EINVAL, "latency is measured from a flow's first packet on");
    }
    if (rdma->latency == NULL) rdma->latency = calloc(VN_MOST_THREADS, sizeof *rdma->latency);
    return rdma->latency != NULL ? 0 : vn_refuse(context, -ENOMEM, "out of memory");
}

const uint64_t *vn_latency(struct vn_context *context, uint32_t class)
{
    const struct vn_rdma *rdma = vn_rdma_of(context);
    if (rdma->latency == NULL || class >= VN_CLASSES) return NULL;
    uint64_t *all = rdma->latency[0][class];
    for (uint32_t i = 1; vn_crew_context(context, i) != NULL; i++) {
        for (uint32_t bucket = 0; bucket < VN_LATENCY_BUCKETS; bucket++)
            all[bucket] += rdma->latency[i][class][bucket];
        memset(rdma->latency[i][class], 0, sizeof rdma->latency[i][class]);
    }
    return all;
}

void *vn_grown(void *items, uint32_t n, uint32_t *capacity, size_t size)
{
    if (n < *capacity) return items;
    uint32_t larger = *capacity == 0 ? 64 : 2 * *capacity;
    void *grown = realloc(items, larger * size);
    if (grown != NULL) *capacity = larger;
    return grown;
}

/* ---- the kind of endpoint ---- */

static bool rdma_added(struct vn_context *context, struct vn_node *node)
{
    (void)node;
    return vn_rdma_of(context) != NULL;
}

static void rdma_port_added(void *state)
{
    *(struct vn_nic *)state = (struct vn_nic){.last = VN_NONE, .choice = {.when = VN_NEVER}};
}

static void rdma_timer(struct vn_context *context, uint32_t number)
{
    uint32_t flow_number = number & ~(uint32_t)VN_GRANT_TIMERS;
    if (number != flow_number) {
        if (number - flow_number == VN_GRANT_TIMERS) vn_grants_timer(context, flow_number);
        else if (number - flow_number == VN_REPEAT_TIMERS) vn_repeat_timer(context, flow_number);
        else vn_cnp_made(context, flow_number);
        return;
    }
    struct vn_flow *flow = vn_flow_at(context, number);
    if (flow->timer != context->now || flow->ended != VN_NEVER) return;
    flow->timer = VN_NEVER;
    vn_call_back(context, &(struct vn_callback){.method = VN_ON_TIMER, .flow = number});
}

static uint32_t rdma_node_of(const struct vn_context *context, enum vn_kind kind, uint32_t number)
{
    const struct vn_flow *flow = vn_flow_at(context, number & ~(uint32_t)VN_GRANT_TIMERS);
    bool receiver = kind == VN_EV_WINDOW || (kind == VN_EV_TIMER && number & VN_CNP_TIMERS);
    return receiver ? vn_receiver_of(context, flow) : vn_sender_of(context, flow);
}

/* The most frames of so many bytes or more that can come to a node within a time. */
static uint64_t most_arriving(const struct vn_context *context, uint32_t number, uint64_t within,
                              uint64_t bytes)
{
    const struct vn_node *node = &context->nodes[number];
    uint64_t arriving = 0;
    for (const struct vn_channel *last = node->in; last < node->in + node->n_in; last++) {
        /* of those that follow, the first one comes at once, and the last one may be short */
        arriving += last->n;
        if (within > last->delay)
            arriving +=
                (within - last->delay) / vn_duration(&context->links[last->link], bytes) + 2;
    }
    return arriving;
}

bool vn_flow_cannot_complete(const struct vn_context *context, const struct vn_flow *flow,
                             uint64_t within)
{
    return flow->packets > flow->received + most_arriving(context, vn_receiver_of(context, flow),
                                                          within, flow->frame_bytes);
}

/* True where a flow starts later or is too long, or where a receiver's flows together need more
 * than its links bring in that time. A false answer has all events of a round happen in one order,
 * with a look at all nodes for each: so would most of a run of short flows, of which each could
 * complete if it were alone. */
static bool rdma_cannot_finish_yet(struct vn_context *context, uint64_t within)
{
    struct vn_rdma *rdma = vn_rdma_of(context);
    if (rdma == NULL || rdma->n_flows == 0) return false;
    memset(rdma->missing, 0, rdma->n_missing * sizeof *rdma->missing);
    uint32_t number = rdma->unfinished_hint, first = VN_NONE;
    for (uint32_t i = 0; i < rdma->n_flows;
         i++, number = number + 1 < rdma->n_flows ? number + 1 : 0) {
        const struct vn_flow *flow = &rdma->flows[number];
        if (flow->packets <= flow->received || !vn_receives_here(context, flow)) continue;
        bool later = flow->start != VN_NEVER && flow->start >= context->turns.barrier;
        bool alone = later || vn_flow_cannot_complete(context, flow, within);
        if (alone || first == VN_NONE) rdma->unfinished_hint = first = number;
        if (alone) return true;
        uint32_t receiver = vn_receiver_of(context, flow);
        rdma->missing[receiver] += flow->packets - flow->received;
        if (rdma->missing[receiver] >
            most_arriving(context, receiver, within, rdma->shortest_bytes))
            return true;
    }
    return false;
}

static bool rdma_has(const struct vn_context *context, const struct vn_source_spec *spec)
{
    const struct vn_rdma *rdma = vn_rdma_of(context);
    if (rdma == NULL || spec->source > VN_FLOW_WINDOW) return false;
    if (spec->number != VN_OF_GROUP) return spec->object < rdma->n_flows;
    bool summed = spec->source >= VN_FLOW_SENT_BYTES && spec->source <= VN_FLOW_MARKED_UE_PACKETS;
    return summed && spec->object < rdma->n_groups;
}

static double rdma_value(const struct vn_context *context, const struct vn_source_spec *spec)
{
    if (spec->number == VN_OF_GROUP)
        return vn_flow_group_sum(context, spec->object, (enum vn_flow_source)spec->source);
    const struct vn_flow *flow = vn_flow_at(context, spec->object);
    switch ((enum vn_flow_source)spec->source) {
    case VN_FLOW_RATE: return flow->ended == VN_NEVER ? flow->rate_bps : 0.0;
    case VN_FLOW_SENT_BYTES: return (double)flow->sent_bytes;
    case VN_FLOW_RECEIVED_PAYLOAD: return (double)flow->received_payload;
    case VN_FLOW_RECEIVED_PACKETS: return (double)flow->received;
    case VN_FLOW_MARKED_PACKETS: return (double)flow->marked_ce;
    case VN_FLOW_MARKED_UE_PACKETS: return (double)flow->marked_ue;
    case VN_FLOW_IN_FLIGHT: return (double)in_flight(flow);
    case VN_FLOW_WINDOW: return window_bytes_of(flow);
    }
    return 0.0;
}

static void rdma_free_port(void *state)
{
    struct vn_nic *nic = state;
    free(nic->tx_flows);
    pacing_trees_free(nic->trees);
    free(nic->starts.events);
}

static void rdma_free(struct vn_context *context)
{
    struct vn_rdma *rdma = vn_rdma_of(context);
    if (rdma == NULL) return;
    for (uint32_t i = 0; i < VN_QPS / VN_QP_PAGE; i++) free(rdma->flow_of[i]);
    for (uint32_t i = 0; i < rdma->n_flows; i++) {
        Py_DecRef(rdma->flows[i].rp);
        Py_DecRef(rdma->flows[i].np);
        vn_repeat_free(&rdma->flows[i]);
    }
    if (rdma->flows != NULL) munmap(rdma->flows, rdma->most_flows * sizeof *rdma->flows);
    vn_flow_groups_free(rdma);
    vn_grants_free(context);
    free(rdma->missing);
    free(rdma->waits);
    free(rdma->awaited);
    vn_python_end(&rdma->python);
    free(rdma->latency);
    pthread_mutex_destroy(&rdma->starting);
    free(rdma);
}

static const struct vn_endpoint_kind vn_endpoint_rdma = {
    .name = "rdma",
    .added = rdma_added,
    .port_added = rdma_port_added,
    .take = vn_rdma_take,
    .may_send = vn_nic_changed,
    .act = vn_nic_act,
    .start = vn_nic_start,
    .window = vn_window_event,
    .timer = rdma_timer,
    .answer = vn_answer,
    .hold = vn_python_hold,
    .release = vn_python_release,
    .node_of = rdma_node_of,
    .has = rdma_has,
    .value = rdma_value,
    .cannot_finish_yet = rdma_cannot_finish_yet,
    .cannot_wake_yet = vn_wait_cannot_end_yet,
    .prefetch = vn_rdma_prefetch,
    .prefetch_arrival = vn_rdma_prefetch_arrival,
    .free_port = rdma_free_port,
    .free = rdma_free,
};

#include "virtual/flow.c"
#include "virtual/callback.c"
#include "virtual/grants.c"
#include "virtual/group.c"
#include "virtual/notification.c"
#include "virtual/prefetch.c"
#include "virtual/python.c"
#include "virtual/reaction.c"
#include "virtual/receiver.c"
#include "virtual/repeat.c"
#include "virtual/sender.c"
#include "virtual/wait.c"
