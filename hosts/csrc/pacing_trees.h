/* pacing_choose for a NIC of many flows: the same choice, at a cost that grows with the logarithm
 * of their number. A tournament tree a class keeps when pacing allows each flow's next frame; its
 * root is the earliest time, and the first flow after the latest one that may send is found by one
 * way up and one down. */
#ifndef HOSTS_PACING_TREES_H
#define HOSTS_PACING_TREES_H

#include <stdlib.h>

#include "pacing.h"

enum { PACING_CLASSES = 8, PACING_FEW = 32 /* flows: up to so many, to look at each is as fast */ };

struct pacing_trees {
    uint64_t first_end; /* the earliest `end` of all flows */
    /* By class, NULL: no flow was of it. Of flow i, `next` is at [leaves + i]; [i] is the earlier
     * one of [2 i] and [2 i + 1]. */
    uint64_t *nexts[PACING_CLASSES];
    uint32_t leaves; /* a power of two, as many as flows at least */
    uint32_t room; /* leaves that there is memory for */
    uint8_t classes; /* bit mask: that flows are of */
};

static inline void pacing_trees_free(struct pacing_trees *trees)
{
    for (uint32_t class = 0; trees != NULL && class < PACING_CLASSES; class ++)
        free(trees->nexts[class]);
    free(trees);
}

/* After flows were added or removed. False: no memory, which removal doesn't need. */
static inline bool pacing_trees_build(struct pacing_trees *trees, const struct pacing_flow *flows,
                                      uint32_t n)
{
    trees->classes = 0;
    trees->first_end = PACING_NEVER;
    trees->leaves = 2;
    while (trees->leaves < n) trees->leaves *= 2;
    for (uint32_t i = 0; i < n; i++) trees->classes |= (uint8_t)(1u << flows[i].priority);
    bool larger = trees->leaves > trees->room;
    for (uint32_t class = 0; class < PACING_CLASSES; class ++) {
        if (!(trees->classes >> class & 1) && !(larger && trees->nexts[class] != NULL)) continue;
        if (larger || trees->nexts[class] == NULL) {
            uint32_t room = larger ? trees->leaves : trees->room;
            uint64_t *nexts = realloc(trees->nexts[class], 2 * (size_t)room * sizeof *nexts);
            if (nexts == NULL) return false;
            trees->nexts[class] = nexts;
        }
        uint64_t *nexts = trees->nexts[class];
        for (uint32_t i = 0; i < trees->leaves; i++) {
            nexts[trees->leaves + i] =
                i < n && flows[i].priority == class ? flows[i].next : PACING_NEVER;
        }
        for (uint32_t i = trees->leaves - 1; i != 0; i--) {
            nexts[i] = nexts[2 * i] < nexts[2 * i + 1] ? nexts[2 * i] : nexts[2 * i + 1];
        }
    }
    if (larger) trees->room = trees->leaves;
    for (uint32_t i = 0; i < n; i++) {
        if (flows[i].end < trees->first_end) trees->first_end = flows[i].end;
    }
    return true;
}

/* After a flow's `next` changed. */
static inline void pacing_trees_set(struct pacing_trees *trees, const struct pacing_flow *flows,
                                    uint32_t index)
{
    uint64_t *nexts = trees->nexts[flows[index].priority];
    uint32_t at = trees->leaves + index;
    for (nexts[at] = flows[index].next; at > 1; at /= 2) {
        uint64_t earlier = nexts[at] < nexts[at ^ 1] ? nexts[at] : nexts[at ^ 1];
        if (nexts[at / 2] == earlier) return;
        nexts[at / 2] = earlier;
    }
}

/* The first flow from `from` on whose `next` is at most `most`; at least `leaves`: there is
 * none. */
static inline uint32_t pacing_trees_first(const uint64_t *nexts, uint32_t leaves, uint32_t from,
                                          uint64_t most)
{
    uint32_t at = leaves + from;
    if (from >= leaves || nexts[at] <= most) return from;
    for (; at > 1; at /= 2) {
        if (at % 2 != 0 || nexts[at + 1] > most) continue;
        for (at++; at < leaves; at = nexts[2 * at] <= most ? 2 * at : 2 * at + 1) {
        }
        return at - leaves;
    }
    return leaves;
}

/* The first flow whose number is above `number`. */
static inline uint32_t pacing_after(const struct pacing_flow *flows, uint32_t n, uint32_t number)
{
    uint32_t low = 0;
    for (uint32_t high = n; low < high;) {
        uint32_t middle = (low + high) / 2;
        if (flows[middle].number > number) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* As pacing_choose. Where a flow may end before anything else happens, or when it does, that
 * decides. */
static inline struct pacing_choice pacing_trees_choose(const struct pacing_trees *trees,
                                                       struct pacing_flow *flows, uint32_t n,
                                                       pacing_unpaused_at *unpaused_at,
                                                       const void *nic, uint64_t free_at,
                                                       uint64_t control, uint32_t last)
{
    uint64_t earliest = PACING_NEVER;
    for (uint32_t classes = trees->classes; classes != 0; classes &= classes - 1) {
        uint32_t class = (uint32_t)__builtin_ctz(classes);
        uint64_t at = unpaused_at(nic, class, trees->nexts[class][1]);
        if (at < earliest) earliest = at;
    }
    uint64_t start = earliest > free_at ? earliest : free_at,
             first_control = control < free_at ? free_at : control;
    if (trees->first_end <= start && trees->first_end <= first_control &&
        trees->first_end != PACING_NEVER) {
        return pacing_choose(flows, n, unpaused_at, nic, free_at, control, last);
    }
    if (first_control != PACING_NEVER && first_control <= start)
        return (struct pacing_choice){first_control, PACING_CONTROL, 0};
    if (start == PACING_NEVER) return (struct pacing_choice){PACING_NEVER, PACING_NOTHING, 0};
    uint32_t after = pacing_after(flows, n, last), turn = trees->leaves, first = trees->leaves;
    for (uint32_t classes = trees->classes; classes != 0; classes &= classes - 1) {
        uint32_t class = (uint32_t)__builtin_ctz(classes);
        const uint64_t *nexts = trees->nexts[class];
        if (unpaused_at(nic, class, nexts[1]) > start) continue;
        uint32_t next = pacing_trees_first(nexts, trees->leaves, after, start);
        if (next < turn) turn = next;
        next = turn < trees->leaves ? first : pacing_trees_first(nexts, trees->leaves, 0, start);
        if (next < first) first = next;
    }
    return (struct pacing_choice){start, PACING_START, turn < trees->leaves ? turn : first};
}

#endif
