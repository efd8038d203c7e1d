/* A port's receive ring: slots in memory that the kernel shares (PACKET_RX_RING). The kernel copies a frame into a slot
 * while it delivers it, on the sender's core, so receiving needs no call a frame. */
#ifndef SW_RING_H
#define SW_RING_H

#include "packet.h"

/* A slot begins on a cache line and takes a frame of the interface's MTU; of longer ones than SW_RING_LONGEST bytes, and of
 * those that come after the MTU has grown, the socket's queue keeps a copy. A block is what the kernel allocates at once. */
enum { SW_RING_BLOCK = 8192, SW_RING_LONGEST = 1534 };


struct sw_ring {
    uint8_t *blocks; /* NULL: not open */
    uint32_t slot_bytes, block_slots, block_count;
    uint32_t block, slot; /* the next frame's */
};

/* On a packet socket that isn't bound yet, for so many frames, or a few more, of up to frame_bytes. 0 or -errno. */
int sw_ring_open(struct sw_ring *, int fd, uint32_t frames, size_t frame_bytes);
void sw_ring_close(struct sw_ring *);

/* Takes the next frame, if one is there. *pkt NULL: it was too long, or there was no memory for it. `losing`: since the
 * last sw_ring_lost frames were lost because no slot was free. */
bool sw_ring_take(struct sw_ring *, int fd, struct sw_pool *, struct sw_pkt **pkt, bool *losing);

/* How many frames found no free slot since the last call. */
uint32_t sw_ring_lost(int fd);

#endif
