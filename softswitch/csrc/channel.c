/* Links in memory. */
#include "channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct header {
    uint64_t at_ns;
    uint32_t length; /* SKIP: the rest of the ring is empty, and the next frame at its start */
    uint32_t padding;
};

enum { SKIP = UINT32_MAX, LONGEST = sizeof(struct header) + SW_CHANNEL_LONGEST };

static uint64_t needed(uint32_t length) { return (sizeof(struct header) + length + 15) / 16 * 16; }

/* Headers are aligned, so that none crosses the ring's end, whatever another process wrote into the
 * counts. */
static struct header *header_at(const struct sw_channel *channel, uint64_t at)
{
    return (struct header *)(void *)(channel->bytes + at % SW_CHANNEL_BYTES /
                                                          sizeof(struct header) *
                                                          sizeof(struct header));
}

struct sw_channel *sw_channel_new(void)
{
    struct sw_channel *channel = aligned_alloc(_Alignof(struct sw_channel), sizeof *channel);
    if (channel != NULL) memset(channel, 0, sizeof *channel - sizeof channel->bytes);
    return channel;
}

void sw_channel_free(struct sw_channel *channel) { free(channel); }

struct sw_channel *sw_channels_map(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0) return NULL;
    errno = EINVAL;
    if (status.st_size != 2 * sizeof(struct sw_channel)) return NULL;
    void *both =
        mmap(NULL, 2 * sizeof(struct sw_channel), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return both == MAP_FAILED ? NULL : both;
}

void sw_channels_unmap(struct sw_channel *both)
{
    if (both != NULL) munmap(both, 2 * sizeof *both);
}

bool sw_channel_room(const struct sw_channel *channel)
{
    uint64_t waiting = channel->put - __atomic_load_n(&channel->taken, __ATOMIC_ACQUIRE);
    /* the end of the ring may be left out */
    return SW_CHANNEL_BYTES - waiting >= 2 * (uint64_t)(LONGEST + 16);
}

uint8_t *sw_channel_begin(struct sw_channel *channel)
{
    uint64_t at = channel->put % SW_CHANNEL_BYTES, left = SW_CHANNEL_BYTES - at;
    bool empty = channel->put == __atomic_load_n(&channel->taken, __ATOMIC_ACQUIRE);
    if (left < LONGEST || (empty && at >= SW_CHANNEL_USUAL)) {
        header_at(channel, channel->put)->length = SKIP;
        __atomic_store_n(&channel->put, channel->put + left, __ATOMIC_RELEASE);
    }
    return (uint8_t *)(header_at(channel, channel->put) + 1);
}

uint64_t sw_channel_end(struct sw_channel *channel, uint32_t length, uint64_t at_ns)
{
    if (at_ns < channel->last_ns) at_ns = channel->last_ns;
    channel->last_ns = at_ns;
    *header_at(channel, channel->put) = (struct header){.at_ns = at_ns, .length = length};
    __atomic_store_n(&channel->put, channel->put + needed(length), __ATOMIC_RELEASE);
    return at_ns;
}

/* The first frame's header, behind what is skipped, and its length, read once: another process may
 * write there. NULL: there is none. What no switch or agent would write ends what was put. */
static const struct header *first(struct sw_channel *channel, uint32_t *length)
{
    for (;;) {
        uint64_t at = channel->taken, put = __atomic_load_n(&channel->put, __ATOMIC_ACQUIRE);
        if (at == put) return NULL;
        const struct header *header = header_at(channel, at);
        *length = __atomic_load_n(&header->length, __ATOMIC_RELAXED);
        if (*length <= SW_CHANNEL_LONGEST &&
            at % SW_CHANNEL_BYTES + needed(*length) <= SW_CHANNEL_BYTES)
            return header;
        uint64_t end = *length == SKIP ? at + SW_CHANNEL_BYTES - at % SW_CHANNEL_BYTES : put;
        __atomic_store_n(&channel->taken, end, __ATOMIC_RELEASE);
    }
}

uint64_t sw_channel_next(struct sw_channel *channel)
{
    uint32_t length;
    const struct header *header = first(channel, &length);
    return header == NULL ? UINT64_MAX : header->at_ns;
}

const uint8_t *sw_channel_first(struct sw_channel *channel, uint32_t *length)
{
    const struct header *header = first(channel, length);
    if (header != NULL) return (const uint8_t *)(header + 1);
    *length = 0;
    return channel->bytes;
}

void sw_channel_drop(struct sw_channel *channel, uint32_t length)
{
    __atomic_store_n(&channel->taken, channel->taken + needed(length), __ATOMIC_RELEASE);
}
