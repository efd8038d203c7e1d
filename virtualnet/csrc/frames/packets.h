/* Packets in memory, and the FIFOs in which they wait. */
#ifndef VN_PACKETS_H
#define VN_PACKETS_H

#include <string.h>

#include "context.h"

/* A queue of packets; where it is empty, head and tail mean nothing. */
struct vn_fifo {
    uint32_t head, tail, packets;
};

/* How many packets there is address space for, once the network has its links, unless it has a
 * limit: a power of two. */
static inline uint32_t vn_most_packets(const struct vn_context *context)
{
    enum { OF_A_LINK = 64 }; /* both directions of a 400G link of 1 us are full with fewer */
    uint32_t most = VN_MOST_PACKETS;
    if (context->pool.limit != 0) return context->pool.limit;
    while (most < (uint64_t)OF_A_LINK * context->n_links) most *= 2;
    return most;
}

/* The pool, before the first packet, with so many bytes between a vn_packet and its frame. False:
 * the run has failed. */
static bool vn_pool_init(struct vn_context *, uint32_t between);
static void vn_pool_free(struct vn_pool *);
/* Between rounds: whether packets take more than so many cache lines, those of observers not
 * counted, so that one changes nothing of how a run goes. */
static bool vn_pool_exceeds(const struct vn_pool *, uint32_t lines);
/* Counts what is lost of this flow, too, from now on. False: no memory. */
VN_OFFERED bool vn_pool_counts(struct vn_pool *, uint32_t flow);
/* Frames' packets where the context's list is empty; what it does with it where it is long. */
static uint32_t vn_packet_grow(struct vn_context *);
static void vn_packets_full(struct vn_context *);
/* Before the first packet: how a context begins that is one of `n`. False: no memory. */
static bool vn_packets_init(struct vn_context *, uint32_t n);
/* Adds what a context has counted to the network's. */
static void vn_packets_merge(struct vn_packets *network, struct vn_packets *part);
/* An endpoint needs the first `bytes` of frames: so many are stored. 0, or a negative errno. */
VN_OFFERED int vn_pool_store(struct vn_context *, uint32_t bytes);
/* Reserves address space for `*most` items, or for as many as there is room for; see pool.c. NULL:
 * the run has failed. */
static void *vn_reserve(struct vn_context *, const char *items, size_t item_bytes, uint32_t *most);
static inline size_t vn_aligned(size_t size) { return (size + 63) / 64 * 64; }

/* A packet's id is the index of its first cache line in the pool. */
static inline struct vn_packet *vn_packet_at(const struct vn_context *context, uint32_t id)
{
    return (struct vn_packet *)(void *)(context->pool.base + (size_t)id * 64);
}

static inline uint8_t *vn_frame(const struct vn_context *context, struct vn_packet *packet)
{
    return VN_LENT ? packet->frame : (uint8_t *)packet + context->pool.frame_at;
}

/* Allocates a packet; its fields are undefined. VN_NONE: the run has failed, or survives a limit of
 * packets. */
static inline uint32_t vn_packet_new(struct vn_context *context)
{
    uint32_t id = context->packets.free;
    if (__builtin_expect(id == VN_NONE, 0)) {
        id = vn_packet_grow(context);
        if (id == VN_NONE) return id;
    } else {
        context->packets.free = vn_packet_at(context, id)->next;
    }
    VN_ASSERT(id % context->pool.lines == 0);
    if (++context->packets.in_use > context->packets.most_in_use)
        context->packets.most_in_use = context->packets.in_use;
    return id;
}

/* Compilers remove calls of functions that only prefetch; the empty assembly keeps them. */
VN_ALWAYS void vn_prefetch(const void *line)
{
    __builtin_prefetch(line);
    __asm__ volatile("");
}

static inline void vn_prefetch_packet(const struct vn_context *context, uint32_t id)
{
    const struct vn_packet *packet = vn_packet_at(context, id);
    vn_prefetch(packet);
    vn_prefetch(packet + 1);
    if (context->pool.lines > 2) vn_prefetch(packet + 2);
}

/* Fills the frame: the template, then zeros. */
static inline uint8_t *vn_fill(const struct vn_context *context, struct vn_packet *packet,
                               const uint8_t *template)
{
    uint8_t *frame = vn_frame(context, packet);
    memcpy(frame, template, VN_TEMPLATE_BYTES);
    if (context->pool.stored > VN_TEMPLATE_BYTES)
        memset(frame + VN_TEMPLATE_BYTES, 0, context->pool.stored - VN_TEMPLATE_BYTES);
    return frame;
}

/* Frees the packet, but what it was lent: returns that, or NULL. */
VN_ALWAYS struct sw_pkt *vn_packet_give_back(struct vn_context *context, uint32_t id)
{
    VN_ASSERT(context->packets.free != id);
    struct vn_packet *packet = vn_packet_at(context, id);
    struct sw_pkt *lent = packet->lent;
    if (VN_LENT) packet->lent = NULL;
    packet->next = context->packets.free;
    context->packets.free = id;
    if (__builtin_expect(--context->packets.in_use == context->packets.full_at, 0))
        vn_packets_full(context);
    return VN_LENT ? lent : NULL;
}

static inline void vn_packet_free(struct vn_context *context, uint32_t id)
{
    struct sw_pkt *lent = vn_packet_give_back(context, id);
    if (lent != NULL) sw_pkt_free(context->pool.lender, lent);
}

/* Counts a packet of this flow that goes no further. Nodes of several contexts may lose packets of
 * one flow. */
static inline void vn_count_lost(struct vn_context *context, uint32_t flow)
{
    VN_ASSERT(flow < context->pool.n_lost);
    __atomic_fetch_add(&context->pool.lost[flow], 1, __ATOMIC_RELAXED);
}

/* Frees a packet that goes no further; its flow counts it. */
static inline void vn_packet_lose(struct vn_context *context, uint32_t id)
{
    const struct vn_packet *packet = vn_packet_at(context, id);
    if (packet->data && packet->flow != VN_NONE) vn_count_lost(context, packet->flow);
    vn_packet_free(context, id);
}

static inline void vn_fifo_push(struct vn_context *context, struct vn_fifo *fifo, uint32_t id)
{
    VN_ASSERT(id != VN_NONE && (fifo->packets == 0 || fifo->tail != id));
    if (fifo->packets++ != 0) vn_packet_at(context, fifo->tail)->next = id;
    else fifo->head = id;
    fifo->tail = id;
}

static inline uint32_t vn_fifo_pop(struct vn_context *context, struct vn_fifo *fifo)
{
    VN_ASSERT(fifo->packets != 0 && (fifo->packets > 1 || fifo->head == fifo->tail));
    uint32_t id = fifo->head;
    fifo->head = vn_packet_at(context, id)->next;
    fifo->packets--;
    return id;
}

/* Another packet takes the place of the last one, which isn't in the queue any more. It is found
 * from the first one on: for what is rare. */
static inline void vn_fifo_replace_last(struct vn_context *context, struct vn_fifo *fifo,
                                        uint32_t id)
{
    VN_ASSERT(fifo->packets != 0 && fifo->tail != id);
    uint32_t before = fifo->head;
    for (uint32_t n = fifo->packets; n > 2; n--) before = vn_packet_at(context, before)->next;
    if (fifo->packets == 1) fifo->head = id;
    else vn_packet_at(context, before)->next = id;
    fifo->tail = id;
}

/* Shows each packet of a queue. */
static inline void vn_fifo_each(const struct vn_context *context, const struct vn_fifo *fifo,
                                uint32_t class,
                                void (*see)(void *to, const struct vn_packet *, uint32_t class),
                                void *to)
{
    uint32_t id = fifo->head;
    for (uint32_t n = fifo->packets; n != 0; n--) {
        const struct vn_packet *packet = vn_packet_at(context, id);
        see(to, packet, class);
        id = packet->next;
    }
}

#endif
