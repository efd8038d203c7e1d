/* Windows in which a node keeps pace or doesn't, on a clock that the test turns by hand. */
#include "check.h"
#include "pace.h"

#include <string.h>
#include <unistd.h>

enum { MS = 1000000, SLOTS = 64 };

static struct {
    struct sw_pace_board board;
    struct sw_pace_slot slots[SLOTS];
} memory;

static uint64_t now;

static struct sw_pace start(void)
{
    memset(&memory, 0, sizeof memory);
    memory.board.slot_count = 1;
    memory.board.most_percent = 85;
    memory.slots[0].tolerance_ns = 4 * MS;
    now = 1000000 * (uint64_t)MS;
    return (struct sw_pace){.board = &memory.board, .slot = &memory.slots[0], .began_ns = now};
}

/* A window of `frames`, the first `late` of them 5 ms late, and the others just in time. */
static enum sw_pace_change window(struct sw_pace *pace, uint32_t frames, uint32_t late)
{
    for (uint32_t i = 0; i < frames; i++) sw_pace_note(pace, now, now - (i < late ? 5 : 4) * MS);
    now += SW_PACE_WINDOW_NS;
    return sw_pace_update(pace, now, now + MS);
}

static void one_late_frame_in_twenty_is_borne(void)
{
    struct sw_pace pace = start();
    CHECK(window(&pace, 1000, 50) == SW_PACE_SAME);
    CHECK(pace.slot->behind_since_ns == 0 && pace.slot->late == 50 &&
          pace.slot->worst_ns == 5 * MS);
    uint64_t began = now;
    CHECK(window(&pace, 1000, 51) == SW_PACE_BEHIND);
    CHECK(pace.slot->behind_since_ns == began && pace.slot->behind_until_ns == now &&
          pace.slot->frames == 1000);
    CHECK(window(&pace, 1000, 1000) == SW_PACE_SAME);
    CHECK(pace.slot->behind_since_ns == began && pace.slot->behind_until_ns == now);
    uint64_t until = now;
    CHECK(window(&pace, 1000, 0) == SW_PACE_KEPT);
    CHECK(pace.slot->behind_since_ns == 0 && pace.slot->behind_until_ns == until &&
          pace.slot->due_ns == now + MS);
}

static void few_frames_decide_nothing(void)
{
    struct sw_pace pace = start();
    CHECK(window(&pace, SW_PACE_LEAST - 1, SW_PACE_LEAST - 1) == SW_PACE_SAME);
    CHECK(window(&pace, SW_PACE_LEAST, SW_PACE_LEAST) == SW_PACE_BEHIND);
    CHECK(window(&pace, 0, 0) == SW_PACE_KEPT);
}

static void a_window_lasts(void)
{
    struct sw_pace pace = start();
    sw_pace_note(&pace, now, now);
    CHECK(sw_pace_update(&pace, now + SW_PACE_WINDOW_NS - 1, UINT64_MAX) == SW_PACE_SAME);
    CHECK(pace.slot->frames == 0 && pace.slot->updated_ns == 0 && pace.slot->due_ns == UINT64_MAX);
    sw_pace_update(&pace, now + SW_PACE_WINDOW_NS, 7);
    CHECK(pace.slot->frames == 1 && pace.slot->updated_ns == now + SW_PACE_WINDOW_NS &&
          pace.slot->due_ns == 7);
}

/* Makes the other nodes of the board use so much of all cores together, in windows that ended at
 * `at`. */
static void others_use(uint64_t percent, uint64_t at, bool behind)
{
    memory.board.slot_count = SLOTS;
    for (uint32_t i = 1; i < SLOTS; i++) {
        struct sw_pace_slot *slot = &memory.slots[i];
        slot->updated_ns = at;
        slot->window_ns = SW_PACE_WINDOW_NS;
        slot->cpu_ns =
            slot->window_ns * percent * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) / 100 / (SLOTS - 1);
        slot->behind_since_ns = behind && i == 1 ? at : 0;
    }
}

static void many_that_use_the_machine_are_crowded(void)
{
    struct sw_pace pace = start();
    others_use(84, now, false);
    for (int i = 0; i < 2 * SW_PACE_PATIENCE; i++) {
        others_use(84, now, false);
        window(&pace, 0, 0);
    }
    CHECK(!pace.crowded);
    for (int i = 0; i < SW_PACE_PATIENCE; i++) {
        CHECK(!pace.crowded); /* it may be a burst */
        others_use(87, now, false);
        window(&pace, 0, 0);
    }
    CHECK(pace.crowded);
    others_use(10, now, false);
    for (uint64_t until = now + SW_PACE_HOLD_NS; now + SW_PACE_WINDOW_NS < until;) {
        others_use(10, now, false);
        window(&pace, 0, 0);
        CHECK(pace.crowded);
    }
    window(&pace, 0, 0);
    CHECK(!pace.crowded);
}

static void nodes_behind_are_crowded_earlier(void)
{
    struct sw_pace pace = start();
    for (int i = 0; i < SW_PACE_PATIENCE; i++) {
        CHECK(!pace.crowded);
        others_use(55, now, true);
        window(&pace, 0, 0);
    }
    CHECK(pace.crowded);
    for (uint64_t until = now + 2 * (uint64_t)SW_PACE_HOLD_NS; now < until;) {
        others_use(55, now, false);
        window(&pace, 0, 0);
        CHECK(pace.crowded); /* not calm yet */
    }
}

static void nodes_that_sleep_use_nothing(void)
{
    struct sw_pace pace = start();
    for (int n = 0; n < 2 * SW_PACE_PATIENCE; n++) {
        others_use(100, now - 4 * (uint64_t)SW_PACE_WINDOW_NS, true);
        window(&pace, 0, 0);
        CHECK(!pace.crowded);
    }
    for (int n = 0; n < 2 * SW_PACE_PATIENCE; n++) {
        others_use(100, now, false);
        for (uint32_t i = 1; i < SLOTS; i++) memory.slots[i].window_ns = 0; /* none has reported */
        window(&pace, 0, 0);
        CHECK(!pace.crowded);
    }
}

int main(void)
{
    one_late_frame_in_twenty_is_borne();
    few_frames_decide_nothing();
    a_window_lasts();
    many_that_use_the_machine_are_crowded();
    nodes_behind_are_crowded_earlier();
    nodes_that_sleep_use_nothing();
    return 0;
}
