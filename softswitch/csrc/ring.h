/* A port's receive ring: slots in memory shared with the kernel (PACKET_RX_RING). The kernel copies
 * each frame into a slot on the sender's core, so receiving takes no system call a frame. */
#ifndef SW_RING_H
#define SW_RING_H

#include "offload.h"

/* A slot begins on a cache line and holds a frame of the interface's MTU, at most SW_RING_LONGEST
 * bytes. Longer frames are also queued at the socket, whole. A block is what the kernel allocates
 * at once: whole pages, and at least SW_RING_BLOCK bytes. */
enum { SW_RING_BLOCK = 8192, SW_RING_LONGEST = 1534 };

struct sw_ring {
    uint8_t *blocks; /* NULL: not open */
    uint32_t slot_bytes, block_bytes, block_slots, block_count;
    uint32_t block, slot; /* of the next frame */
    struct sw_cut cut; /* the frame of that slot, while it is cut */
    /* room for such a frame, where it is longer than a slot; NULL until the first one */
    uint8_t *uncut;
    bool refused; /* a frame was lost because it can't be cut */
};

/* Sets up a ring for at least `frames` frames of up to frame_bytes, on a packet socket that isn't
 * bound yet. 0 or -errno. */
int sw_ring_open(struct sw_ring *, int fd, uint32_t frames, size_t frame_bytes);
void sw_ring_close(struct sw_ring *);

/* When the next frame arrived, by CLOCK_REALTIME; UINT64_MAX: there is none. */
uint64_t sw_ring_next(const struct sw_ring *);
/* Takes the next frame, or the next segment of a frame that the kernel left uncut; false if there
 * is none. *pkt NULL: it was too long, it can't be cut (`refused`), or out of memory; else its
 * enq_ns is when it arrived, by CLOCK_REALTIME. `losing`: frames were lost for want of a free slot
 * since the last sw_ring_drops. */
bool sw_ring_take(struct sw_ring *, int fd, struct sw_pool *, struct sw_pkt **pkt, bool *losing);

/* The frames lost for want of a free slot since the last call. */
uint32_t sw_ring_drops(int fd);

#endif
