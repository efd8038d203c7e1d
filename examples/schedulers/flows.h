/* Flows at a port, for schedulers that tell them apart: who waits, whose turn is next, and what a
 * scheduler keeps of each. One `struct flows` is for one class of one port.
 *
 * A flow is in one of two heaps: `waiting`, with packets, or `idle`, without, for as long as its
 * scheduler keeps it. The first of a heap has the least rank; of equals, the one that got it first. */
#ifndef EXAMPLES_FLOWS_H
#define EXAMPLES_FLOWS_H

#include <stdlib.h>
#include <sys/random.h>

#include "switches/scheduler.h"

struct flow {
    uint64_t key; /* flow_key */
    uint64_t rank, since; /* the order in its heap; `since` counts ranks that were given */
    uint64_t value; /* the scheduler's */
    struct vn_fifo packets;
    uint32_t place; /* in its heap */
    uint32_t next; /* of its chain, or of the free ones */
};

struct heap {
    uint32_t *flows;
    uint32_t n;
};

struct flows {
    struct flow *all;
    uint32_t n, room, free; /* ever used; of `all` and the heaps, a power of two; first free one */
    uint32_t *chains; /* as many as `room`; see chain_of */
    struct heap waiting, idle;
    uint64_t ranks, secret;
};

/* A hash of what identifies the flow of a frame as it came in: addresses, and of IPv4 without options
 * the protocol and the ports of UDP and TCP; of RoCEv2 the queue pair, too. It stands for the flow:
 * two have the same one with a chance of 2^-64, unless who sends both chooses their addresses so. It
 * has no secret, so that runs repeat. */
static uint64_t flow_key(const struct vn_context *context, struct vn_packet *packet)
{
    enum { TYPE = 12, IP = 14, PROTOCOL = IP + 9, ADDRESSES = IP + 12, PORTS = IP + 20 };
    enum { ROCE = 4791, QUEUE_PAIR = PORTS + 8 + 5, HEADERS = QUEUE_PAIR + 3 };
    const uint8_t *frame = vn_frame(context, packet);
    /* whatever else it is: Ethernet's header, as far as it has one */
    uint32_t from = 0, to = packet->bytes < IP ? packet->bytes : IP;
    uint64_t key = 0xcbf29ce484222325;
    if (packet->bytes >= HEADERS && vn_load16(frame + TYPE) == 0x0800 && frame[IP] == 0x45) {
        uint8_t protocol = frame[PROTOCOL];
        from = ADDRESSES;
        to = protocol == 6 || protocol == 17 ? PORTS + 4 : PORTS;
        if (protocol == 17 && vn_load16(frame + PORTS + 2) == ROCE)
            for (uint32_t i = 0; i < 3; i++) key = (key ^ frame[QUEUE_PAIR + i]) * 0x100000001b3;
        key = (key ^ protocol) * 0x100000001b3;
    }
    for (uint32_t i = from; i < to; i++) key = (key ^ frame[i]) * 0x100000001b3; /* FNV-1a */
    return key ^ key >> 29;
}

/* ---- heaps ---- */

static bool flow_before(const struct flow *a, const struct flow *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->since < b->since;
}

static void heap_put(struct flows *flows, struct heap *heap, uint32_t place, uint32_t flow)
{
    heap->flows[place] = flow;
    flows->all[flow].place = place;
}

static void heap_up(struct flows *flows, struct heap *heap, uint32_t flow)
{
    uint32_t place = flows->all[flow].place;
    for (; place > 0; place = (place - 1) / 2) {
        uint32_t above = heap->flows[(place - 1) / 2];
        if (!flow_before(&flows->all[flow], &flows->all[above])) break;
        heap_put(flows, heap, place, above);
    }
    heap_put(flows, heap, place, flow);
}

static void heap_down(struct flows *flows, struct heap *heap, uint32_t flow)
{
    uint32_t place = flows->all[flow].place;
    for (uint32_t below; (below = 2 * place + 1) < heap->n; place = below) {
        const struct flow *left = &flows->all[heap->flows[below]];
        if (below + 1 < heap->n && flow_before(&flows->all[heap->flows[below + 1]], left)) below++;
        if (!flow_before(&flows->all[heap->flows[below]], &flows->all[flow])) break;
        heap_put(flows, heap, place, heap->flows[below]);
    }
    heap_put(flows, heap, place, flow);
}

static void heap_add(struct flows *flows, struct heap *heap, uint32_t flow, uint64_t rank)
{
    flows->all[flow].rank = rank;
    flows->all[flow].since = flows->ranks++;
    heap_put(flows, heap, heap->n++, flow);
    heap_up(flows, heap, flow);
}

static void heap_remove(struct flows *flows, struct heap *heap, uint32_t flow)
{
    uint32_t place = flows->all[flow].place, last = heap->flows[--heap->n];
    if (last == flow) return;
    heap_put(flows, heap, place, last);
    heap_up(flows, heap, last);
    heap_down(flows, heap, last);
}

/* ---- the table ---- */

/* Of flows in zeroed memory, one a class. */
static void flows_begin(struct flows *flows)
{
    for (uint32_t class = 0; class < VN_CLASSES; class ++) {
        flows[class].free = VN_NONE;
        if (VN_LENT) (void)!getrandom(&flows[class].secret, sizeof flows[class].secret, 0);
    }
}

/* Those of a port, one a class: a scheduler's `make` and `end`. NULL: out of memory. */
static void *flows_make(const struct vn_node *node)
{
    (void)node;
    struct flows *flows = calloc(VN_CLASSES, sizeof *flows);
    if (flows != NULL) flows_begin(flows);
    return flows;
}

static void flows_end(void *queues)
{
    struct flows *flows = queues;
    for (uint32_t class = 0; class < VN_CLASSES; class ++) {
        free(flows[class].all);
        free(flows[class].chains);
        free(flows[class].waiting.flows);
        free(flows[class].idle.flows);
    }
}

static struct flows *flows_of(const struct vn_link *link, uint32_t class)
{
    return (struct flows *)vn_queues_of(link) + class;
}

/* The chain of a key, of `room` ones. Who sends to a live switch doesn't know its secret, or all
 * flows could be in one chain, and a packet would take as long as there are flows. No order depends
 * on chains. */
static uint32_t chain_of(uint64_t key, uint64_t secret, uint32_t room)
{
    key = (key ^ secret) * 0xff51afd7ed558ccd;
    key = (key ^ key >> 32) * 0xc4ceb9fe1a85ec53; /* as MurmurHash3 mixes */
    return (uint32_t)(key >> 32) & (room - 1);
}

/* Makes room for one flow more. False: out of memory, and nothing has changed but room. */
static bool flows_grow(struct flows *flows)
{
    if (flows->free != VN_NONE || flows->n < flows->room) return true;
    uint32_t room = flows->room == 0 ? 16 : 2 * flows->room;
    struct flow *all = realloc(flows->all, room * sizeof *all);
    if (all != NULL) flows->all = all;
    uint32_t *waiting = realloc(flows->waiting.flows, room * sizeof *waiting);
    if (waiting != NULL) flows->waiting.flows = waiting;
    uint32_t *idle = realloc(flows->idle.flows, room * sizeof *idle);
    if (idle != NULL) flows->idle.flows = idle;
    uint32_t *chains = malloc(room * sizeof *chains);
    if (all == NULL || waiting == NULL || idle == NULL || chains == NULL) {
        free(chains);
        return false;
    }
    memset(chains, 0xff, room * sizeof *chains); /* VN_NONE */
    for (uint32_t flow = 0; flow < flows->n; flow++) { /* none is free, so all are in a chain */
        uint32_t *chain = &chains[chain_of(all[flow].key, flows->secret, room)];
        all[flow].next = *chain;
        *chain = flow;
    }
    free(flows->chains);
    flows->chains = chains;
    flows->room = room;
    return true;
}

/* The flow of this key; VN_NONE: it isn't there. */
static uint32_t flows_find(const struct flows *flows, uint64_t key)
{
    if (flows->room == 0) return VN_NONE;
    uint32_t flow = flows->chains[chain_of(key, flows->secret, flows->room)];
    while (flow != VN_NONE && flows->all[flow].key != key) flow = flows->all[flow].next;
    return flow;
}

/* A new flow, in no heap yet. VN_NONE: out of memory, by which the run has failed. */
static uint32_t flows_add(struct vn_context *context, struct flows *flows, uint64_t key)
{
    if (!flows_grow(flows)) {
        vn_fail(context, "out of memory for the flows of a port");
        return VN_NONE;
    }
    uint32_t flow = flows->free;
    if (flow != VN_NONE) flows->free = flows->all[flow].next;
    else flow = flows->n++;
    uint32_t *chain = &flows->chains[chain_of(key, flows->secret, flows->room)];
    flows->all[flow] = (struct flow){.key = key, .next = *chain};
    *chain = flow;
    return flow;
}

/* Of a flow that is in no heap any more. */
static void flows_forget(struct flows *flows, uint32_t flow)
{
    uint32_t *at = &flows->chains[chain_of(flows->all[flow].key, flows->secret, flows->room)];
    while (*at != flow) at = &flows->all[*at].next;
    *at = flows->all[flow].next;
    flows->all[flow].next = flows->free;
    flows->free = flow;
}

/* A scheduler's `for_each`: flow by flow. */
static void flows_each(const struct vn_context *context, const struct vn_link *link, uint32_t class,
                       void (*see)(void *to, const struct vn_packet *, uint32_t class), void *to)
{
    const struct flows *flows = flows_of(link, class);
    for (uint32_t i = 0; i < flows->waiting.n; i++)
        vn_fifo_each(context, &flows->all[flows->waiting.flows[i]].packets, class, see, to);
}

#endif
