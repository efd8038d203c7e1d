/* Faults of a link: frames of one kind are lost, come twice, or come late, every so many, or are
 * lost at random. A late frame keeps its place among those of its kind: what comes after it is
 * late, too, until it is over. So a PAUSE is never overtaken by its RESUME, nor a flow control
 * packet by the next. Flow-control frames are late to take effect, notifications to be
 * delivered. */
#include "links/faults.h"

#include <errno.h>
#include <stdlib.h>

#include "links/flow_control.h"
#include "links/shared_buffer.h"

struct vn_faults {
    struct {
        struct vn_disturbance by;
        uint64_t seen; /* since it was set */
        bool loses; /* some are lost */
    } of[VN_FRAMES];
    struct vn_fifo late; /* notifications */
    uint64_t late_until; /* when the last one of them is delivered */
};

int vn_disturb(struct vn_context *context, uint32_t number, enum vn_frames frames,
               const struct vn_disturbance *by)
{
    if (number >= context->n_links || frames >= VN_FRAMES)
        return vn_refuse(context, -EINVAL, "no such link, or no such frames");
    struct vn_link *link = vn_link_of(context, number);
    if (frames == VN_DATA && (by->repeat != 0 || by->late != 0)) {
        return vn_refuse(context, -EINVAL, "data can be lost; it comes once, and in time");
    }
    if (frames == VN_NOTIFICATIONS && link->paid && (by->repeat != 0 || by->late != 0)) {
        return vn_refuse(context, -EINVAL,
                         "over a link with credits a notification comes once, and in time: its "
                         "sender has paid for that");
    }
    if (!(by->p_lose >= 0 && by->p_lose <= 1))
        return vn_refuse(context, -EINVAL, "a probability is from 0 to 1");
    bool loses = by->lose != 0 || by->p_lose > 0;
    struct vn_link *end = vn_end_of(context, number);
    if (end->faults == NULL) {
        if (!loses && by->repeat == 0 && by->late == 0) return 0;
        end->faults = calloc(1, sizeof *end->faults);
        if (end->faults == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
    }
    end->faults->of[frames].by = *by;
    end->faults->of[frames].seen = 0;
    end->faults->of[frames].loses = loses;
    /* From the first lost or late PAUSE on, more may come in than headroom has room for. */
    if (frames == VN_FLOW_CONTROL && !link->paid && (loses || by->late != 0))
        vn_fault_overruns(link);
    if (context->channels != NULL) vn_link_receiver(context, number);
    return 0;
}

static enum vn_frames kind_of(const struct vn_context *context, const struct vn_link *link,
                              struct vn_packet *packet)
{
    if (packet->data) return VN_DATA;
    bool flow_control = vn_flow_controls[link->flow_control]->is_frame(vn_frame(context, packet));
    return flow_control ? VN_FLOW_CONTROL : VN_NOTIFICATIONS;
}

static bool is_due(uint32_t every, uint64_t seen) { return every != 0 && seen % every == 0; }

/* SplitMix64 (Steele, Lea, Flood 2014): the number that follows one of its states. */
static uint64_t mixed(uint64_t state)
{
    state += UINT64_C(0x9e3779b97f4a7c15);
    state = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    state = (state ^ state >> 27) * UINT64_C(0x94d049bb133111eb);
    return state ^ state >> 31;
}

/* From 0 on, below 1. It depends on nothing else, so that the order among nodes doesn't matter. */
static double random_of(uint64_t seed, uint32_t link, enum vn_frames frames, uint64_t seen)
{
    uint64_t stream = mixed(mixed(seed) ^ ((uint64_t)link * VN_FRAMES + frames));
    return (double)(mixed(stream ^ seen) >> 11) * 0x1p-53;
}

static bool is_lost(const struct vn_disturbance *by, uint32_t link, enum vn_frames frames,
                    uint64_t seen)
{
    return is_due(by->lose, seen) ||
           (by->p_lose > 0 && random_of(by->seed, link, frames, seen) < by->p_lose);
}

/* VN_NONE: the run has failed. */
static uint32_t copy(struct vn_context *context, uint32_t id)
{
    uint32_t new = vn_packet_new(context);
    if (new == VN_NONE) return VN_NONE;
    struct vn_packet *packet = vn_packet_at(context, new);
    *packet = *vn_packet_at(context, id);
    memcpy(vn_frame(context, packet), vn_frame(context, vn_packet_at(context, id)),
           context->pool.stored);
    return new;
}

static void pass(struct vn_context *context, struct vn_channel *channel, uint32_t id,
                 enum vn_frames frames, uint64_t late)
{
    uint32_t number = channel->link;
    const struct vn_link *end = vn_end_of(context, number);
    struct vn_faults *faults = end->faults;
    const struct vn_flow_control *flow_control = vn_flow_control_of(end);
    if (flow_control->arrival != NULL) {
        flow_control->arrival(context, channel, id, late);
    } else if (frames == VN_FLOW_CONTROL) {
        vn_flow_control_arrived(context, number, id, late);
    } else if (frames == VN_NOTIFICATIONS && (late != 0 || faults->late.packets != 0)) {
        if (context->now + late > faults->late_until) faults->late_until = context->now + late;
        vn_fifo_push(context, &faults->late, id);
        vn_at(context, end->node, faults->late_until, VN_EV_LATE, number);
    } else {
        context->nodes[channel->to].kind->take(context, channel, id);
    }
}

void vn_fault_arrival(struct vn_context *context, struct vn_channel *channel, uint32_t id)
{
    struct vn_link *end = vn_end_of(context, channel->link);
    enum vn_frames frames = kind_of(context, end, vn_packet_at(context, id));
    const struct vn_disturbance *by = &end->faults->of[frames].by;
    uint64_t seen = ++end->faults->of[frames].seen;
    if (end->faults->of[frames].loses && is_lost(by, channel->link, frames, seen)) {
        end->lost++;
        if (end->paid && frames == VN_FLOW_CONTROL) context->packets.flow_control--;
        vn_packet_lose(context, id);
        return;
    }
    uint64_t late = is_due(by->late, seen) ? by->late_ps : 0;
    uint32_t second = is_due(by->repeat, seen) ? copy(context, id) : VN_NONE;
    pass(context, channel, id, frames, late);
    if (second == VN_NONE) return;
    VN_ASSERT(frames != VN_DATA);
    end->repeated++;
    if (end->paid) context->packets.flow_control++;
    pass(context, channel, second, frames, late);
}

void vn_fault_overruns(struct vn_link *port)
{
    for (uint32_t class = 0; class < VN_CLASSES; class++) port->classes[class].refuses = true;
}

/* Credits count in whole blocks, and so does `limit` of theirs. They need no such look: a program
 * that queues a lane's packets in another class ends the run (credit_admitted), unless that
 * survives. */
static bool has_room(const struct vn_context *context, const struct vn_class *in, uint64_t limit,
                     uint32_t bytes)
{
    if (vn_is_shared(in)) return vn_share_has_room(context, in, bytes);
    bool bounded = in->lossless == VN_FLOW_CONTROL_pfc ||
                   (in->lossless == VN_FLOW_CONTROL_credits && context->unable != NULL);
    return !bounded || in->held_bytes + bytes <= limit;
}

bool vn_fault_overrun(struct vn_context *context, struct vn_link *end, uint32_t class, uint32_t id)
{
    const struct vn_packet *packet = vn_packet_at(context, id);
    const struct vn_class *in = &end->classes[class];
    VN_ASSERT(in->refuses);
    if (packet->counted || has_room(context, in, end->limit[class], packet->bytes)) return false;
    end->overrun++;
    return true;
}

void vn_fault_late(struct vn_context *context, uint32_t number)
{
    const struct vn_link *end = vn_end_of(context, number);
    VN_ASSERT(end->faults->late.packets != 0 && end->faults->late_until >= context->now);
    uint32_t id = vn_fifo_pop(context, &end->faults->late);
    vn_near(context, end)
        ->kind->take(context, &context->channels[context->links[number].channel], id);
}
