/* Rings of frames on their way, and lists of those that arrive in a turn. */
#include "time/arrivals.h"

#include <stdlib.h>

bool vn_channel_grow(struct vn_context *context, struct vn_channel *channel)
{
    uint32_t capacity = channel->capacity == 0 ? 8 : 2 * channel->capacity;
    struct vn_in_flight *ring = aligned_alloc(64, capacity * sizeof *ring);
    if (ring == NULL) {
        vn_fail(context, "out of memory for a link");
        return false;
    }
    for (uint32_t i = 0; i < channel->n; i++) ring[i] = *vn_in_flight_at(channel, i);
    free(channel->ring);
    channel->ring = ring;
    channel->capacity = capacity;
    channel->head = 0;
    return true;
}

void vn_arrival_event(struct vn_context *context, uint32_t number)
{
    struct vn_channel *channel = &context->channels[number];
    uint32_t packet = vn_in_flight_at(channel, 0)->packet;
    if (channel->n > 1)
        vn_at(context, channel->to, vn_in_flight_at(channel, 1)->due, VN_EV_ARRIVAL, number);
    vn_take_arrival(context, channel, packet);
}

uint32_t vn_arrival_node(const struct vn_context *context, uint32_t channel)
{
    return context->channels[channel].to;
}

bool vn_arrivals_grow(struct vn_context *context, uint32_t arrivals)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct vn_listed *list =
            realloc(context->turns.arrival_lists[i], (arrivals + VN_AHEAD) * sizeof *list);
        if (list == NULL) {
            vn_fail(context, "out of memory for events");
            return false;
        }
        context->turns.arrival_lists[i] = list;
    }
    context->turns.arrivals_capacity = arrivals;
    return true;
}

bool vn_arrivals_list(struct vn_context *context, uint32_t from, uint32_t to)
{
    const struct vn_channel *behind = context->nodes[to - 1].in + context->nodes[to - 1].n_in;
    uint64_t first = VN_NEVER, last = 0, end = context->turns.end;
    uint32_t n = 0, busy = 0; /* ports with arrivals */
    for (struct vn_channel *channel = context->nodes[from].in; channel < behind; channel++) {
        uint64_t due = channel->next_arrival;
        if (due >= end) continue;
        if (n + channel->n > context->turns.arrivals_capacity &&
            !vn_arrivals_grow(context, 2 * (n + channel->n)))
            return false;
        if (due < first) first = due;
        uint32_t number = (uint32_t)(channel - context->channels), i = 0;
        struct vn_listed *next = context->turns.arrival_lists[0] + n;
        do {
            *next++ = (struct vn_listed){due, number, vn_in_flight_at(channel, i)->packet};
            due = ++i < channel->n ? vn_in_flight_at(channel, i)->due : VN_NEVER;
        } while (due < end);
        n += i;
        if (next[-1].time > last) last = next[-1].time;
        channel->next_arrival = due;
        busy++;
    }
    struct vn_listed **lists = context->turns.arrival_lists;
    context->turns.arrivals = busy > 1 ? vn_sort(lists[0], lists[1], n, first, last) : lists[0];
    /* what looks ahead finds the end */
    uint32_t behind_last = context->prefetch.active ? VN_AHEAD : 1;
    for (uint32_t i = 0; i < behind_last; i++)
        context->turns.arrivals[n + i] = (struct vn_listed){.time = VN_NEVER};
    return true;
}

void vn_arrivals_unlist(struct vn_context *context)
{
    for (; context->turns.arrivals->time != VN_NEVER; context->turns.arrivals++) {
        struct vn_channel *channel = &context->channels[context->turns.arrivals->channel];
        if (context->turns.arrivals->time < channel->next_arrival)
            channel->next_arrival = context->turns.arrivals->time;
    }
}
