/* A channel: one direction of a link, as the far end and the order of events see it: frames with
 * the times at which their last bits arrive, in order. It is the only way from a node to
 * another: the near end pushes, the far end takes. Nothing else of one node's state is read or
 * written by the other's events.
 *
 * A node's channels are contiguous. A ring holds the frames. */
#ifndef VN_CHANNEL_H
#define VN_CHANNEL_H

#include "base.h"

struct vn_context;

struct vn_in_flight {
    uint64_t due; /* when the last bit has arrived */
    uint32_t packet;
};

struct vn_channel {
    /* of the first frame that the far end hasn't listed or scheduled yet; VN_NEVER: none */
    uint64_t next_arrival;
    struct vn_in_flight *ring;
    uint32_t head, n, capacity; /* of the ring; the capacity is a power of two */
    uint32_t from, to; /* nodes; from: of a group its first one */
    uint32_t link; /* whose frames these are */
    uint64_t delay; /* from the last bit's start to its arrival: the far end's lookahead */
    /* What takes a frame: the far end's kind of node, or what stands before it (credits,
     * faults). */
    void (*arrival)(struct vn_context *, struct vn_channel *, uint32_t packet);
    uint16_t port; /* of the far end */
    /* both ends share a queue of events (shared.h); before the first event: it is so short that
     * they are to */
    bool inside;
    float rate; /* of its link at the start, Gbit/s */
} __attribute__((aligned(64)));

/* The frame with this index; 0 arrives first. */
static inline struct vn_in_flight *vn_in_flight_at(const struct vn_channel *channel, uint32_t index)
{
    return &channel->ring[(channel->head + index) & (channel->capacity - 1)];
}

#endif
