/* What channels hold, for the far end: a node's turn lists its arrivals, sorted, before they
 * happen; nodes that share a queue have an event of each channel's first frame there. */
#ifndef VN_ARRIVALS_H
#define VN_ARRIVALS_H

#include "time/schedule.h"

/* Makes room in the context's lists. False: the run has failed. */
static bool vn_arrivals_grow(struct vn_context *, uint32_t arrivals);
/* Lists in order the arrivals at nodes `from` to `to` - 1 until the end of the turn. False: the run
 * has failed. */
static bool vn_arrivals_list(struct vn_context *, uint32_t from, uint32_t to);
/* Those that are left aren't listed any more. */
static void vn_arrivals_unlist(struct vn_context *);

/* The channel's first frame has arrived. */
VN_ALWAYS void vn_take_arrival(struct vn_context *context, struct vn_channel *channel,
                               uint32_t packet)
{
    VN_ASSERT(channel->n != 0 && vn_in_flight_at(channel, 0)->packet == packet);
    channel->head++;
    channel->n--;
    channel->arrival(context, channel, packet);
}

static inline bool vn_arrives_before(const struct vn_context *context, struct vn_event event)
{
    return vn_before(vn_event_of(context->turns.arrivals->time, VN_EV_ARRIVAL,
                                 context->turns.arrivals->channel, 0),
                     event);
}

static inline void vn_run_arrival(struct vn_context *context)
{
    struct vn_listed next = *context->turns.arrivals++;
    struct vn_channel *channel = &context->channels[next.channel];
    VN_ASSERT(next.time < context->turns.end && next.time <= context->turns.arrivals->time);
    vn_begin_event(context, channel->to, vn_event_of(next.time, VN_EV_ARRIVAL, next.channel, 0));
    vn_take_arrival(context, channel, next.packet);
}

#endif
