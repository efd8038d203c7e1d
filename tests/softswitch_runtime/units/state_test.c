/* Meters, random numbers, the packet pool and the replication engine. */
#include <errno.h>
#include <string.h>

#include "check.h"
#include "packet.h"
#include "pre.h"
#include "state.h"

/* RFC 2698 with BMv2's order: 10 packets of burst at 1,000/s committed, 20 at 2,000/s peak. */
static void test_meter(void)
{
    struct sw_meter meter = {0};
    CHECK(sw_meter_run(&meter, 100, 0) == 0);
    sw_meter_set(&meter, (uint64_t[]){1000, 10, 2000, 20, 1000000}, 500);
    uint32_t colours[3] = {0};
    for (int i = 0; i < 40; i++) colours[sw_meter_run(&meter, 100, 500)]++;
    CHECK(colours[0] == 10 && colours[1] == 10 && colours[2] == 20);
    memset(colours, 0, sizeof colours);
    for (uint64_t us = 500; us < 1000500; us += 100) colours[sw_meter_run(&meter, 100, us)]++;
    CHECK(colours[0] >= 999 && colours[0] <= 1001);
    CHECK(colours[1] >= 999 && colours[1] <= 1001);
    CHECK(colours[2] >= 7998 && colours[2] <= 8002);
    CHECK(sw_meter_run(&meter, 100, 100) <= 2); /* a clock before its origin does no harm */

    struct sw_meter slow = {0}; /* half a packet a second, of a burst of one */
    sw_meter_set(&slow, (uint64_t[]){1, 1, 1, 1, 2000000}, 0);
    CHECK(sw_meter_run(&slow, 100, 0) == 0);
    CHECK(sw_meter_run(&slow, 100, 1999999) == 2);
    CHECK(sw_meter_run(&slow, 100, 2000000) == 0);
    CHECK(sw_meter_run(&slow, 100, 2000001) == 2);

    struct sw_meter bytes = {.bytes = true};
    sw_meter_set(&bytes, (uint64_t[]){1000000, 1500, 1000000, 1500, 1000000}, 0);
    CHECK(sw_meter_run(&bytes, 1000, 0) == 0);
    CHECK(sw_meter_run(&bytes, 1000, 0) == 2);
    CHECK(sw_meter_run(&bytes, 1000, 500) == 0);
    sw_meter_set(&bytes, NULL, 0);
    CHECK(sw_meter_run(&bytes, 1000000, 0) == 0 && bytes.bytes);
    sw_meter_set(&bytes, (uint64_t[]){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 1000000}, 0);
    CHECK(sw_meter_run(&bytes, 1000000, UINT64_MAX / 2) == 0);
}

static void test_random(void)
{
    struct sw_instance instance = {.rng = {1, 2}};
    uint32_t seen[6] = {0};
    for (int i = 0; i < 60000; i++) {
        uint64_t value = sw_random(&instance, 5, 10);
        CHECK(value >= 5 && value <= 10);
        seen[value - 5]++;
    }
    for (int i = 0; i < 6; i++) CHECK(seen[i] > 9500 && seen[i] < 10500);
    CHECK(sw_random(&instance, 7, 7) == 7);
    sw_random(&instance, 0, UINT64_MAX);
    CHECK(sw_random(&instance, 9, 3) == 9);
}

/* The published algorithms' own numbers: splitmix64 from 1477776061723855037, xoroshiro128+ from 1
 * and 2. */
static void test_random_numbers_are_the_algorithms(void)
{
    char error[256];
    struct sw_program program = {0};
    struct sw_instance *instance =
        sw_instance_new(&program, 1477776061723855037u, SW_DROP_PORT, error);
    CHECK(instance != NULL);
    CHECK(instance->rng[0] == 1985237415132408290u && instance->rng[1] == 2979275885539914483u);
    instance->rng[0] = 1;
    instance->rng[1] = 2;
    const uint64_t expected[] = {3, 412333834243u, 2360170716294286339u, 9295852285959843169u,
                                 2797080929874688578u};
    for (int i = 0; i < 5; i++) CHECK(sw_random(instance, 0, UINT64_MAX) == expected[i]);
    sw_instance_free(instance);
}

static void test_pool(void)
{
    struct sw_pool pool;
    sw_pool_init(&pool, 100, 64, 100, 3);
    struct sw_fifo all = {0};
    for (int i = 0; i < 100; i++) {
        struct sw_pkt *pkt = sw_pkt_new(&pool, SW_SMALL_FRAME);
        CHECK(pkt != NULL && (uintptr_t)pkt->p.phv % 16 == 0 && pkt->p.data - pkt->buffer >= 64);
        memset(pkt->p.phv, 0xff, 100);
        memset(pkt->p.data, 0xff, SW_SMALL_FRAME);
        sw_fifo_push(&all, pkt);
    }
    CHECK(sw_pkt_new(&pool, 1) == NULL); /* exhausted */
    for (int i = 0; i < 3; i++) {
        struct sw_pkt *pkt = sw_pkt_new(&pool, SW_MAX_FRAME);
        CHECK(pkt != NULL);
        memset(pkt->p.data, 0xff, SW_MAX_FRAME);
        sw_fifo_push(&all, pkt);
    }
    CHECK(sw_pkt_new(&pool, SW_SMALL_FRAME + 1) == NULL &&
          sw_pkt_new(&pool, SW_MAX_FRAME + 1) == NULL);
    CHECK(pool.used == 103 && all.count == 103);
    sw_fifo_free(&pool, &all);
    CHECK(pool.used == 0 && all.head == NULL && all.tail == NULL);
    struct sw_pkt *pkt = sw_pkt_new(&pool, 60);
    for (int i = 0; i < 100; i++) CHECK(((uint8_t *)pkt->p.phv)[i] == 0);

    /* Headers that were added take the headroom; it is there again afterwards, in a larger packet
     * if need be. */
    memset(pkt->p.data, 7, 60);
    pkt->p.data -= 64;
    pkt->p.length += 64;
    memset(pkt->p.data, 8, 64);
    struct sw_pkt *next = sw_pkt_take_frame(&pool, pkt);
    CHECK(next != NULL && next->p.length == 124 && next->p.data[0] == 8 && next->p.data[64] == 7);
    sw_pkt_free(&pool, pkt);
    next = sw_pkt_restore_headroom(&pool, next);
    CHECK(next->p.data - next->buffer >= 64 && next->p.data[63] == 8 && next->p.data[123] == 7);
    sw_pkt_free(&pool, next);
    pkt = sw_pkt_new(&pool, SW_SMALL_FRAME);
    pkt->p.data -= 64;
    pkt->p.length += 64;
    memset(pkt->p.data, 9, pkt->p.length);
    ((uint8_t *)pkt->p.phv)[5] = 55;
    pkt->passes = 7;
    pkt = sw_pkt_restore_headroom(&pool, pkt);
    CHECK(pkt != NULL && pkt->p.length == SW_SMALL_FRAME + 64 &&
          pkt->p.data[SW_SMALL_FRAME + 63] == 9);
    CHECK(((uint8_t *)pkt->p.phv)[5] == 55 && pkt->passes == 7 && pkt->p.data - pkt->buffer >= 64);
    sw_pkt_free(&pool, pkt);
    pkt = sw_pkt_new(&pool, SW_MAX_FRAME);
    pkt->p.data -= 64;
    pkt->p.length += 64;
    CHECK(sw_pkt_restore_headroom(&pool, pkt) == NULL && pool.used == 0); /* too long: freed */
    sw_pool_free(&pool);
}

static void test_pre(void)
{
    struct sw_pre pre = {0};
    struct sw_replica replicas[2] = {{1, 10}, {2, 20}};
    CHECK(sw_pre_set(&pre, 5, NULL, 0, 0) == -ENOENT);
    for (uint32_t i = 20; i > 0; i--)
        CHECK(sw_pre_set(&pre, i * 7 % 23, replicas, 1 + i % 2, i) == 0);
    CHECK(pre.n == 20);
    for (uint32_t i = 20; i > 0; i--) {
        const struct sw_pre_group *group = sw_pre_find(&pre, i * 7 % 23);
        CHECK(group != NULL && group->n == 1 + i % 2 && group->truncate_to == i);
    }
    CHECK(sw_pre_set(&pre, 7, replicas, 2, 99) == 0 && pre.n == 20 &&
          sw_pre_find(&pre, 7)->truncate_to == 99);
    for (uint32_t i = 1; i <= 20; i++) CHECK(sw_pre_set(&pre, i * 7 % 23, NULL, 0, 0) == 0);
    CHECK(pre.n == 0 && sw_pre_find(&pre, 7) == NULL);
    sw_pre_free(&pre);
}

int main(void)
{
    test_meter();
    test_random();
    test_random_numbers_are_the_algorithms();
    test_pool();
    test_pre();
    return 0;
}
