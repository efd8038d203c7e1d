/* The traffic manager on a clock that the test turns by hand. */
#include "check.h"
#include "traffic.h"

enum { US = 1000, MS = 1000000 };

static struct sw_pool pool;
static struct sw_tm tm;

static struct sw_tm_port *start(uint64_t rate, uint64_t delay, uint32_t depth)
{
    sw_pool_init(&pool, 64, 32, 4096, 16);
    sw_tm_init(&tm, 8, depth, false);
    struct sw_tm_port *port = sw_tm_port(&tm, 3);
    sw_tm_shape(port, rate, delay);
    return port;
}

static void finish(void)
{
    sw_tm_flush(&tm, &pool);
    CHECK(pool.used == 0);
    CHECK(sw_tm_port(&tm, 3)->queued == 0);
    sw_tm_free(&tm);
    sw_pool_free(&pool);
}

static bool put(struct sw_tm_port *port, uint32_t queue, uint32_t tag, uint64_t now)
{
    struct sw_pkt *pkt = sw_pkt_new(&pool, 1000);
    pkt->passes = tag;
    if (sw_tm_enqueue(port, queue, pkt, now)) return true;
    sw_pkt_free(&pool, pkt);
    return false;
}

/* Runs the port at `now`; what leaves is noted with its time. */
static uint32_t tags[100000], n_left;
static uint64_t left_at[100000];

static void run(struct sw_tm_port *port, uint64_t now)
{
    for (struct sw_pkt *pkt; (pkt = sw_tm_dequeue(&tm, port, now)) != NULL;)
        sw_tm_sent(port, pkt, pkt->p.length);
    for (struct sw_pkt *pkt; (pkt = sw_tm_release(port, now)) != NULL;) {
        tags[n_left] = pkt->passes;
        left_at[n_left++] = now;
        sw_pkt_free(&pool, pkt);
    }
}

/* As the worker does: wake when there is something to do, up to `late` too late; but not asleep
 * while the port is behind. */
static void run_until(struct sw_tm_port *port, uint64_t from, uint64_t end, uint64_t late)
{
    uint64_t now = from;
    for (uint64_t seed = 1;;) {
        uint64_t next = sw_tm_next(port);
        if (next == UINT64_MAX || next > end) return;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        bool awake = sw_tm_behind(port, now) && next < now + SW_BEHIND_NS;
        if (next > now) now = next;
        if (late != 0 && !awake) now += (seed >> 33) % late;
        run(port, now);
    }
}

static void test_exact_times(void)
{
    struct sw_tm_port *port = start(8000000, 5 * MS, 64); /* 1000 B: 1 ms */
    n_left = 0;
    for (uint32_t i = 0; i < 3; i++) CHECK(put(port, 0, i, 100 * US));
    CHECK(sw_tm_next(port) == 100 * US);
    run_until(port, 0, UINT64_MAX - 1, 0);
    CHECK(n_left == 3);
    for (uint32_t i = 0; i < 3; i++) CHECK(left_at[i] == 100 * US + (i + 1) * MS + 5 * MS);
    CHECK(sw_tm_next(port) == UINT64_MAX);
    /* Idle time gives no credit. */
    n_left = 0;
    for (uint32_t i = 0; i < 2; i++) put(port, 0, i, 1000 * MS);
    run_until(port, 1000 * MS, UINT64_MAX - 1, 0);
    CHECK(left_at[0] == 1006 * MS && left_at[1] == 1007 * MS);
    finish();
}

/* However late the calls come, the rate holds; and no more than two packets leave in the time of
 * one, unless they are overdue by SW_OVERDUE_PACKETS such times and SW_OVERDUE_NS, or
 * SW_OVERDUE_LONG_NS where such a time is long. */
static void test_rate_when_late(uint64_t rate, uint64_t late)
{
    struct sw_tm_port *port = start(rate, 0, 4096);
    uint64_t wire = 8000ull * 1000000000u / rate;
    uint64_t patience = wire < SW_BEHIND_NS ? SW_OVERDUE_NS : SW_OVERDUE_LONG_NS;
    if (SW_OVERDUE_PACKETS * wire > patience) patience = SW_OVERDUE_PACKETS * wire;
    uint32_t expected = (uint32_t)(1000000000u / wire);
    if (expected > 4000) expected = 4000;
    n_left = 0;
    for (uint32_t i = 0; i < expected; i++) CHECK(put(port, 0, i, 0));
    run_until(port, 0, UINT64_MAX - 1, late);
    CHECK(n_left == expected);
    CHECK(left_at[n_left - 1] <= expected * wire + (late > SW_BEHIND_NS ? patience : 0) + 3 * late);
    for (uint32_t i = 0; i < n_left; i++) {
        CHECK(tags[i] == i);
        CHECK(left_at[i] >= (i + 1) * wire);
        bool overdue = left_at[i] >= (i + 1) * wire + patience;
        CHECK(i < 2 || overdue || left_at[i] - left_at[i - 2] >= wire);
    }
    finish();
}

/* The caller is stopped for 0.3 s: packets of 200 us catch up in pairs, at twice the rate. */
static void test_no_burst_after_a_stop(void)
{
    struct sw_tm_port *port = start(40000000, 0, 4096);
    uint64_t wire = 200 * US, stop = 300 * MS;
    uint32_t packets = 3000;
    n_left = 0;
    for (uint32_t i = 0; i < packets; i++) CHECK(put(port, 0, i, 0));
    run_until(port, stop, UINT64_MAX - 1, 0);
    CHECK(n_left == packets);
    for (uint32_t i = 2; i < n_left; i++) CHECK(left_at[i] - left_at[i - 2] >= wire);
    CHECK(left_at[n_left - 1] <= packets * wire + wire);
    finish();
}

/* Two packets that a turn let go have left one after the other by its end, and the third keeps its
 * distance from the first. */
static void test_distance_of_what_left(void)
{
    struct sw_tm_port *port = start(1000000000, 0, 64);
    uint64_t wire = 8 * US, turn = 100 * US, end = turn + 6 * US;
    for (uint32_t i = 0; i < 4; i++) put(port, 0, i, 0);
    n_left = 0;
    run(port, turn);
    CHECK(n_left == 2 && sw_tm_behind(port, turn));
    sw_tm_note_departures(port, turn, end);
    CHECK(sw_tm_next(port) == turn + 3 * US + wire);
    run(port, turn + 3 * US + wire);
    CHECK(n_left == 3);
    CHECK(sw_tm_next(port) == end + wire);
    run(port, end + wire);
    CHECK(n_left == 4 && !sw_tm_behind(port, UINT64_MAX));
    finish();
    port = start(0, MS, 64); /* without a rate there is no distance to keep */
    put(port, 0, 0, 0);
    CHECK(sw_tm_next(port) == 0);
    struct sw_pkt *pkt = sw_tm_dequeue(&tm, port, 0);
    sw_tm_sent(port, pkt, pkt->p.length);
    CHECK(sw_tm_next(port) == MS && !sw_tm_behind(port, 2 * MS));
    finish();
}

static void test_priorities(void)
{
    struct sw_tm_port *port = start(8000000, 0, 64);
    n_left = 0;
    put(port, 0, 0, 0);
    put(port, 3, 3, 0);
    put(port, 7, 7, 0);
    run(port, 0);
    put(port, 5, 5, 500 * US); /* before the second starts, after the first */
    /* The worker is late, the order is what it would have been in time. */
    put(port, 6, 6, 2500 * US);
    run_until(port, 10 * MS, UINT64_MAX - 1, 0);
    const uint32_t order[] = {7, 5, 3, 6, 0};
    CHECK(n_left == 5);
    for (int i = 0; i < 5; i++) CHECK(tags[i] == order[i]);
    finish();
}

static void test_depth(void)
{
    struct sw_tm_port *port = start(8000000, 0, 4);
    for (uint32_t i = 0; i < 4; i++) CHECK(put(port, 2, i, 0));
    CHECK(!put(port, 2, 4, 0));
    CHECK(put(port, 1, 5, 0)); /* its own depth */
    CHECK(port->dropped == 1);
    sw_tm_set_queue(&tm, port, 2, 0, &(struct sw_queue_setting){5, SW_AS_IT_IS});
    CHECK(put(port, 2, 6, 0));
    finish();
}

/* A held class polls at the port's rate; the other classes have the whole wire. */
static void test_held_class(void)
{
    struct sw_tm_port *port = start(8000000, 0, 64);
    uint32_t passes = 0, sent = 0;
    for (uint32_t i = 0; i < 3; i++) put(port, 7, i, 0);
    for (uint32_t i = 0; i < 50; i++) put(port, 1, 100, 0);
    for (uint64_t now = 0; now < 20 * MS;) {
        struct sw_pkt *pkt = sw_tm_dequeue(&tm, port, now);
        if (pkt == NULL) {
            now = sw_tm_next(port);
            run(port, 0);
            while ((pkt = sw_tm_release(port, now)) != NULL) sw_pkt_free(&pool, pkt);
        } else if (pkt->queue == 7) {
            passes++;
            sw_tm_recirculated(port, pkt, pkt->p.length, now);
            CHECK(sw_tm_enqueue(port, 7, pkt, now));
        } else {
            sent++;
            sw_tm_sent(port, pkt, pkt->p.length);
        }
    }
    CHECK(passes >= 19 && passes <= 21);
    CHECK(sent >= 19 && sent <= 21);
    finish();
}

/* Unshaped: each packet of a looping queue gets one pass, then the queue pauses; others don't
 * notice. */
static void test_loop_on_unshaped_port(void)
{
    struct sw_tm_port *port = start(0, 0, 64);
    uint32_t passes = 0;
    for (uint32_t i = 0; i < 10; i++) put(port, 3, i, 0);
    for (uint64_t now = 0; now < 10 * MS;) {
        struct sw_pkt *pkt = sw_tm_dequeue(&tm, port, now);
        if (pkt == NULL) {
            CHECK(sw_tm_next(port) > now);
            CHECK(put(port, 0, 50, now));
            CHECK((pkt = sw_tm_dequeue(&tm, port, now)) != NULL && pkt->queue == 0);
            CHECK(sw_tm_immediate(port));
            sw_tm_sent(port, pkt, 1000);
            sw_pkt_free(&pool, pkt);
            now = sw_tm_next(port);
            continue;
        }
        passes++;
        sw_tm_recirculated(port, pkt, 1000, now);
        pkt->passes++;
        CHECK(sw_tm_enqueue(port, 3, pkt, now));
    }
    CHECK(passes >= 10 * 200 && passes <= 10 * 206);
    finish();
}

static void test_shorter_delay_keeps_order(void)
{
    struct sw_tm_port *port = start(0, 10 * MS, 64);
    n_left = 0;
    put(port, 0, 1, 0);
    run(port, 0);
    sw_tm_shape(port, 0, 0);
    put(port, 0, 2, 1 * MS);
    run(port, 1 * MS);
    CHECK(n_left == 0);
    run(port, 10 * MS);
    CHECK(n_left == 2 && tags[0] == 1 && tags[1] == 2);
    finish();
}

int main(void)
{
    test_exact_times();
    test_rate_when_late(1000000, 0);
    test_rate_when_late(33333333, 0);
    test_rate_when_late(33333333, 100 * US);
    test_rate_when_late(33333333, 3 * MS);
    test_rate_when_late(1000000000, 0);
    test_rate_when_late(1000000000, 20 * US);
    test_rate_when_late(200000000, 100 * US);
    test_rate_when_late(100000000, 90 * US);
    test_no_burst_after_a_stop();
    test_distance_of_what_left();
    test_priorities();
    test_depth();
    test_held_class();
    test_loop_on_unshaped_port();
    test_shorter_delay_keeps_order();
    return 0;
}
