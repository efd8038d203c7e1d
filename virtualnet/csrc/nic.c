/* A host's NIC, by the rules that it shares with the live one (hosts/csrc/pacing.h). It sends at the link's rate. */
#include <stdlib.h>

#include "gate.h"
#include "packets.h"

static uint64_t interval_of(const struct vn_flow *flow) { return pacing_interval(8u * flow->frame_bytes, flow->rate_bps); }

/* An event opens a closed gate (VN_EV_PFC or VN_EV_EXPIRY), and calls vn_nic_changed. */
static uint64_t unpaused_at(const void *link, uint32_t class, uint64_t at)
{
    return vn_gate_closed(link, class) ? PACING_NEVER : at;
}

/* The NIC's next action: a function of the state of the NIC and its flows, so it stays valid until that changes. */
static struct pacing_choice choose(struct vn_net *net, struct vn_node *node)
{
    const struct vn_link *link = vn_link_of(net, node->link);
    uint64_t free_at = link->free_at > net->now ? link->free_at : net->now;
    if (!link->up) free_at = PACING_NEVER;
    bool waits = link->has_control || vn_gate_passes(link, link->waiting) != 0;
    uint64_t control = waits ? net->now : PACING_NEVER;
    return pacing_choose(node->tx_flows, node->n_tx_flows, unpaused_at, link, free_at, control, node->last);
}

static void end_flow(struct vn_net *net, struct vn_node *node, uint32_t index, uint64_t ended)
{
    net->flows[node->tx_flows[index].number].ended = ended;
    pacing_remove(node->tx_flows, &node->n_tx_flows, index);
}

/* NULL: the flow hasn't started, or it has ended. */
static struct pacing_flow *tx_flow_of(const struct vn_node *node, uint32_t number)
{
    for (uint32_t i = 0; i < node->n_tx_flows; i++) {
        if (node->tx_flows[i].number == number) return &node->tx_flows[i];
    }
    return NULL;
}

/* Sends a flow's next frame. True: the RP's byte counter is due. */
static bool send_next(struct vn_net *net, struct vn_node *node, uint32_t index)
{
    struct pacing_flow *tx_flow = &node->tx_flows[index];
    uint32_t number = tx_flow->number, id = vn_packet_new(net);
    struct vn_flow *flow = &net->flows[number];
    if (id == VN_NONE) return false;
    struct vn_packet *packet = vn_packet_at(net, id);
    bool last = flow->packets != 0 && flow->sent + 1 == flow->packets;
    vn_stamp(net, packet, flow, last);
    packet->flow = number;
    packet->data = true;
    vn_transmit(net, vn_link_of(net, node->link), id);
    vn_gate_sent(net, vn_link_of(net, node->link), flow->priority, id);
    flow->sent++;
    flow->sent_bytes += packet->bytes;
    flow->base = pacing_started(tx_flow, net->now, flow->interval);
    node->last = number;
    if (last) end_flow(net, node, index, vn_link_of(net, node->link)->free_at + vn_link_of(net, node->link)->delay);
    return !last && flow->sent_bytes >= flow->due_bytes;
}

/* Sends a control frame, or, with credits, a CNP or ACK that there are credits for. */
static void send_control(struct vn_net *net, struct vn_link *link)
{
    if (link->has_control) {
        vn_transmit(net, link, vn_control_pop(net, link));
        return;
    }
    uint32_t class = 31u - (uint32_t)__builtin_clz(vn_gate_passes(link, link->waiting));
    struct vn_fifo *queue = &link->classes[class].queue;
    uint32_t id = vn_fifo_pop(net, queue);
    if (queue->packets == 0) link->waiting &= (uint8_t)~(1u << class);
    vn_transmit(net, link, id);
    vn_gate_sent(net, link, class, id);
}

static void schedule_nic(struct vn_net *net, struct vn_node *node)
{
    if (node->choice.action == PACING_NOTHING) return;
    uint64_t when = node->choice.when > net->now ? node->choice.when : net->now;
    if (when >= node->scheduled) return;
    node->scheduled = when;
    vn_at(net, when, VN_EV_NIC, node->link);
}

void vn_nic_changed(struct vn_net *net, struct vn_node *node)
{
    node->choice = choose(net, node);
    schedule_nic(net, node);
}

void vn_nic_event(struct vn_net *net, uint32_t link)
{
    struct vn_link *out = vn_link_of(net, link);
    struct vn_node *node = &net->nodes[out->node];
    node->scheduled = VN_NEVER;
    struct vn_callback callback = {.method = VN_NO_METHOD};
    while (node->choice.when <= net->now && callback.method == VN_NO_METHOD && !net->failed) {
        struct pacing_choice choice = node->choice;
        if (choice.action == PACING_START) {
            callback.flow = node->tx_flows[choice.index].number;
            if (send_next(net, node, choice.index)) callback.method = VN_ON_BYTES_SENT;
        } else if (choice.action == PACING_CONTROL) send_control(net, out);
        else end_flow(net, node, choice.index, net->now);
        node->choice = choose(net, node);
    }
    schedule_nic(net, node);
    if (callback.method != VN_NO_METHOD) vn_call_back(net, &callback);
}

void vn_nic_control(struct vn_net *net, struct vn_node *node, uint32_t id)
{
    struct vn_link *link = vn_link_of(net, node->link);
    if (link->credits) { /* it needs some, too, and must not keep flow control packets back */
        uint32_t class = vn_frame(net, vn_packet_at(net, id))[WIRE_TOS] >> 5;
        vn_fifo_push(net, &link->classes[class].queue, id);
        link->waiting |= (uint8_t)(1u << class);
    } else {
        vn_control_push(net, link, id);
    }
    vn_nic_changed(net, node);
}

void vn_nic_add(struct vn_net *net, uint32_t number)
{
    struct vn_flow *flow = &net->flows[number];
    struct vn_node *node = &net->nodes[flow->src];
    if (flow->ended != VN_NEVER) return; /* stopped before it started */
    if (node->n_tx_flows == node->capacity) {
        uint32_t capacity = node->capacity == 0 ? 4 : 2 * node->capacity;
        struct pacing_flow *tx_flows = realloc(node->tx_flows, capacity * sizeof *tx_flows);
        if (tx_flows == NULL) {
            vn_fail(net, "out of memory for the flows of a host");
            return;
        }
        node->tx_flows = tx_flows;
        node->capacity = capacity;
    }
    uint32_t at = node->n_tx_flows++;
    for (; at > 0 && node->tx_flows[at - 1].number > number; at--) node->tx_flows[at] = node->tx_flows[at - 1];
    node->tx_flows[at] = (struct pacing_flow){.next = flow->start, .end = flow->end, .number = number, .priority = flow->priority};
    flow->interval = interval_of(flow);
    vn_nic_changed(net, node);
}

/* A host may have thousands of flows, one after the other, and their starts would make the heap deep for all other events. So the
 * heap has only the earliest starts, usually one; the others wait in a list, sorted with the earliest last. */
void vn_nic_await(struct vn_net *net, uint32_t number)
{
    uint64_t start = net->flows[number].start;
    struct vn_node *node = &net->nodes[net->flows[number].src];
    struct vn_event_queue *starts = &node->starts;
    if (node->n_starting == 0 || start <= node->last_start) {
        if (node->n_starting++ == 0) node->last_start = start;
        vn_at(net, start, VN_EV_START, number);
    } else if (starts->n == starts->capacity && !vn_event_queue_grow(starts)) {
        vn_fail(net, "out of memory for events");
    } else {
        struct vn_event event = {start, number};
        node->unsorted |= starts->n != 0 && vn_before(starts->events[starts->n - 1], event);
        starts->events[starts->n++] = event;
    }
}

static int latest_first(const void *a, const void *b)
{
    const struct vn_event *x = a, *y = b;
    return vn_before(*x, *y) - vn_before(*y, *x);
}

void vn_nic_start(struct vn_net *net, uint32_t number)
{
    struct vn_node *node = &net->nodes[net->flows[number].src];
    struct vn_event_queue *starts = &node->starts;
    if (--node->n_starting == 0 && starts->n != 0) {
        if (node->unsorted) qsort(starts->events, starts->n, sizeof *starts->events, latest_first);
        node->unsorted = false;
        struct vn_event next = starts->events[--starts->n];
        node->n_starting = 1;
        node->last_start = next.time;
        vn_at(net, next.time, VN_EV_START, (uint32_t)next.key);
    }
    vn_nic_add(net, number);
}

void vn_nic_stop(struct vn_net *net, uint32_t number)
{
    struct vn_flow *flow = &net->flows[number];
    struct vn_node *node = &net->nodes[flow->src];
    const struct vn_link *link = vn_link_of(net, node->link);
    if (flow->start > net->now) flow->ended = net->now;
    uint64_t ended = pacing_stopped(flow->sent != 0, link->free_at, link->delay, net->now);
    struct pacing_flow *tx_flow = tx_flow_of(node, number);
    if (tx_flow != NULL) end_flow(net, node, (uint32_t)(tx_flow - node->tx_flows), ended);
    vn_nic_changed(net, node);
}

void vn_nic_rate(struct vn_net *net, uint32_t number, double rate_bps)
{
    struct vn_flow *flow = &net->flows[number];
    if (rate_bps == flow->rate_bps || flow->ended != VN_NEVER) return;
    flow->rate_bps = rate_bps;
    flow->interval = interval_of(flow);
    struct pacing_flow *tx_flow = tx_flow_of(&net->nodes[flow->src], number);
    if (tx_flow == NULL) return; /* it hasn't started, and will start at this rate */
    pacing_new_interval(tx_flow, flow->sent != 0, flow->base, flow->interval, net->now);
    vn_nic_changed(net, &net->nodes[flow->src]);
}
