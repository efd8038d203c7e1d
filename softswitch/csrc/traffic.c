/* Queues, shaping and delay lines. */
#include "traffic.h"

#include <stdlib.h>
#include <string.h>

static uint64_t max_ns(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t wire_ns(const struct sw_tm_port *port, uint32_t bytes)
{
    return port->rate_bps == 0 ? 0 : (uint64_t)bytes * 8 * 1000000000u / port->rate_bps;
}

void sw_tm_init(struct sw_tm *tm, uint32_t priorities, uint32_t depth, bool punctual)
{
    *tm = (struct sw_tm){.priorities = priorities, .punctual = punctual};
    sw_tm_set_queue(tm, NULL, -1, 0, &(struct sw_queue_setting){depth, 0});
}

void sw_tm_free(struct sw_tm *tm)
{
    for (uint32_t i = 0; i < tm->n_active; i++) free(tm->ports[tm->active[i]]);
    tm->n_active = 0;
    memset(tm->ports, 0, sizeof tm->ports);
}

void sw_tm_flush(struct sw_tm *tm, struct sw_pool *pool)
{
    for (uint32_t i = 0; i < tm->n_active; i++) {
        struct sw_tm_port *port = tm->ports[tm->active[i]];
        for (uint32_t q = 0; q < SW_PRIORITIES; q++) sw_fifo_free(pool, &port->queues[q].packets);
        sw_fifo_free(pool, &port->delay_line);
        port->queued = 0;
    }
}

struct sw_tm_port *sw_tm_port(struct sw_tm *tm, uint32_t number)
{
    if (number >= SW_MAX_PORTS) return NULL;
    struct sw_tm_port *port = tm->ports[number];
    if (port != NULL) return port;
    port = calloc(1, sizeof *port);
    if (port == NULL) return NULL;
    port->port = (uint16_t)number;
    port->punctual = tm->punctual;
    for (uint32_t q = 0; q < SW_PRIORITIES; q++) {
        port->queues[q].depth = tm->depth[q];
        port->interval_ns[q] = tm->interval_ns[q];
        port->rated |= port->interval_ns[q] != 0;
    }
    port->trimming = tm->trimming;
    tm->ports[number] = port;
    tm->active[tm->n_active++] = (uint16_t)number;
    return port;
}

void sw_tm_shape(struct sw_tm_port *port, uint64_t rate_bps, uint64_t delay_ns)
{
    port->rate_bps = rate_bps;
    port->delay_ns = delay_ns;
}

static bool one_of(int queue, uint32_t q) { return queue < 0 || (uint32_t)queue == q; }

/* The latest packet of a queue with a rate left an interval before it is free. */
static void set_interval(struct sw_tm_port *port, uint32_t q, uint64_t interval_ns, uint64_t now_ns)
{
    uint64_t before = port->interval_ns[q], *free_ns = &port->queues[q].free_ns;
    bool waits = *free_ns > now_ns;
    if (before != 0 && *free_ns >= before) *free_ns += interval_ns - before;
    if (waits) *free_ns = max_ns(*free_ns, now_ns);
    port->interval_ns[q] = interval_ns;
    port->rated = false;
    for (uint32_t i = 0; i < SW_PRIORITIES; i++) port->rated |= port->interval_ns[i] != 0;
}

static void set_port(struct sw_tm_port *port, int queue, uint64_t now_ns,
                     const struct sw_queue_setting *to)
{
    for (uint32_t q = 0; q < SW_PRIORITIES; q++) {
        if (!one_of(queue, q)) continue;
        if (to->depth != SW_AS_IT_IS) port->queues[q].depth = (uint32_t)to->depth;
        if (to->interval_ns != SW_AS_IT_IS) set_interval(port, q, to->interval_ns, now_ns);
    }
}

void sw_tm_set_queue(struct sw_tm *tm, struct sw_tm_port *port, int queue, uint64_t now_ns,
                     const struct sw_queue_setting *to)
{
    if (port != NULL) {
        set_port(port, queue, now_ns, to);
        return;
    }
    for (uint32_t q = 0; q < SW_PRIORITIES; q++) {
        if (!one_of(queue, q)) continue;
        if (to->depth != SW_AS_IT_IS) tm->depth[q] = (uint32_t)to->depth;
        if (to->interval_ns != SW_AS_IT_IS) tm->interval_ns[q] = to->interval_ns;
    }
    for (uint32_t i = 0; i < tm->n_active; i++)
        set_port(tm->ports[tm->active[i]], queue, now_ns, to);
}

void sw_tm_trim(struct sw_tm *tm, const struct sw_trimming *trimming)
{
    tm->trimming = *trimming;
    for (uint32_t i = 0; i < tm->n_active; i++) tm->ports[tm->active[i]]->trimming = *trimming;
}

static bool full(const struct sw_queue *queue) { return queue->packets.count >= queue->depth; }

bool sw_tm_enqueue(struct sw_tm_port *port, uint32_t number, struct sw_pkt *pkt, uint64_t now_ns)
{
    struct sw_queue *queue = &port->queues[number];
    bool trims = full(queue) && sw_trims(&port->trimming, number, pkt->p.length_register);
    struct sw_pkt *last = queue->packets.tail;
    /* where the queue of trimmed packets has room, so that what isn't taken is `pkt` */
    if (trims && last != NULL && !full(&port->queues[port->trimming.queue_index]) &&
        sw_trims(&port->trimming, number, last->p.length_register) &&
        sw_trims_tail(&port->trimming)) {
        pkt->enq_ns = now_ns;
        pkt->queue = (uint8_t)number;
        pkt->p.std.enq_qdepth = (queue->packets.count - 1) & 0x7ffffu; /* those ahead */
        sw_fifo_replace_last(&queue->packets, pkt);
        pkt = last;
    }
    if (trims) {
        number = port->trimming.queue_index;
        queue = &port->queues[number];
        pkt->p.std.enq_qdepth = queue->packets.count & 0x7ffffu; /* bit<19> */
        if (pkt->truncate_to > port->trimming.size) pkt->truncate_to = port->trimming.size;
        pkt->trimmed = true;
    }
    if (full(queue)) {
        port->dropped++;
        return false;
    }
    port->trimmed += trims;
    pkt->enq_ns = now_ns;
    pkt->queue = (uint8_t)number;
    sw_fifo_push(&queue->packets, pkt);
    port->queued++;
    return true;
}

uint64_t sw_tm_next_start(const struct sw_tm_port *port)
{
    if (port->queued == 0) return UINT64_MAX;
    uint64_t first = UINT64_MAX;
    for (uint32_t q = 0; q < SW_PRIORITIES; q++) {
        const struct sw_queue *queue = &port->queues[q];
        if (queue->packets.head == NULL) continue;
        uint64_t ready = max_ns(queue->packets.head->enq_ns, queue->free_ns);
        if (ready < first) first = ready;
    }
    return first == UINT64_MAX ? first : max_ns(first, port->free_ns);
}

struct sw_pkt *sw_tm_dequeue(struct sw_tm *tm, struct sw_tm_port *port, uint64_t now_ns)
{
    uint64_t start = sw_tm_next_start(port);
    if (start == UINT64_MAX || start > now_ns) return NULL;
    uint32_t ready = 0; /* bit mask of queues; the highest one alone where none trims */
    for (uint32_t q = tm->priorities; q-- > 0 && (ready == 0 || port->trimming.queues != 0);) {
        const struct sw_pkt *pkt = port->queues[q].packets.head;
        if (pkt != NULL && max_ns(pkt->enq_ns, port->queues[q].free_ns) <= start) ready |= 1u << q;
    }
    if (ready == 0) return NULL;
    uint32_t number = sw_trim_turn(&port->trimming, ready);
    struct sw_pkt *pkt = sw_fifo_pop(&port->queues[number].packets);
    port->queued--;
    if (__builtin_expect(port->rated, 0) && port->interval_ns[number] != 0)
        port->queues[number].free_ns = start + port->interval_ns[number];
    pkt->start_ns = start;
    return pkt;
}

void sw_tm_timed(struct sw_tm_port *port, struct sw_pkt *pkt, uint32_t bytes)
{
    uint64_t end = pkt->start_ns + wire_ns(port, bytes);
    port->free_ns = end;
    pkt->due_ns = end + port->delay_ns;
    /* A delay that is lowered while packets are in flight must not reorder them. */
    if (port->delay_line.tail != NULL)
        pkt->due_ns = max_ns(pkt->due_ns, port->delay_line.tail->due_ns);
}

void sw_tm_sent(struct sw_tm_port *port, struct sw_pkt *pkt, uint32_t bytes)
{
    sw_tm_timed(port, pkt, bytes);
    if (!sw_tm_immediate(port)) sw_fifo_push(&port->delay_line, pkt);
}

void sw_tm_recirculated(struct sw_tm_port *port, const struct sw_pkt *pkt, uint32_t bytes,
                        uint64_t now_ns)
{
    struct sw_queue *queue = &port->queues[pkt->queue];
    if (port->rate_bps != 0) {
        queue->free_ns = max_ns(queue->free_ns, pkt->start_ns + wire_ns(port, bytes));
    } else if (pkt->passes >= SW_LOOP_PASSES) {
        if (queue->round == 0) queue->round = queue->packets.count + 1;
        if (--queue->round == 0) queue->free_ns = max_ns(queue->free_ns, now_ns + SW_LOOP_PAUSE_NS);
    }
}

uint64_t sw_tm_next_release(const struct sw_tm_port *port)
{
    const struct sw_pkt *pkt = port->delay_line.head;
    if (pkt == NULL) return UINT64_MAX;
    if (port->rate_bps == 0 || port->punctual) return pkt->due_ns;
    uint64_t wire = wire_ns(port, pkt->p.length), paced = port->released[1] + wire;
    uint64_t patience = wire < SW_BEHIND_NS ? SW_OVERDUE_NS : SW_OVERDUE_LONG_NS;
    uint64_t overdue = pkt->due_ns + max_ns(SW_OVERDUE_PACKETS * wire, patience);
    if (paced > overdue) paced = overdue;
    return max_ns(pkt->due_ns, paced);
}

struct sw_pkt *sw_tm_release(struct sw_tm_port *port, uint64_t now_ns)
{
    if (sw_tm_next_release(port) > now_ns) return NULL;
    port->released[1] = port->released[0];
    port->released[0] = now_ns;
    return sw_fifo_pop(&port->delay_line);
}

void sw_tm_note_departures(struct sw_tm_port *port, uint64_t since_ns, uint64_t now_ns)
{
    uint64_t took = now_ns - since_ns;
    /* the first of two */
    if (port->released[1] >= since_ns) port->released[1] = since_ns + took / 2;
    if (port->released[0] >= since_ns) port->released[0] = now_ns;
}

uint64_t sw_tm_next(const struct sw_tm_port *port)
{
    uint64_t start = sw_tm_next_start(port);
    uint64_t release = sw_tm_next_release(port);
    return start < release ? start : release;
}
