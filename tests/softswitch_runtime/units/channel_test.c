/* A link's direction in memory: what is put is taken, whole, in order, at its time; also by another
 * thread. */
#include "channel.h"
#include "check.h"
#include "packet.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { FRAMES = 200000 };

static struct sw_pool pool;

static uint64_t put_frame(struct sw_channel *channel, const uint8_t *bytes, uint32_t length,
                          uint64_t at_ns)
{
    memcpy(sw_channel_begin(channel), bytes, length);
    return sw_channel_end(channel, length, at_ns);
}

static struct sw_pkt *take(struct sw_channel *channel, struct sw_pool *into)
{
    uint32_t length;
    const uint8_t *bytes = sw_channel_first(channel, &length);
    struct sw_pkt *pkt = sw_pkt_copy_bytes(into, bytes, length);
    sw_channel_drop(channel, length);
    return pkt;
}

static uint32_t random_below(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

/* Frame number `n`: its length and its bytes follow from the number. */
static uint32_t frame(uint64_t n, uint8_t *bytes)
{
    uint64_t state = n;
    uint32_t kind = random_below(&state, 8),
             length = random_below(&state, kind == 0 ? SW_MAX_FRAME + 1 : 200);
    memset(bytes, (int)(n % 251), length);
    return length;
}

static void check_frame(uint64_t n, struct sw_pkt *pkt)
{
    uint8_t expected[SW_MAX_FRAME];
    uint32_t length = frame(n, expected);
    CHECK(pkt != NULL);
    CHECK(pkt->p.length == length && memcmp(pkt->p.data, expected, length) == 0);
    sw_pkt_free(&pool, pkt);
}

static void what_is_put_is_taken_in_order(void)
{
    struct sw_channel *channel = sw_channel_new();
    CHECK(channel != NULL && sw_channel_next(channel) == UINT64_MAX);
    uint8_t bytes[SW_MAX_FRAME];
    uint64_t put = 0, taken = 0, state = 1;
    while (taken < FRAMES) {
        for (uint32_t n = random_below(&state, 400);
             n > 0 && put < FRAMES && sw_channel_room(channel); n--, put++) {
            CHECK(put_frame(channel, bytes, frame(put, bytes), 10 * put) == 10 * put);
        }
        for (uint32_t n = random_below(&state, 400); n > 0 && taken < put; n--, taken++) {
            CHECK(sw_channel_next(channel) == 10 * taken);
            check_frame(taken, take(channel, &pool));
        }
        CHECK(taken < put || sw_channel_next(channel) == UINT64_MAX);
    }
    sw_channel_free(channel);
}

static void it_is_full_before_it_overflows(void)
{
    struct sw_channel *channel = sw_channel_new();
    uint8_t bytes[SW_MAX_FRAME] = {0};
    uint32_t n = 0;
    for (; sw_channel_room(channel); n++) put_frame(channel, bytes, SW_MAX_FRAME, n);
    CHECK(n > 100 && (uint64_t)n * SW_MAX_FRAME < SW_CHANNEL_BYTES);
    for (uint32_t i = 0; i < n; i++) {
        CHECK(sw_channel_next(channel) == i);
        sw_pkt_free(&pool, take(channel, &pool));
    }
    CHECK(sw_channel_room(channel) && sw_channel_next(channel) == UINT64_MAX);
    sw_channel_free(channel);
}

static void a_shorter_delay_reorders_nothing(void)
{
    struct sw_channel *channel = sw_channel_new();
    uint8_t byte = 0;
    CHECK(put_frame(channel, &byte, 1, 100) == 100);
    CHECK(put_frame(channel, &byte, 1, 50) == 100);
    CHECK(put_frame(channel, &byte, 0, 101) == 101);
    for (uint32_t i = 0; i < 3; i++) sw_pkt_free(&pool, take(channel, &pool));
    sw_channel_free(channel);
}

static void a_frame_without_room_in_the_pool_is_lost_alone(void)
{
    struct sw_channel *channel = sw_channel_new();
    struct sw_pool small;
    sw_pool_init(&small, 64, 32, 1, 0);
    uint8_t byte = 7;
    for (uint32_t i = 0; i < 3; i++) put_frame(channel, &byte, 1, i);
    struct sw_pkt *first = take(channel, &small);
    CHECK(first != NULL && take(channel, &small) == NULL);
    sw_pkt_free(&small, first);
    CHECK(sw_channel_next(channel) == 2);
    sw_pkt_free(&small, take(channel, &small));
    sw_pool_free(&small);
    sw_channel_free(channel);
}

static void one_that_gets_empty_uses_little_memory(void)
{
    struct sw_channel *channel = sw_channel_new();
    uint8_t bytes[1000] = {0};
    const uint8_t *highest = channel->bytes;
    for (uint32_t n = 0; n < 5000; n++) {
        uint8_t *frame = sw_channel_begin(channel);
        if (frame > highest) highest = frame;
        memcpy(frame, bytes, sizeof bytes);
        sw_channel_end(channel, sizeof bytes, n);
        CHECK(sw_channel_next(channel) == n);
        sw_channel_drop(channel, sizeof bytes);
    }
    CHECK(highest < channel->bytes + SW_CHANNEL_USUAL + SW_CHANNEL_LONGEST);
    sw_channel_free(channel);
}

static void what_nobody_would_write_ends_what_was_put(void)
{
    struct sw_channel *channel = sw_channel_new();
    uint8_t byte = 0;
    for (uint32_t length = SW_CHANNEL_LONGEST + 1; length != 0; length *= 2) {
        uint8_t *frame = sw_channel_begin(channel);
        sw_channel_end(channel, 8, 1);
        put_frame(channel, &byte, 1, 2);
        /* the other process may write anything, at any time */
        memcpy(frame - 8, &length, sizeof length);
        CHECK(sw_channel_next(channel) == UINT64_MAX && sw_channel_room(channel));
        put_frame(channel, &byte, 1, 3);
        CHECK(sw_channel_next(channel) == 3);
        sw_pkt_free(&pool, take(channel, &pool));
    }
    sw_channel_free(channel);
}

static void what_a_peer_writes_later_moves_nothing(void)
{
    struct sw_channel *channel = sw_channel_new();
    uint8_t bytes[100] = {0};
    uint32_t length;
    put_frame(channel, bytes, sizeof bytes, 1);
    const uint8_t *frame = sw_channel_first(channel, &length);
    CHECK(length == sizeof bytes);
    memset((void *)(uintptr_t)(frame - 16), 0x11, 16); /* the header */
    sw_channel_drop(channel, length);
    CHECK(sw_channel_next(channel) == UINT64_MAX);
    /* counts that no end has: all that is read lies in the ring */
    for (uint32_t before = 1; before <= 16; before++) {
        channel->taken = SW_CHANNEL_BYTES - before;
        channel->put = channel->taken + 64;
        frame = sw_channel_first(channel, &length);
        CHECK(frame >= channel->bytes && frame + length <= channel->bytes + SW_CHANNEL_BYTES);
    }
    sw_channel_free(channel);
}

static void *put_all(void *context)
{
    struct sw_channel *channel = context;
    uint8_t bytes[SW_MAX_FRAME];
    for (uint64_t n = 0; n < FRAMES; n++) {
        while (!sw_channel_room(channel)) sched_yield();
        put_frame(channel, bytes, frame(n, bytes), n);
    }
    return NULL;
}

static void another_thread_takes_what_one_puts(void)
{
    struct sw_channel *channel = sw_channel_new();
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, put_all, channel) == 0);
    for (uint64_t n = 0; n < FRAMES; n++) {
        uint64_t at;
        while ((at = sw_channel_next(channel)) == UINT64_MAX) sched_yield();
        CHECK(at == n);
        check_frame(n, take(channel, &pool));
    }
    pthread_join(thread, NULL);
    sw_channel_free(channel);
}

int main(void)
{
    sw_pool_init(&pool, 64, 32, 64, 8);
    what_is_put_is_taken_in_order();
    it_is_full_before_it_overflows();
    a_shorter_delay_reorders_nothing();
    a_frame_without_room_in_the_pool_is_lost_alone();
    one_that_gets_empty_uses_little_memory();
    what_nobody_would_write_ends_what_was_put();
    what_a_peer_writes_later_moves_nothing();
    another_thread_takes_what_one_puts();
    CHECK(pool.used == 0);
    sw_pool_free(&pool);
    return 0;
}
