/* How an event is scheduled, and what its key says. order.c decides which comes next. */
#ifndef VN_SCHEDULE_H
#define VN_SCHEDULE_H

#include "time/shared.h"

/* A key: kind, id, and the slot in its node's tournament, 0 for one of `others`. */
static inline enum vn_kind vn_kind_of(struct vn_event event)
{
    return (enum vn_kind)(event.key >> 48);
}
static inline uint32_t vn_id_of(struct vn_event event) { return (uint32_t)(event.key >> 16); }
static inline uint32_t vn_slot_of(struct vn_event event) { return event.key & 0xffff; }
static inline struct vn_event vn_event_of(uint64_t time, enum vn_kind kind, uint32_t id,
                                          uint32_t slot)
{
    return (struct vn_event){time, (uint64_t)kind << 48 | (uint64_t)id << 16 | slot};
}

/* Now is the event's time; it is counted, at a node or, VN_NONE, at all of them. A sample is in no
 * digest: a run is the same, whatever is read of it. */
VN_ALWAYS void vn_begin_event(struct vn_context *context, uint32_t place, struct vn_event event)
{
    VN_ASSERT(event.time != VN_NEVER && (place == VN_NONE || place < context->n_nodes));
    /* At a barrier Python may schedule for the moment that is just over. */
    VN_ASSERT(!context->order.by_node || place == VN_NONE ||
              event.time + 1 >= context->order.clock[vn_first_of(context, place)]);
    uint64_t word = event.time ^ event.key << 8;
    context->now = event.time;
    context->events_done++;
    if (place != VN_NONE) vn_digest_note(&context->nodes[place], word);
    else if (vn_kind_of(event) != VN_EV_SAMPLE)
        context->digest = vn_digest_mix(context->digest, word);
}

VN_ALWAYS void vn_run_event(struct vn_context *context, uint32_t place, struct vn_event event)
{
    vn_begin_event(context, place, event);
    context->order.kinds[vn_kind_of(event)].happen(context, vn_id_of(event));
}

static void vn_push_or_fail(struct vn_context *, struct vn_event_queue *, struct vn_event);

/* Schedules an event of a node, not before now; VN_NONE: of all nodes. */
static inline void vn_at(struct vn_context *context, uint32_t number, uint64_t time,
                         enum vn_kind kind, uint32_t id)
{
    struct vn_event event = vn_event_of(time, kind, id, 0);
    VN_ASSERT(time >= context->now);
    if (number == VN_NONE || vn_shares(context, number)) {
        vn_share(context, number, event);
        return;
    }
    struct vn_node *node = &context->nodes[number];
    vn_push_or_fail(context, &node->others, event);
    if (context->failed) return;
    vn_tournament_set(&node->events, 0, node->others.events[0]);
    if (time < context->order.next_event[number]) context->order.next_event[number] = time;
}

/* Schedules the one event of a port: that of its slot, which isn't 0. By node, a new one replaces
 * it; in a shared queue the kind says which was `replaced`. */
VN_ALWAYS void vn_at_slot(struct vn_context *context, uint32_t number, uint64_t time,
                          enum vn_kind kind, uint32_t id, uint32_t slot)
{
    struct vn_event event = vn_event_of(time, kind, id, slot);
    VN_ASSERT(time >= context->now && slot != 0);
    if (vn_shares(context, number)) {
        vn_share(context, number, event);
        return;
    }
    vn_tournament_set(&context->nodes[number].events, slot, event);
    if (time < context->order.next_event[number]) context->order.next_event[number] = time;
}

/* What another node sends arrives then. Several may send to it at once, from several contexts; its
 * own turn is another phase's. */
static inline void vn_arrives(const struct vn_context *context, uint32_t number, uint64_t due)
{
    uint64_t *next = &context->order.next_event[vn_first_of(context, number)],
             was = __atomic_load_n(next, __ATOMIC_RELAXED);
    while (due < was &&
           !__atomic_compare_exchange_n(next, &was, due, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

/* Sends a packet into a channel: it arrives at `due`, not before those that are in it. */
/* false: the run has failed */
static bool vn_channel_grow(struct vn_context *, struct vn_channel *);
VN_ALWAYS void vn_channel_push(struct vn_context *context, uint32_t number, uint64_t due,
                               uint32_t packet)
{
    struct vn_channel *channel = &context->channels[number];
    if (__builtin_expect(channel->n == channel->capacity, 0) && !vn_channel_grow(context, channel))
        return;
    VN_ASSERT(channel->n == 0 || due >= vn_in_flight_at(channel, channel->n - 1)->due);
    *vn_in_flight_at(channel, channel->n++) = (struct vn_in_flight){due, packet};
    if (__builtin_expect(channel->inside, 0)) {
        if (channel->n == 1) vn_at(context, channel->to, due, VN_EV_ARRIVAL, number);
    } else if (channel->next_arrival == VN_NEVER &&
               (channel->n == 1 || vn_group_of(context, channel->to) == NULL)) {
        channel->next_arrival = due;
        vn_arrives(context, channel->to, due);
    }
}

#endif
