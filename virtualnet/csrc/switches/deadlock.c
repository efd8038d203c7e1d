/* Deadlock: classes of links that wait for each other. A class of a link to a switch is stuck if
 * its gate is closed and stays so, because of what the switch has inside of it too much waits at
 * ports that are stuck. Of all classes whose gates are closed those that can go on are taken out
 * until nothing changes: what is left is the largest such set. That is exact, as hosts take
 * whatever arrives and no flow control frame of PFC is lost: a deadlock never dissolves, and
 * nothing else is one.
 *
 * Not for output buffers behind a fabric, where frames go on while the buffer has room.
 *
 * Of a network in several processes all look at once. Each has the same suspects; of one the process
 * with the switch where its link starts says what waits there, and that where it ends whether it
 * can go on. */
#include <errno.h>
#include <stdlib.h>

#include "switches/scheduler.h"
#include "time/parts.h"

/* A class of a link that may be stuck. */
struct suspect {
    uint32_t link, class;
    bool stuck, circle;
    uint64_t since; /* when it was told to stop */
};

struct suspects {
    struct vn_context *context;
    struct suspect *at;
    uint32_t n, *of;       /* of: index in `at`, plus 1, by link and class; 0: none */
    /* by suspect: what is inside of it and waits at stuck ports, bytes or blocks of credits */
    uint64_t *waits;
    uint64_t *leaves; /* by suspect: not 0, if it isn't one any more */
    bool holds;            /* a packet of the circle waits at the port that is looked at */
};

static struct suspect *suspect_of(const struct suspects *all, uint32_t link, uint32_t class)
{
    uint32_t index = all->of[link * VN_CLASSES + class];
    return index == 0 ? NULL : &all->at[index - 1];
}

/* Whether the class's gate is closed where the link starts, as another process's never is; and
 * since when, plus 1: where the link ends said so, but credits' shortage is where it starts. 0: it
 * isn't, or another process has that end. */
static bool is_closed(const struct vn_context *context, uint32_t number, uint32_t class)
{
    const struct vn_link *link = vn_link_of(context, number);
    return vn_far(context, link)->kind->holds && vn_gate_closed(link, class);
}

static uint64_t told_at(const struct vn_context *context, uint32_t number, uint32_t class)
{
    const struct vn_link *link = vn_link_of(context, number);
    if (!vn_here(context, link->paid ? link->node : link->to)) return 0;
    return vn_flow_control_of(link)->stopped_since(context, number, class) + 1;
}

static void count_waiting(void *to, const struct vn_packet *packet, uint32_t class)
{
    const struct suspects *all = to;
    const struct suspect *held = packet->counted ? suspect_of(all, packet->in_link, class) : NULL;
    if (held == NULL) return;
    all->waits[held - all->at] +=
        vn_flow_control_of(&all->context->links[packet->in_link])->counts(packet->bytes);
}

static void see_circle(void *to, const struct vn_packet *packet, uint32_t class)
{
    struct suspects *all = to;
    const struct suspect *held = packet->counted ? suspect_of(all, packet->in_link, class) : NULL;
    if (held != NULL && held->circle) all->holds = true;
}

/* At the port where the suspect's link starts. A host has nothing inside that came from
 * elsewhere. */
static void each_waiting(struct suspects *all, const struct suspect *at,
                         void (*see)(void *, const struct vn_packet *, uint32_t))
{
    const struct vn_link *link = &all->context->links[at->link];
    if (vn_is_switch(vn_near(all->context, link)))
        vn_scheduler_each(all->context, link, at->class, see, all);
}

/* Takes out those that can go on; returns how many are left. */
static uint32_t settle(struct suspects *all)
{
    uint32_t left = all->n;
    for (bool changed = left != 0; changed;) {
        changed = false;
        memset(all->waits, 0, all->n * sizeof *all->waits);
        for (uint32_t i = 0; i < all->n; i++) {
            const struct suspect *suspect = &all->at[i];
            if (suspect->stuck) each_waiting(all, suspect, count_waiting);
        }
        vn_parts_sum(all->context, all->waits, all->n);
        for (uint32_t i = 0; i < all->n; i++) {
            const struct suspect *suspect = &all->at[i];
            const struct vn_link *link = &all->context->links[suspect->link];
            all->leaves[i] = suspect->stuck && vn_here(all->context, link->to) &&
                             !vn_flow_control_of(link)->stays_closed(all->context, suspect->link,
                                                                     suspect->class, all->waits[i]);
        }
        vn_parts_sum(all->context, all->leaves, all->n);
        for (uint32_t i = 0; i < all->n; i++) {
            if (all->leaves[i] == 0) continue;
            all->at[i].stuck = false;
            left--;
            changed = true;
        }
    }
    return left;
}

/* Of those that are stuck, the ones that others of these wait for: circles, and what joins them. */
static void find_circle(struct suspects *all)
{
    for (uint32_t i = 0; i < all->n; i++) all->at[i].circle = all->at[i].stuck;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < all->n; i++) {
            const struct suspect *suspect = &all->at[i];
            all->holds = false;
            all->leaves[i] = 0;
            if (!suspect->circle || !vn_here(all->context, all->context->links[suspect->link].node))
                continue;
            each_waiting(all, suspect, see_circle);
            all->leaves[i] = !all->holds;
        }
        vn_parts_sum(all->context, all->leaves, all->n);
        for (uint32_t i = 0; i < all->n; i++) {
            if (all->leaves[i] == 0) continue;
            all->at[i].circle = false;
            changed = true;
        }
    }
}

static void report(const struct suspects *all, bool circle, struct vn_deadlock *out,
                   uint32_t *members)
{
    for (uint32_t i = 0; i < all->n; i++) {
        const struct suspect *suspect = &all->at[i];
        if (!suspect->stuck || suspect->circle != circle) continue;
        members[out->members++] = suspect->link * VN_CLASSES + suspect->class;
        out->held_bytes +=
            vn_end_of(all->context, suspect->link)->classes[suspect->class].held_bytes;
        if (!circle) continue;
        out->circle++;
        if (suspect->since > out->since_ps) out->since_ps = suspect->since;
    }
}

/* Fills in, by link and class, what is closed, and when it was told so, plus 1. False: nowhere
 * anything is closed. */
static bool find_closed(struct vn_context *context, uint64_t *closed, uint64_t *since)
{
    bool any = false;
    for (uint32_t i = 0; i < context->n_links * VN_CLASSES; i++) {
        closed[i] = is_closed(context, i / VN_CLASSES, i % VN_CLASSES);
        since[i] = told_at(context, i / VN_CLASSES, i % VN_CLASSES);
        any |= closed[i] != 0;
    }
    if (vn_parts_any(context, any) == 0) return false;
    vn_parts_sum(context, closed, context->n_links * VN_CLASSES);
    vn_parts_sum(context, since, context->n_links * VN_CLASSES);
    return true;
}

int vn_deadlock(struct vn_context *context, struct vn_deadlock *out, uint32_t *members)
{
    *out = (struct vn_deadlock){0};
    uint32_t most = context->n_links * VN_CLASSES;
    struct suspects all = {.context = context, .of = calloc((size_t)most + 1, sizeof *all.of)};
    uint64_t *closed = malloc((size_t)2 * most * sizeof *closed + 1), *since = closed + most;
    bool room = all.of != NULL && closed != NULL;
    if (room && find_closed(context, closed, since)) {
        for (uint32_t i = 0; i < most; i++) {
            if (closed[i] != 0 && since[i] != 0) all.of[i] = ++all.n;
        }
        all.at = malloc((all.n + 1) * sizeof *all.at);
        all.waits = malloc((all.n + 1) * sizeof *all.waits);
        all.leaves = malloc((all.n + 1) * sizeof *all.leaves);
        room = all.at != NULL && all.waits != NULL && all.leaves != NULL;
    }
    for (uint32_t i = 0; room && all.n != 0 && i < most; i++) {
        if (all.of[i] != 0)
            all.at[all.of[i] - 1] = (struct suspect){.link = i / VN_CLASSES,
                                                     .class = i % VN_CLASSES,
                                                     .stuck = true,
                                                     .since = since[i] - 1};
    }
    if (room && all.n != 0 && settle(&all) != 0) {
        find_circle(&all);
        report(&all, true, out, members);
        report(&all, false, out, members);
        vn_parts_sum(context, &out->held_bytes, 1);
    }
    free(all.of);
    free(all.at);
    free(all.waits);
    free(all.leaves);
    free(closed);
    if (context->failed) return -EIO;
    return room ? 0 : -ENOMEM;
}
