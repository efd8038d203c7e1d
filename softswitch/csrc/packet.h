/* The packets inside a switch and the pool they come from.
 *
 * One element holds the packet, its PHV and its frame. There are two sizes, for frames of up to
 * 1,664 and up to 9,216 bytes. Memory is allocated in slabs on demand; the element freed last is
 * reused first, so that a switch with little traffic touches little memory. */
#ifndef SW_PACKET_H
#define SW_PACKET_H

#include "pipeline.h"

enum { SW_SMALL_FRAME = 1664, SW_MAX_FRAME = 9216, SW_VLAN_TAG = 4 };

struct sw_pkt {
    struct sw_packet p; /* first: programs see this */
    struct sw_pkt *next;
    uint64_t enq_ns, start_ns, due_ns;
    uint8_t *buffer;          /* headroom, room for a VLAN tag, frame */
    uint32_t capacity;        /* of the buffer, bytes */
    uint32_t truncate_to;     /* bytes on the wire; UINT32_MAX: not truncated */
    uint32_t passes;          /* resubmissions and recirculations so far */
    uint16_t port;            /* the egress port, once queued */
    uint8_t queue, small;
    bool trimmed; /* by its queue: see traffic.c */
};

struct sw_fifo {
    struct sw_pkt *head, *tail;
    uint32_t count;
};

static inline void sw_fifo_push(struct sw_fifo *fifo, struct sw_pkt *pkt)
{
    pkt->next = NULL;
    if (fifo->tail != NULL) fifo->tail->next = pkt;
    else fifo->head = pkt;
    fifo->tail = pkt;
    fifo->count++;
}

static inline struct sw_pkt *sw_fifo_pop(struct sw_fifo *fifo)
{
    struct sw_pkt *pkt = fifo->head;
    if (pkt == NULL) return NULL;
    fifo->head = pkt->next;
    if (fifo->head == NULL) fifo->tail = NULL;
    fifo->count--;
    return pkt;
}

/* Another packet takes the place of the last one, which isn't in the queue any more. It is found
 * from the first one on: for what is rare. */
static inline void sw_fifo_replace_last(struct sw_fifo *fifo, struct sw_pkt *pkt)
{
    struct sw_pkt **to = &fifo->head;
    while (*to != fifo->tail) to = &(*to)->next;
    pkt->next = NULL;
    *to = fifo->tail = pkt;
}

struct sw_pool {
    uint32_t phv_size, headroom;
    struct sw_pkt *free_small, *free_large;
    uint32_t n_small, n_large, max_small, max_large; /* allocated, and the limits */
    uint32_t used;
    void *slabs;
};

void sw_pool_init(struct sw_pool *, uint32_t phv_size, uint32_t headroom, uint32_t max_small,
                  uint32_t max_large);
void sw_pool_free(struct sw_pool *);

/* An empty packet for a frame of `length` bytes, which the caller writes to p.data. NULL: the pool
 * is exhausted or the frame too long. */
struct sw_pkt *sw_pkt_new(struct sw_pool *, uint32_t length);
void sw_pkt_free(struct sw_pool *, struct sw_pkt *);
void sw_fifo_free(struct sw_pool *, struct sw_fifo *);

/* A new packet with the frame or payload at data, `length` bytes. */
struct sw_pkt *sw_pkt_copy_bytes(struct sw_pool *, const uint8_t *data, uint32_t length);

/* Resets headers, metadata and requests to the state before the parser. */
void sw_pkt_reset(const struct sw_pool *, struct sw_pkt *);

/* A new packet that takes over pkt's frame by swapping buffers; pkt keeps its headers and
 * metadata. */
struct sw_pkt *sw_pkt_take_frame(struct sw_pool *, struct sw_pkt *pkt);

/* Restores `headroom` free bytes before data, after headers were added. Returns pkt, or a larger
 * packet that replaces it. NULL: pkt was freed, since the frame is too long or there is no
 * memory. */
struct sw_pkt *sw_pkt_restore_headroom(struct sw_pool *, struct sw_pkt *);

#endif
