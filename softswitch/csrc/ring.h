/* A port's receive ring: slots in memory that the kernel shares (PACKET_RX_RING). The kernel copies a frame into a slot
 * while it delivers it, on the sender's core, so receiving needs no call a frame. */
#ifndef SW_RING_H
#define SW_RING_H

#include "packet.h"

/* 2,000 frames, 3.3 MB a port: 0.4 s of 5,000 packets a second, which a sender that was late brings all at once.
 *
 * A block is what the kernel allocates at once. A slot takes frames of up to 1,534 bytes, begins on a cache line, and isn't a
 * power of two, so that the headers of all slots don't compete for the same few lines of the cache. */
enum { SW_RING_BLOCKS = 400, SW_RING_BLOCK = 8192, SW_RING_SLOT = 1600 };
enum { SW_RING_BLOCK_SLOTS = SW_RING_BLOCK / SW_RING_SLOT };

struct sw_ring {
    uint8_t *blocks; /* NULL: not open */
    uint32_t block, slot; /* the next frame's */
};

/* On a packet socket that isn't bound yet. 0 or -errno. */
int sw_ring_open(struct sw_ring *, int fd);
void sw_ring_close(struct sw_ring *);

/* Takes the next frame, if one is there. *pkt NULL: it was too long, or there was no memory for it. `losing`: since the
 * last sw_ring_lost frames were lost because no slot was free. */
bool sw_ring_take(struct sw_ring *, int fd, struct sw_pool *, struct sw_pkt **pkt, bool *losing);

/* How many frames found no free slot since the last call. */
uint32_t sw_ring_lost(int fd);

#endif
