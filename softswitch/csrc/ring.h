/* A port's receive ring: slots in memory that the kernel shares (PACKET_RX_RING). The kernel copies a frame into a slot
 * while it delivers it, on the sender's core, so receiving needs no call a frame. */
#ifndef SW_RING_H
#define SW_RING_H

#include "packet.h"

/* 4 MB a port: at 12,000 packets a second a sixth of a second's worth, at full speed 4 ms. */
enum { SW_RING_SLOTS = 2048, SW_RING_SLOT = 2048 };

struct sw_ring {
    uint8_t *slots; /* NULL: not open */
    uint32_t next;
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
