/* The windows in which a node keeps pace or doesn't. */
#include "pace.h"

#include <time.h>
#include <unistd.h>

static uint64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* What the nodes used of the machine's cores in their last windows, percent, and whether any is
 * behind. One that has slept since uses nothing. */
static uint64_t used_percent(const struct sw_pace_board *board, uint64_t now_ns, bool *behind)
{
    uint64_t per_million = 0;
    for (uint64_t i = 0; i < board->slot_count; i++) {
        const struct sw_pace_slot *slot = &board->slots[i];
        uint64_t window_ns = slot->window_ns;
        if (window_ns == 0 || slot->updated_ns + 4 * (uint64_t)SW_PACE_WINDOW_NS < now_ns) continue;
        *behind |= slot->behind_since_ns != 0;
        per_million += slot->cpu_ns * 1000000 / window_ns;
    }
    return per_million / 10000 / (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
}

enum sw_pace_change sw_pace_update(struct sw_pace *pace, uint64_t now_ns, uint64_t due_ns)
{
    struct sw_pace_slot *slot = pace->slot;
    if (slot == NULL) return SW_PACE_SAME;
    slot->due_ns = due_ns;
    if (now_ns - pace->began_ns < SW_PACE_WINDOW_NS) return SW_PACE_SAME;
    enum sw_pace_change change = SW_PACE_SAME;
    bool was_behind = slot->behind_since_ns != 0;
    if (pace->frames >= SW_PACE_LEAST && pace->late * SW_PACE_SHARE > pace->frames) {
        slot->behind_until_ns = now_ns;
        if (!was_behind) slot->behind_since_ns = pace->began_ns;
        if (!was_behind) change = SW_PACE_BEHIND;
    } else if (was_behind) {
        slot->behind_since_ns = 0;
        change = SW_PACE_KEPT;
    }
    uint64_t used_ns = cpu_ns();
    slot->window_ns = now_ns - pace->began_ns;
    slot->frames = pace->frames;
    slot->late = pace->late;
    slot->worst_ns = pace->worst_ns;
    slot->cpu_ns = (used_ns - pace->cpu_ns) / (pace->sharers == 0 ? 1 : pace->sharers);
    slot->updated_ns = now_ns;
    pace->began_ns = now_ns;
    pace->cpu_ns = used_ns;
    pace->frames = pace->late = pace->worst_ns = 0;
    bool behind = false;
    uint64_t used = used_percent(pace->board, now_ns, &behind);
    pace->over = used > (behind ? SW_PACE_CALM : pace->board->most_percent) ? pace->over + 1 : 0;
    if (pace->over >= SW_PACE_PATIENCE) pace->crowded_until_ns = now_ns + SW_PACE_HOLD_NS;
    pace->crowded = now_ns < pace->crowded_until_ns || (pace->crowded && used > SW_PACE_CALM);
    return change;
}
