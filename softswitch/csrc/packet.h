/* The packets inside a switch and the pool they come from.
 *
 * One element holds the packet, its PHV and its frame. There are two sizes, for frames of up to 1,664 and up to 9,216
 * bytes; memory is taken in slabs as it is needed and used again most recent first, so that a switch with little
 * traffic stays small. */
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
    uint32_t truncate_to;     /* on the wire; UINT32_MAX: don't */
    uint32_t passes;          /* recirculations since it came in */
    uint16_t port;            /* ingress or egress port, by where it is */
    uint8_t queue, small;
};

struct sw_fifo { struct sw_pkt *head, *tail; uint32_t count; };

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

struct sw_pool {
    uint32_t phv_size, headroom;
    struct sw_pkt *free_small, *free_large;
    uint32_t n_small, n_large, max_small, max_large; /* made so far, and at most */
    uint32_t used;
    void *slabs;
};

void sw_pool_init(struct sw_pool *, uint32_t phv_size, uint32_t headroom, uint32_t max_small, uint32_t max_large);
void sw_pool_free(struct sw_pool *);

/* A packet for a frame of `length` bytes; p.data points to room for it, everything else is as for a new packet.
 * NULL: the pool is exhausted or the frame too long. */
struct sw_pkt *sw_pkt_new(struct sw_pool *, uint32_t length);
void sw_pkt_free(struct sw_pool *, struct sw_pkt *);
void sw_fifo_free(struct sw_pool *, struct sw_fifo *);

/* A new packet with the frame or payload at data, `length` bytes. */
struct sw_pkt *sw_pkt_copy_bytes(struct sw_pool *, const uint8_t *data, uint32_t length);

/* Empties headers, metadata and requests: what a packet has before it is parsed. */
void sw_pkt_reset(const struct sw_pool *, struct sw_pkt *);

/* A new packet that takes over pkt's frame, without copying it where it can; pkt keeps headers and metadata alone. */
struct sw_pkt *sw_pkt_successor(struct sw_pool *, struct sw_pkt *pkt);

/* Makes `headroom` bytes free before data again, after headers were added. The packet to go on with: this one, or
 * where that is too small another that has its PHV and metadata too. NULL: freed, the frame is too long or no memory. */
struct sw_pkt *sw_pkt_recentre(struct sw_pool *, struct sw_pkt *);

#endif
