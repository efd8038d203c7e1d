/* Whether a node keeps pace, on a board of shared memory that all nodes of a network have
 * (softswitch/pace.py makes it).
 *
 * A frame is late by the time from its arrival at the interface to its ingress, less three
 * quarters of the shortest link's delay, within which that changes nothing (in_time.c); or from
 * its due departure to its departure. A node is behind in a window if more than one frame in
 * SW_PACE_SHARE is later than its tolerance. Who reads the board needs no answer from the node,
 * which may be starved of the core: `due_ns` then says since when.
 *
 * The nodes' use of the machine's cores is on the board, too. When they together use more than
 * its budget for SW_PACE_PATIENCE windows, or more than SW_PACE_CALM while one of them is
 * behind, they are crowded: none keeps real-time priority (realtime.h), or nothing else on the
 * machine would run. That lasts for SW_PACE_HOLD_NS, and until they use less than SW_PACE_CALM. */
#ifndef SW_PACE_H
#define SW_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SW_PACE_WINDOW_NS = 500000000,
    SW_PACE_SHARE = 20,
    SW_PACE_LEAST = 10, /* frames of a window that decides */
    SW_PACE_PATIENCE = 4,
    SW_PACE_CALM = 35, /* percent of all cores */
};
#define SW_PACE_HOLD_NS 20000000000u

/* Times by sw_clock_ns. `window_ns` to `cpu_ns`, and `sent_ppm`, are of the last whole window. */
struct sw_pace_slot {
    uint64_t tolerance_ns;
    uint64_t updated_ns;      /* the last window's end */
    /* while the node sleeps: when it has something to do; UINT64_MAX: never */
    uint64_t due_ns;
    uint64_t behind_since_ns; /* start of the first of the windows behind; 0: it keeps pace */
    uint64_t behind_until_ns; /* end of the last window behind */
    uint64_t window_ns, frames, late, worst_ns, cpu_ns;
    uint64_t sent_ppm; /* an agent's: of what its flows' rates allowed */
    uint64_t reserved[5];
};

struct sw_pace_board {
    uint64_t slot_count;
    uint64_t most_percent; /* of all cores: the budget of nodes at real-time priority */
    /* agents': when one last computed for all what nodes use, percent, and whether any is behind */
    uint64_t shared[3];
    uint64_t reserved[11];
    struct sw_pace_slot slots[];
};

struct sw_pace {
    const struct sw_pace_board *board;
    struct sw_pace_slot *slot; /* NULL: not on a board */
    uint64_t began_ns, cpu_ns; /* of this window */
    /* nodes of this thread, which report equal parts of what it uses; 0: one */
    uint32_t sharers;
    uint64_t frames, late, worst_ns;
    bool crowded; /* the nodes use more of the cores than they may at real-time priority */
    uint32_t over; /* windows in a row in which the nodes used too much */
    uint64_t crowded_until_ns;
};

enum sw_pace_change { SW_PACE_SAME, SW_PACE_BEHIND, SW_PACE_KEPT };

static inline void sw_pace_note(struct sw_pace *pace, uint64_t at_ns, uint64_t due_ns)
{
    if (pace->slot == NULL) return;
    uint64_t late_ns = at_ns > due_ns ? at_ns - due_ns : 0;
    pace->frames++;
    if (late_ns > pace->slot->tolerance_ns) pace->late++;
    if (late_ns > pace->worst_ns) pace->worst_ns = late_ns;
}

/* Before the node's thread sleeps until `due_ns`: closes the window if it is over. */
enum sw_pace_change sw_pace_update(struct sw_pace *, uint64_t now_ns, uint64_t due_ns);

#endif
