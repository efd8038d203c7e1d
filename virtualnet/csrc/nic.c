/* A host's NIC: the model of hosts/csrc/nic.h without the live clock's delays. It sends at the link's rate: CNPs and ACKs first,
 * which PAUSE doesn't stop; then flows in round robin, each paced at its rate, if the gate admits their class. */
#include <math.h>
#include <stdlib.h>

#include "gate.h"
#include "packets.h"

static uint64_t interval_of(const struct vn_flow *flow)
{
    double ps = (double)flow->frame_bytes * 8e12 / flow->rate_bps;
    return ps < 1e18 ? (uint64_t)llround(ps) : (uint64_t)1e18;
}

/* Round robin: of the flows that may send at `start`, the one after the flow that sent last. */
static uint32_t next_in_round_robin(const struct vn_node *node, uint64_t start)
{
    uint32_t first = VN_NONE;
    for (uint32_t i = 0; i < node->n_tx_flows; i++) {
        if (node->tx_flows[i].eligible > start) continue;
        if (node->last == VN_NONE || node->tx_flows[i].flow > node->last) return i;
        if (first == VN_NONE) first = i;
    }
    return first;
}

/* The NIC's next action: a function of the state of the NIC and its flows, so it stays valid until that changes. */
static struct vn_choice choose(struct vn_net *net, struct vn_node *node)
{
    const struct vn_link *link = vn_link_of(net, node->link);
    uint64_t earliest = VN_NEVER, first_end = VN_NEVER;
    uint32_t ending = 0;
    for (uint32_t i = 0; i < node->n_tx_flows; i++) {
        struct vn_tx_flow *tx_flow = &node->tx_flows[i];
        uint64_t at = vn_gate_closed(link, tx_flow->priority) ? VN_NEVER : tx_flow->next;
        if (at >= tx_flow->end) {
            if (tx_flow->end < first_end) {
                first_end = tx_flow->end;
                ending = i;
            }
            at = VN_NEVER;
        } else if (at < earliest) {
            earliest = at;
        }
        tx_flow->eligible = at;
    }
    uint64_t start = earliest > link->free_at ? earliest : link->free_at;
    if (start < net->now) start = net->now; /* the gate was closed: more flows may be eligible by now */
    struct vn_choice choice = {VN_NEVER, VN_NOTHING, 0};
    if (link->has_control && link->up) {
        uint64_t at = link->free_at > net->now ? link->free_at : net->now;
        if (earliest == VN_NEVER || at <= start) choice = (struct vn_choice){at, VN_CONTROL, 0};
    }
    if (choice.action == VN_NOTHING && earliest != VN_NEVER && link->up) {
        choice = (struct vn_choice){start, VN_START, next_in_round_robin(node, start)};
    }
    if (first_end < choice.when) choice = (struct vn_choice){first_end, VN_END, ending};
    return choice;
}

static void end_flow(struct vn_net *net, struct vn_node *node, uint32_t index, uint64_t ended)
{
    net->flows[node->tx_flows[index].flow].ended = ended;
    node->n_tx_flows--;
    for (uint32_t i = index; i < node->n_tx_flows; i++) node->tx_flows[i] = node->tx_flows[i + 1];
}

/* NULL: the flow hasn't started, or it has ended. */
static struct vn_tx_flow *tx_flow_of(const struct vn_node *node, uint32_t flow)
{
    for (uint32_t i = 0; i < node->n_tx_flows; i++) {
        if (node->tx_flows[i].flow == flow) return &node->tx_flows[i];
    }
    return NULL;
}

/* Sends a flow's next frame. True: the RP's byte counter is due. */
static bool send_next(struct vn_net *net, struct vn_node *node, uint32_t index)
{
    struct vn_tx_flow *tx_flow = &node->tx_flows[index];
    uint32_t number = tx_flow->flow, id = vn_packet_new(net);
    struct vn_flow *flow = &net->flows[number];
    if (id == VN_NONE) return false;
    struct vn_packet *packet = vn_packet_at(net, id);
    bool last = flow->packets != 0 && flow->sent + 1 == flow->packets;
    vn_stamp(net, packet, flow, last);
    packet->flow = number;
    packet->data = true;
    vn_transmit(net, vn_link_of(net, node->link), id);
    flow->sent++;
    flow->sent_bytes += packet->bytes;

    /* A flow that had to wait keeps credit for one packet. */
    uint64_t credit = net->now > flow->interval ? net->now - flow->interval : 0;
    flow->base = tx_flow->next > credit ? tx_flow->next : credit;
    flow->has_base = true;
    tx_flow->next = flow->base + flow->interval;
    node->last = number;
    if (last) end_flow(net, node, index, vn_link_of(net, node->link)->free_at + vn_link_of(net, node->link)->delay);
    return !last && flow->sent_bytes >= flow->due_bytes;
}

static void schedule_nic(struct vn_net *net, struct vn_node *node)
{
    if (node->choice.action == VN_NOTHING) return;
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
    struct vn_callback callback = {.method = VN_NAMES};
    while (node->choice.when <= net->now && callback.method == VN_NAMES && !net->failed) {
        struct vn_choice choice = node->choice;
        if (choice.action == VN_START) {
            callback.flow = node->tx_flows[choice.index].flow;
            if (send_next(net, node, choice.index)) callback.method = VN_ON_BYTES_SENT;
        } else if (choice.action == VN_CONTROL) vn_transmit(net, out, vn_control_pop(net, out));
        else end_flow(net, node, choice.index, net->now);
        node->choice = choose(net, node);
    }
    schedule_nic(net, node);
    if (callback.method != VN_NAMES) vn_call_back(net, &callback);
}

void vn_nic_control(struct vn_net *net, struct vn_node *node, uint32_t id)
{
    vn_control_push(net, vn_link_of(net, node->link), id);
    vn_nic_changed(net, node);
}

void vn_nic_add(struct vn_net *net, uint32_t number)
{
    struct vn_flow *flow = &net->flows[number];
    struct vn_node *node = &net->nodes[flow->src];
    if (flow->ended != VN_NEVER) return; /* stopped before it started */
    if (node->n_tx_flows == node->capacity) {
        uint32_t capacity = node->capacity == 0 ? 4 : 2 * node->capacity;
        struct vn_tx_flow *tx_flows = realloc(node->tx_flows, capacity * sizeof *tx_flows);
        if (tx_flows == NULL) {
            vn_fail(net, "out of memory for the flows of a host");
            return;
        }
        node->tx_flows = tx_flows;
        node->capacity = capacity;
    }
    uint32_t at = node->n_tx_flows++;
    for (; at > 0 && node->tx_flows[at - 1].flow > number; at--) node->tx_flows[at] = node->tx_flows[at - 1];
    node->tx_flows[at] = (struct vn_tx_flow){.next = flow->start, .end = flow->end, .flow = number, .priority = flow->priority};
    flow->interval = interval_of(flow);
    vn_nic_changed(net, node);
}

/* A host may have thousands of flows, one after the other, and their starts would make the heap deep for all other events. So the
 * heap has only the earliest starts, usually one; the others wait in a list, sorted with the earliest last. */
void vn_nic_await(struct vn_net *net, uint32_t number)
{
    uint64_t start = net->flows[number].start;
    struct vn_node *node = &net->nodes[net->flows[number].src];
    struct vn_queue *starts = &node->starts;
    if (node->n_starting == 0 || start <= node->last_start) {
        if (node->n_starting++ == 0) node->last_start = start;
        vn_at(net, start, VN_EV_START, number);
    } else if (starts->n == starts->capacity && !vn_queue_grow(starts)) {
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
    struct vn_queue *starts = &node->starts;
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
    uint64_t arrived = flow->sent != 0 ? link->free_at + link->delay : 0;
    struct vn_tx_flow *tx_flow = tx_flow_of(node, number);
    if (tx_flow != NULL) end_flow(net, node, (uint32_t)(tx_flow - node->tx_flows), arrived > net->now ? arrived : net->now);
    vn_nic_changed(net, node);
}

/* The new rate applies at once: to the gap after the flow's latest frame, too. */
void vn_nic_rate(struct vn_net *net, uint32_t number, double rate_bps)
{
    struct vn_flow *flow = &net->flows[number];
    if (rate_bps == flow->rate_bps || flow->ended != VN_NEVER) return;
    flow->rate_bps = rate_bps;
    flow->interval = interval_of(flow);
    struct vn_tx_flow *tx_flow = tx_flow_of(&net->nodes[flow->src], number);
    if (tx_flow == NULL) return; /* it hasn't started, and will start at this rate */
    uint64_t next = flow->has_base ? flow->base + flow->interval : 0;
    if (next < net->now) next = net->now;
    tx_flow->next = next > flow->start ? next : flow->start;
    vn_nic_changed(net, &net->nodes[flow->src]);
}
