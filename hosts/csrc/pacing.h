/* The rules by which a NIC sends: which frame starts next on its line, and when. The live NIC
 * (nic.c) and the NIC of virtual time (virtual/sender.c) share them; they differ in what a frame
 * is, in when they know that a class's gate opens, and in lateness, which virtual time doesn't
 * have.
 *
 * Control frames (here CNPs and ACKs, not MAC control) go first, and PAUSE doesn't stop them.
 * Flows share the rest of the line in round robin, each paced at its RP's rate, while their
 * class isn't paused and their window isn't full. Times are whole picoseconds. */
#ifndef HOSTS_PACING_H
#define HOSTS_PACING_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PACING_NEVER UINT64_MAX

/* A flow's entry in the round robin, half a cache line. */
struct pacing_flow {
    /* when pacing allows the next frame; first the flow's start; PACING_NEVER: its window is
     * full */
    uint64_t next;
    uint64_t end;      /* it starts no frame from then on */
    /* when pacing and PAUSE allow the next frame; PACING_NEVER: not before `end`. pacing_choose
     * sets it */
    uint64_t eligible;
    uint32_t number; /* entries are in the order of their numbers */
    uint8_t priority;
};

/* A NIC's next action: to start a flow's frame, to send a control frame, or to end a flow. index:
 * of the flow's entry. */
struct pacing_choice {
    uint64_t when;
    enum { PACING_NOTHING, PACING_START, PACING_CONTROL, PACING_END } action;
    uint32_t index;
};

/* The earliest time from `at` on at which the class isn't paused; PACING_NEVER: it isn't known, an
 * event will tell. */
typedef uint64_t pacing_unpaused_at(const void *nic, uint32_t priority, uint64_t at);

/* How long so many bits take at a rate. At most 11 days, so that no sum of times overflows. */
static inline uint64_t pacing_interval(uint64_t bits, double rate_bps)
{
    double ps = (double)bits * 1e12 / rate_bps;
    return ps < 1e18 ? (uint64_t)llround(ps) : (uint64_t)1e18;
}

/* Round robin: of the flows that may send at `start`, the one after the flow that sent last. There
 * is one. */
static inline uint32_t pacing_turn(const struct pacing_flow *flows, uint32_t n, uint64_t start,
                                   uint32_t last)
{
    uint32_t first = n;
    for (uint32_t i = 0; i < n; i++) {
        if (flows[i].eligible > start) continue;
        if (flows[i].number > last) return i;
        if (first == n) first = i;
    }
    return first;
}

/* The next action, which holds until one of these changes: the flows; the gate; free_at, when the
 * line is free (PACING_NEVER: it is down); since when a control frame waits (PACING_NEVER: none
 * does); the number of the flow that sent last (UINT32_MAX: none has). In virtual time `free_at` is
 * never before now: nothing starts in the past. */
static inline __attribute__((always_inline)) struct pacing_choice
pacing_choose(struct pacing_flow *flows, uint32_t n, pacing_unpaused_at *unpaused_at,
              const void *nic, uint64_t free_at, uint64_t control, uint32_t last)
{
    uint64_t earliest = PACING_NEVER, first_end = PACING_NEVER;
    uint32_t ending = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct pacing_flow *flow = &flows[i];
        uint64_t at = unpaused_at(nic, flow->priority, flow->next);
        if (at >= flow->end) {
            if (flow->end < first_end) {
                first_end = flow->end;
                ending = i;
            }
            at = PACING_NEVER;
        } else if (at < earliest) {
            earliest = at;
        }
        flow->eligible = at;
    }
    uint64_t start = earliest > free_at ? earliest : free_at;
    if (control < free_at) control = free_at;
    struct pacing_choice choice = {PACING_NEVER, PACING_NOTHING, 0};
    if (control != PACING_NEVER && control <= start)
        choice = (struct pacing_choice){control, PACING_CONTROL, 0};
    else if (start != PACING_NEVER)
        choice = (struct pacing_choice){start, PACING_START, pacing_turn(flows, n, start, last)};
    if (first_end < choice.when) choice = (struct pacing_choice){first_end, PACING_END, ending};
    return choice;
}

/* A frame of the flow starts at `at`. Returns the base: the next frame may start an interval after
 * it. A flow that had to wait keeps credit for one packet. */
static inline uint64_t pacing_started(struct pacing_flow *flow, uint64_t at, uint64_t interval)
{
    uint64_t credit = at > interval ? at - interval : 0;
    uint64_t base = flow->next > credit ? flow->next : credit;
    flow->next = base + interval;
    return base;
}

/* The flow has a new interval. It applies at once: to the gap after the latest frame, too, if one
 * was `sent`. */
static inline void pacing_new_interval(struct pacing_flow *flow, bool sent, uint64_t base,
                                       uint64_t interval, uint64_t now)
{
    if (flow->next == PACING_NEVER) return; /* until its window opens */
    uint64_t next = sent ? base + interval : flow->next;
    flow->next = next > now ? next : now;
}

/* The flow's window (transport.h) is full, after its latest frame; it isn't any more, and nothing
 * starts before now. */
static inline void pacing_close(struct pacing_flow *flow) { flow->next = PACING_NEVER; }
static inline bool pacing_closed(const struct pacing_flow *flow)
{
    return flow->next == PACING_NEVER;
}
static inline void pacing_open(struct pacing_flow *flow, uint64_t base, uint64_t interval,
                               uint64_t now)
{
    flow->next = base + interval > now ? base + interval : now;
}

static inline void pacing_remove(struct pacing_flow *flows, uint32_t *n, uint32_t index)
{
    memmove(&flows[index], &flows[index + 1], (--*n - index) * sizeof *flows);
}

/* When a flow that is stopped now has ended: once the last bit of the frames that have started has
 * arrived at the far end, `delay` after it left the NIC at free_at. */
static inline uint64_t pacing_stopped(bool sent, uint64_t free_at, uint64_t delay, uint64_t now)
{
    return sent && free_at + delay > now ? free_at + delay : now;
}

#endif
