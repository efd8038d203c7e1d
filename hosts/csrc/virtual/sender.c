/* The sending side of an RDMA NIC, by the rules that it shares with the live one
 * (hosts/csrc/pacing.h). It sends at the link's rate. */
#include <errno.h>
#include <stdlib.h>

#include "virtual/flow.h"

static uint64_t interval_of(const struct vn_flow *flow, const struct vn_link *link)
{
    return vn_ticks(link, pacing_interval(8u * flow->frame_bytes, flow->rate_bps));
}

/* An event opens a closed gate (VN_EV_CONTROL or VN_EV_EXPIRY), and calls vn_nic_changed. */
static uint64_t unpaused_at(const void *link, uint32_t class, uint64_t at)
{
    return vn_gate_closed(link, class) ? PACING_NEVER : at;
}

/* The NIC's next action: a function of the state of the NIC and its flows, so it stays valid until
 * that changes. */
static struct pacing_choice choose(struct vn_context *context, const struct vn_nic *nic,
                                   const struct vn_link *link)
{
    uint64_t free_at = link->free_at > context->now ? link->free_at : context->now;
    if (!link->up) free_at = PACING_NEVER;
    uint64_t control = vn_host_waits(link) ? context->now : PACING_NEVER;
    if (nic->n_tx_flows > PACING_FEW) {
        return pacing_trees_choose(nic->trees, nic->tx_flows, nic->n_tx_flows, unpaused_at, link,
                                   free_at, control, nic->last);
    }
    return pacing_choose(nic->tx_flows, nic->n_tx_flows, unpaused_at, link, free_at, control,
                         nic->last);
}

/* After a change of when a flow's next frame may start. */
static void flow_changed(const struct vn_nic *nic, const struct pacing_flow *tx_flow)
{
    if (nic->n_tx_flows > PACING_FEW)
        pacing_trees_set(nic->trees, nic->tx_flows, (uint32_t)(tx_flow - nic->tx_flows));
}

/* After a flow was added or removed. */
static void flows_changed(struct vn_context *context, struct vn_nic *nic)
{
    if (nic->n_tx_flows <= PACING_FEW) return;
    if (nic->trees == NULL) nic->trees = calloc(1, sizeof *nic->trees);
    if (nic->trees == NULL || !pacing_trees_build(nic->trees, nic->tx_flows, nic->n_tx_flows)) {
        vn_fail(context, "out of memory for the flows of a host");
    }
}

static void end_flow(struct vn_context *context, struct vn_nic *nic, uint32_t index, uint64_t ended)
{
    VN_ASSERT(index < nic->n_tx_flows);
    vn_flow_at(context, nic->tx_flows[index].number)->ended = ended;
    pacing_remove(nic->tx_flows, &nic->n_tx_flows, index);
    flows_changed(context, nic);
}

/* NULL: the flow hasn't started, or it has ended. */
static struct pacing_flow *tx_flow_of(const struct vn_nic *nic, uint32_t number)
{
    uint32_t after = pacing_after(nic->tx_flows, nic->n_tx_flows, number);
    return after != 0 && nic->tx_flows[after - 1].number == number ? &nic->tx_flows[after - 1]
                                                                   : NULL;
}

/* Sends a flow's next frame. True: the RP's byte counter is due. */
static bool send_next(struct vn_context *context, struct vn_nic *nic, struct vn_link *link,
                      uint32_t index)
{
    struct pacing_flow *tx_flow = &nic->tx_flows[index];
    uint32_t number = tx_flow->number, id = vn_packet_new(context);
    struct vn_flow *flow = vn_flow_at(context, number);
    if (id == VN_NONE) return false;
    VN_ASSERT(flow->ended == VN_NEVER &&
              (flow->repeats || flow->packets == 0 || flow->sent < flow->packets));
    struct vn_packet *packet = vn_packet_at(context, id);
    bool last = !flow->repeats && flow->packets != 0 && flow->sent + 1 == flow->packets;
    if (!flow->repeats) vn_stamp(context, packet, flow, last);
    else if (!vn_repeat_stamp(context, packet, number)) return false;
    if (flow->sprays)
        wire_store16(vn_frame(context, packet) + WIRE_UDP, paths_next(flow->paths, context->now));
    packet->flow = number;
    packet->data = true;
    vn_observe_sends(context, link, tx_flow, id);
    vn_transmit(context, link, id);
    vn_gate_sent(context, link, flow->priority, id);
    flow->sent++;
    VN_ASSERT(flow->sent_bytes + packet->bytes <= flow->sent * flow->frame_bytes);
    flow->sent_bytes += packet->bytes;
    flow->base = pacing_started(tx_flow, context->now, flow->interval);
    nic->last = number;
    if (flow->transport != NULL && !vn_window_open(flow)) {
        vn_observe_closes(context, number);
        pacing_close(tx_flow);
    }
    flow_changed(nic, tx_flow);
    if (last) end_flow(context, nic, index, link->free_at + link->delay);
    return !last && flow->sent_bytes >= flow->due_bytes;
}

static void schedule_nic(struct vn_context *context, struct vn_link *link, const struct vn_nic *nic)
{
    if (nic->choice.action != PACING_NOTHING) vn_host_at(context, link, nic->choice.when);
}

void vn_nic_changed(struct vn_context *context, struct vn_link *link)
{
    struct vn_nic *nic = vn_nic_of(context, link);
    nic->choice = choose(context, nic, link);
    schedule_nic(context, link, nic);
}

void vn_nic_act(struct vn_context *context, struct vn_link *link)
{
    struct vn_nic *nic = vn_nic_of(context, link);
    struct vn_callback callback = {.method = VN_NO_METHOD};
    while (nic->choice.when <= context->now && callback.method == VN_NO_METHOD &&
           !context->failed) {
        struct pacing_choice choice = nic->choice;
        if (choice.action == PACING_START) {
            callback.flow = nic->tx_flows[choice.index].number;
            if (send_next(context, nic, link, choice.index)) callback.method = VN_ON_BYTES_SENT;
        } else if (choice.action == PACING_CONTROL) vn_host_send_queued(context, link);
        else end_flow(context, nic, choice.index, context->now);
        nic->choice = choose(context, nic, link);
    }
    schedule_nic(context, link, nic);
    if (callback.method != VN_NO_METHOD) vn_call_back(context, &callback);
}

/* Where the sender of a frame has to pay for it, notifications wait as well, and must not keep flow
 * control packets back. */
void vn_nic_notify(struct vn_context *context, uint32_t port, uint32_t id, uint32_t cause)
{
    (void)cause; /* an observer's */
    vn_observe_answers(context, &context->links[port], id, cause);
    bool paid = context->links[port].paid;
    if (paid)
        vn_host_send(context, port, id,
                     vn_frame(context, vn_packet_at(context, id))[WIRE_TOS] >> 5);
    else vn_host_send_first(context, port, id);
}

/* False: no memory. */
static bool note_start(struct vn_rdma *rdma, uint32_t number)
{
    if (rdma->flows[number].group == VN_NO_GROUP && !rdma->flows[number].awaited) return true;
    pthread_mutex_lock(&rdma->starting);
    bool ok = vn_flow_group_started(rdma, number) && vn_wait_started(rdma, number);
    pthread_mutex_unlock(&rdma->starting);
    return ok;
}

/* Adds a flow's entry. False: the run has failed. */
static bool add_entry(struct vn_context *context, struct vn_nic *nic, struct pacing_flow added)
{
    if (nic->n_tx_flows == nic->capacity) {
        uint32_t capacity = nic->capacity == 0 ? 4 : 2 * nic->capacity;
        struct pacing_flow *tx_flows = realloc(nic->tx_flows, capacity * sizeof *tx_flows);
        if (tx_flows == NULL) {
            vn_fail(context, "out of memory for the flows of a host");
            return false;
        }
        nic->tx_flows = tx_flows;
        nic->capacity = capacity;
    }
    VN_ASSERT(nic->n_tx_flows < nic->capacity && tx_flow_of(nic, added.number) == NULL);
    uint32_t at = nic->n_tx_flows++;
    for (; at > 0 && nic->tx_flows[at - 1].number > added.number; at--)
        nic->tx_flows[at] = nic->tx_flows[at - 1];
    nic->tx_flows[at] = added;
    flows_changed(context, nic);
    return !context->failed;
}

void vn_nic_add(struct vn_context *context, uint32_t number)
{
    struct vn_flow *flow = vn_flow_at(context, number);
    struct vn_link *link = vn_port_of_flow(context, flow);
    if (flow->ended != VN_NEVER) return; /* stopped before it started */
    if (!note_start(vn_rdma_of(context), number)) {
        vn_fail(context, "out of memory for flows");
        return;
    }
    vn_observe_begins(context, number);
    flow->interval = interval_of(flow, link);
    struct pacing_flow added = {
        .next = flow->start, .end = flow->end, .number = number, .priority = flow->priority};
    if (add_entry(context, vn_nic_of(context, link), added)) vn_nic_changed(context, link);
}

int vn_move_notifications(struct vn_context *context, uint32_t port)
{
    struct vn_link *link = port < context->n_links ? &context->links[port] : NULL;
    if (link == NULL || vn_host_with(context, link->node, VN_ENDPOINT_rdma) == NULL)
        return vn_refuse(context, -EINVAL, "no such port");
    for (uint32_t n = link->control.packets; n != 0; n--) {
        uint32_t id = vn_control_pop(context, link), number = vn_packet_at(context, id)->flow;
        bool turns_back =
            number != VN_NONE && vn_receiver_of(context, vn_flow_at(context, number)) == link->node;
        vn_control_push(context,
                        turns_back ? &context->links[vn_flow_at(context, number)->back_port] : link,
                        id);
    }
    for (uint32_t port_link = vn_host_of(vn_near(context, link))->link; port_link != VN_NONE;
         port_link = vn_host_next(context, port_link)) {
        vn_nic_changed(context, &context->links[port_link]);
    }
    return 0;
}

int vn_flow_ports(struct vn_context *context, uint32_t number, uint32_t port, uint32_t back_port)
{
    if (number >= vn_rdma_of(context)->n_flows) return vn_refuse(context, -ENOENT, "no such flow");
    struct vn_flow *flow = vn_flow_at(context, number);
    if (port >= context->n_links || context->links[port].node != vn_sender_of(context, flow) ||
        back_port >= context->n_links ||
        context->links[back_port].node != vn_receiver_of(context, flow)) {
        return vn_refuse(context, -EINVAL, "no such port of the flow's hosts");
    }
    struct vn_link *old = vn_port_of_flow(context, flow), *link = &context->links[port];
    flow->back_port = back_port;
    flow->port = port;
    struct vn_nic *nic = vn_nic_of(context, old);
    const struct pacing_flow *tx_flow = tx_flow_of(nic, number);
    if (old == link || tx_flow == NULL) return 0; /* it hasn't started, or it has ended */
    vn_observe_changes(context, old, tx_flow);
    struct pacing_flow moved = *tx_flow;
    pacing_remove(nic->tx_flows, &nic->n_tx_flows, (uint32_t)(tx_flow - nic->tx_flows));
    flows_changed(context, nic);
    vn_nic_changed(context, old);
    if (add_entry(context, vn_nic_of(context, link), moved)) vn_nic_changed(context, link);
    return 0;
}

static void start_at(struct vn_context *context, struct vn_node *node, uint64_t time,
                     uint32_t number)
{
    vn_endpoint_at(context, node->number, time, VN_EV_START, VN_ENDPOINT_rdma, number);
}

/* A host may have thousands of flows, one after the other, and their starts would make the heap
 * deep for all other events. So the heap has only the earliest starts, usually one; the others wait
 * in a list, sorted with the earliest last. */
void vn_nic_await(struct vn_context *context, uint32_t number)
{
    uint64_t start = vn_flow_at(context, number)->start;
    struct vn_node *node = vn_near(context, vn_port_of_flow(context, vn_flow_at(context, number)));
    struct vn_nic *nic = vn_first_nic(node);
    struct vn_event_queue *starts = &nic->starts;
    if (nic->n_starting == 0 || start <= nic->last_start) {
        if (nic->n_starting++ == 0) nic->last_start = start;
        start_at(context, node, start, number);
    } else if (starts->n == starts->capacity && !vn_event_queue_grow(starts)) {
        vn_fail(context, "out of memory for events");
    } else {
        struct vn_event event = {start, number};
        nic->unsorted |= starts->n != 0 && vn_before(starts->events[starts->n - 1], event);
        starts->events[starts->n++] = event;
    }
}

static int latest_first(const void *a, const void *b)
{
    const struct vn_event *x = a, *y = b;
    return vn_before(*x, *y) - vn_before(*y, *x);
}

void vn_nic_start(struct vn_context *context, uint32_t number)
{
    struct vn_node *node = vn_near(context, vn_port_of_flow(context, vn_flow_at(context, number)));
    struct vn_nic *nic = vn_first_nic(node);
    struct vn_event_queue *starts = &nic->starts;
    VN_ASSERT(nic->n_starting != 0 && vn_flow_at(context, number)->start == context->now);
    if (--nic->n_starting == 0 && starts->n != 0) {
        if (nic->unsorted) qsort(starts->events, starts->n, sizeof *starts->events, latest_first);
        nic->unsorted = false;
        struct vn_event next = starts->events[--starts->n];
        nic->n_starting = 1;
        nic->last_start = next.time;
        start_at(context, node, next.time, (uint32_t)next.key);
    }
    vn_nic_add(context, number);
    const struct vn_flow *flow = vn_flow_at(context, number);
    if (flow->waited && flow->ended == VN_NEVER) {
        vn_call_back(context, &(struct vn_callback){.method = VN_ON_START, .flow = number});
    }
}

void vn_nic_stop(struct vn_context *context, uint32_t number)
{
    struct vn_flow *flow = vn_flow_at(context, number);
    const struct vn_link *link = vn_port_of_flow(context, flow);
    if (flow->start > context->now) flow->ended = context->now;
    uint64_t ended = pacing_stopped(flow->sent != 0, link->free_at, link->delay, context->now);
    vn_nic_end(context, number, ended);
}

void vn_nic_end(struct vn_context *context, uint32_t number, uint64_t ended)
{
    struct vn_link *link = vn_port_of_flow(context, vn_flow_at(context, number));
    struct vn_nic *nic = vn_nic_of(context, link);
    struct pacing_flow *tx_flow = tx_flow_of(nic, number);
    if (tx_flow == NULL) return;
    end_flow(context, nic, (uint32_t)(tx_flow - nic->tx_flows), ended);
    vn_nic_changed(context, link);
}

void vn_nic_rate(struct vn_context *context, uint32_t number, double rate_bps)
{
    struct vn_flow *flow = vn_flow_at(context, number);
    if (rate_bps == flow->rate_bps || flow->ended != VN_NEVER) return;
    flow->rate_bps = rate_bps;
    struct vn_link *link = vn_port_of_flow(context, flow);
    flow->interval = interval_of(flow, link);
    struct vn_nic *nic = vn_nic_of(context, link);
    struct pacing_flow *tx_flow = tx_flow_of(nic, number);
    if (tx_flow == NULL) return; /* it hasn't started, and will start at this rate */
    vn_observe_changes(context, link, tx_flow);
    pacing_new_interval(tx_flow, flow->sent != 0, flow->base, flow->interval, context->now);
    flow_changed(nic, tx_flow);
    vn_nic_changed(context, link);
}

void vn_nic_window(struct vn_context *context, uint32_t number, double window_bytes)
{
    struct vn_flow *flow = vn_flow_at(context, number);
    if (flow->ended != VN_NEVER) return;
    flow->transport->window_bytes = window_bytes;
    struct vn_link *link = vn_port_of_flow(context, flow);
    struct vn_nic *nic = vn_nic_of(context, link);
    struct pacing_flow *tx_flow = tx_flow_of(nic, number);
    bool closed = !vn_window_open(flow);
    VN_ASSERT(flow->repeats || (flow->transport->sent == flow->sent &&
                                (!closed || flow->transport->requested > flow->transport->acked)));
    if (tx_flow == NULL || pacing_closed(tx_flow) == closed) return;
    vn_observe_changes(context, link, tx_flow);
    if (closed) vn_observe_closes(context, number);
    if (closed) pacing_close(tx_flow);
    else {
        vn_observe_opens(context, number);
        pacing_open(tx_flow, flow->base, flow->interval, context->now);
    }
    flow_changed(nic, tx_flow);
    vn_nic_changed(context, link);
}
