/* A link's direction in memory, between two switches or a switch and a host's agent: a ring of
 * frames, each with the time at which it arrives, by CLOCK_MONOTONIC. One thread puts, one takes.
 * It uses no part of a switch: agents compile it, too. */
#ifndef SW_CHANNEL_H
#define SW_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SW_CHANNEL_BYTES = 1 << 20,
    /* a ring that gets empty begins anew, so that only one that is full uses its whole memory */
    SW_CHANNEL_USUAL = 1 << 18,
    SW_CHANNEL_LONGEST = 9216,
    SW_CHANNEL_HEAD = 4096,
};

struct sw_channel {
    _Alignas(64) uint64_t put; /* bytes put and taken since the start */
    uint64_t last_ns;          /* arrival of the last frame that was put */
    _Alignas(64) uint64_t taken;
    /* between processes: who takes sleeps, and wants a sign of frames that arrive before; 0:
     * none */
    uint64_t sleeps_until_ns;
    uint64_t lost;             /* frames that arrived while the link was down */
    /* the receiving interface is: frames take the way through the kernel */
    bool watched;
    bool down;                 /* of a host's link: it has no carrier, and its frames wait */
    _Alignas(SW_CHANNEL_HEAD) uint8_t bytes[SW_CHANNEL_BYTES];
};

struct sw_channel *sw_channel_new(void); /* NULL: no memory */
void sw_channel_free(struct sw_channel *);

/* A link between two processes: both directions, to end 0 and to end 1, in memory that they share;
 * at first all of it is 0. A host is end 1. NULL and errno where the descriptor isn't that. */
struct sw_channel *sw_channels_map(int fd);
void sw_channels_unmap(struct sw_channel *);

/* Whether a frame of any length fits. */
bool sw_channel_room(const struct sw_channel *);
/* With room: where the next frame is written ... */
uint8_t *sw_channel_begin(struct sw_channel *);
/* ... which is put by this. It arrives at `at_ns`, or with the last one if that is later. Returns
 * when. */
uint64_t sw_channel_end(struct sw_channel *, uint32_t length, uint64_t at_ns);
/* When the first frame arrives; UINT64_MAX: there is none. */
uint64_t sw_channel_next(struct sw_channel *);
/* The first frame, which is there, until it is dropped. */
const uint8_t *sw_channel_first(struct sw_channel *, uint32_t *length);
void sw_channel_drop(struct sw_channel *, uint32_t length);

#endif
