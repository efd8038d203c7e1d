/* Links in memory. */
#include "channel.h"

#include <stdlib.h>
#include <string.h>

struct header {
    uint64_t at_ns;
    uint32_t length; /* SKIP: the rest of the ring is empty, and the next frame at its start */
    uint32_t padding;
};

enum { SKIP = UINT32_MAX, LONGEST = sizeof(struct header) + SW_MAX_FRAME };

static uint64_t needed(uint32_t length) { return (sizeof(struct header) + length + 15) / 16 * 16; }

static struct header *header_at(const struct sw_channel *channel, uint64_t at)
{
    return (struct header *)(void *)(channel->bytes + at % SW_CHANNEL_BYTES);
}

struct sw_channel *sw_channel_new(void)
{
    struct sw_channel *channel = aligned_alloc(64, sizeof *channel);
    uint8_t *bytes = malloc(SW_CHANNEL_BYTES);
    if (channel == NULL || bytes == NULL) {
        free(channel);
        free(bytes);
        return NULL;
    }
    *channel = (struct sw_channel){.bytes = bytes};
    return channel;
}

void sw_channel_free(struct sw_channel *channel)
{
    if (channel == NULL) return;
    free(channel->bytes);
    free(channel);
}

bool sw_channel_room(const struct sw_channel *channel)
{
    uint64_t waiting = channel->put - __atomic_load_n(&channel->taken, __ATOMIC_ACQUIRE);
    return SW_CHANNEL_BYTES - waiting >= 2 * (uint64_t)(LONGEST + 16); /* the end of the ring may be left out */
}

uint64_t sw_channel_put(struct sw_channel *channel, const uint8_t *frame, uint32_t length, uint64_t at_ns)
{
    uint64_t put = channel->put, left = SW_CHANNEL_BYTES - put % SW_CHANNEL_BYTES;
    if (left < needed(length)) {
        header_at(channel, put)->length = SKIP;
        put += left;
    }
    if (at_ns < channel->last_ns) at_ns = channel->last_ns;
    channel->last_ns = at_ns;
    struct header *header = header_at(channel, put);
    *header = (struct header){.at_ns = at_ns, .length = length};
    memcpy(header + 1, frame, length);
    __atomic_store_n(&channel->put, put + needed(length), __ATOMIC_RELEASE);
    return at_ns;
}

/* The first frame's header, behind what is skipped, and where it is; NULL: there is none. */
static const struct header *first(const struct sw_channel *channel, uint64_t *at)
{
    *at = channel->taken;
    if (*at == __atomic_load_n(&channel->put, __ATOMIC_ACQUIRE)) return NULL;
    const struct header *header = header_at(channel, *at);
    if (header->length != SKIP) return header;
    *at += SW_CHANNEL_BYTES - *at % SW_CHANNEL_BYTES;
    return header_at(channel, *at);
}

uint64_t sw_channel_next(const struct sw_channel *channel)
{
    uint64_t at;
    const struct header *header = first(channel, &at);
    return header == NULL ? UINT64_MAX : header->at_ns;
}

struct sw_pkt *sw_channel_take(struct sw_channel *channel, struct sw_pool *pool)
{
    uint64_t at;
    const struct header *header = first(channel, &at);
    struct sw_pkt *pkt = sw_pkt_copy_bytes(pool, (const uint8_t *)(header + 1), header->length);
    __atomic_store_n(&channel->taken, at + needed(header->length), __ATOMIC_RELEASE);
    return pkt;
}
