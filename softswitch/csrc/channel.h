/* A link's direction in memory, between two switches of a process: a ring of frames, each with the time at which it arrives. One
 * thread puts, one takes. */
#ifndef SW_CHANNEL_H
#define SW_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

enum { SW_CHANNEL_BYTES = 1 << 20 };

struct sw_channel {
    _Alignas(64) uint64_t put; /* bytes put and taken since the start */
    uint64_t last_ns;          /* arrival of the last frame that was put */
    _Alignas(64) uint64_t taken;
    uint64_t lost;             /* frames that arrived while the link was down */
    bool watched;              /* the receiving interface is: frames take the way through the kernel */
    uint8_t *bytes;
};

struct sw_channel *sw_channel_new(void); /* NULL: no memory */
void sw_channel_free(struct sw_channel *);

/* Whether a frame of any length fits. */
bool sw_channel_room(const struct sw_channel *);
/* With room: puts a frame that arrives at `at_ns`, or with the last one if that is later. Returns when. */
uint64_t sw_channel_put(struct sw_channel *, const uint8_t *frame, uint32_t length, uint64_t at_ns);
/* When the first frame arrives; UINT64_MAX: there is none. */
uint64_t sw_channel_next(const struct sw_channel *);
/* Takes the first frame, which is there, into a pool. NULL: that has no room, and the frame is lost. */
struct sw_pkt *sw_channel_take(struct sw_channel *, struct sw_pool *);

#endif
