/* Deadlock: classes of links that wait for each other. A class of a link to a switch is stuck if
 * its gate is closed and stays so, because of what the switch has inside of it too much waits at
 * ports that are stuck. Of all classes whose gates are closed those that can go on are taken out
 * until nothing changes: what is left is the largest such set. That is exact, as hosts take
 * whatever arrives and no flow control frame of PFC is lost: a deadlock never dissolves, and
 * nothing else is one.
 *
 * Not for output buffers behind a fabric, where frames go on while the buffer has room. */
#include <errno.h>
#include <stdlib.h>

#include "switches/scheduler.h"

/* A class of a link that may be stuck. */
struct suspect {
    uint32_t link, class;
    bool stuck, circle;
};

struct suspects {
    const struct vn_context *context;
    struct suspect *at;
    uint32_t n, *of;       /* of: index in `at`, plus 1, by link and class; 0: none */
    /* by suspect: what is inside of it and waits at stuck ports, bytes or blocks of credits */
    uint64_t *waits;
    bool holds;            /* a packet of the circle waits at the port that is looked at */
};

static struct suspect *suspect_of(const struct suspects *all, uint32_t link, uint32_t class)
{
    uint32_t index = all->of[link * VN_CLASSES + class];
    return index == 0 ? NULL : &all->at[index - 1];
}

static bool told_to_stop(const struct vn_context *context, uint32_t number, uint32_t class)
{
    const struct vn_link *link = vn_link_of(context, number);
    if (!vn_far(context, link)->kind->holds || !vn_gate_closed(link, class)) return false;
    return vn_flow_control_of(link)->stopped_since(context, number, class) != VN_NEVER;
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
            const struct suspect *one = &all->at[i];
            if (one->stuck) each_waiting(all, one, count_waiting);
        }
        for (uint32_t i = 0; i < all->n; i++) {
            struct suspect *one = &all->at[i];
            const struct vn_link *link = &all->context->links[one->link];
            if (!one->stuck || vn_flow_control_of(link)->stays_closed(all->context, one->link,
                                                                      one->class, all->waits[i]))
                continue;
            one->stuck = false;
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
            struct suspect *one = &all->at[i];
            if (!one->circle) continue;
            all->holds = false;
            each_waiting(all, one, see_circle);
            one->circle = all->holds;
            changed |= !all->holds;
        }
    }
}

static void report(const struct suspects *all, bool circle, struct vn_deadlock *out,
                   uint32_t *members)
{
    for (uint32_t i = 0; i < all->n; i++) {
        const struct suspect *one = &all->at[i];
        const struct vn_link *link = &all->context->links[one->link];
        if (!one->stuck || one->circle != circle) continue;
        members[out->members++] = one->link * VN_CLASSES + one->class;
        out->held_bytes += vn_end_of(all->context, one->link)->classes[one->class].held_bytes;
        if (!circle) continue;
        out->circle++;
        uint64_t since =
            vn_flow_control_of(link)->stopped_since(all->context, one->link, one->class);
        if (since > out->since_ps) out->since_ps = since;
    }
}

int vn_deadlock(const struct vn_context *context, struct vn_deadlock *out, uint32_t *members)
{
    *out = (struct vn_deadlock){0};
    struct suspects all = {.context = context,
                           .of = calloc((size_t)context->n_links * VN_CLASSES + 1, sizeof *all.of)};
    for (uint32_t i = 0; all.of != NULL && i < context->n_links * VN_CLASSES; i++) {
        if (told_to_stop(context, i / VN_CLASSES, i % VN_CLASSES)) all.of[i] = ++all.n;
    }
    all.at = malloc((all.n + 1) * sizeof *all.at);
    all.waits = malloc((all.n + 1) * sizeof *all.waits);
    bool room = all.of != NULL && all.at != NULL && all.waits != NULL;
    for (uint32_t i = 0; room && i < context->n_links * VN_CLASSES; i++) {
        if (all.of[i] != 0)
            all.at[all.of[i] - 1] =
                (struct suspect){.link = i / VN_CLASSES, .class = i % VN_CLASSES, .stuck = true};
    }
    if (room && settle(&all) != 0) {
        find_circle(&all);
        report(&all, true, out, members);
        report(&all, false, out, members);
    }
    free(all.of);
    free(all.at);
    free(all.waits);
    return room ? 0 : -ENOMEM;
}
