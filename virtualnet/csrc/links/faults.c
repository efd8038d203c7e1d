/* Faults of a link: frames of one kind are lost, come twice, or come late, every so many. A late frame keeps its place among those
 * of its kind: what comes after it is late, too, until it is over. So a PAUSE is never overtaken by its RESUME, nor a flow control
 * packet by the next. Flow-control frames are late to take effect, notifications to be delivered. */
#include "links/faults.h"

#include <errno.h>
#include <stdlib.h>

#include "links/flow_control.h"

struct vn_faults {
    struct {
        struct vn_disturbance by;
        uint64_t seen; /* since it was set */
    } of[VN_FRAMES];
    struct vn_fifo late; /* notifications */
    uint64_t late_until; /* when the last one of them is delivered */
};

int vn_disturb(struct vn_context *context, uint32_t number, enum vn_frames frames, const struct vn_disturbance *by)
{
    if (number >= context->n_links || frames >= VN_FRAMES) return vn_refuse(context, -EINVAL, "no such link, or no such frames");
    struct vn_link *link = vn_link_of(context, number);
    if (frames == VN_DATA && (by->repeat != 0 || by->late != 0)) {
        return vn_refuse(context, -EINVAL, "data can be lost; it comes once, and in time");
    }
    if (frames == VN_NOTIFICATIONS && link->paid && (by->repeat != 0 || by->late != 0)) {
        return vn_refuse(context, -EINVAL,
                         "over a link with credits a notification comes once, and in time: its sender has paid for that");
    }
    if (link->faults == NULL) {
        if (by->lose == 0 && by->repeat == 0 && by->late == 0) return 0;
        link->faults = calloc(1, sizeof *link->faults);
        if (link->faults == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
    }
    link->faults->of[frames].by = *by;
    link->faults->of[frames].seen = 0;
    /* From the first lost or late PAUSE on, more may come in than headroom has room for. */
    if (frames == VN_FLOW_CONTROL && !link->paid && (by->lose != 0 || by->late != 0)) vn_fault_overruns(context, number ^ 1);
    if (context->channels != NULL) vn_link_receiver(context, number);
    return 0;
}

static enum vn_frames kind_of(const struct vn_context *context, const struct vn_link *link, struct vn_packet *packet)
{
    if (packet->data) return VN_DATA;
    bool flow_control = vn_flow_controls[link->flow_control]->is_frame(vn_frame(context, packet));
    return flow_control ? VN_FLOW_CONTROL : VN_NOTIFICATIONS;
}

static bool is_due(uint32_t every, uint64_t seen) { return every != 0 && seen % every == 0; }

/* VN_NONE: the run has failed. */
static uint32_t copy(struct vn_context *context, uint32_t id)
{
    uint32_t new = vn_packet_new(context);
    if (new == VN_NONE) return VN_NONE;
    struct vn_packet *packet = vn_packet_at(context, new);
    *packet = *vn_packet_at(context, id);
    memcpy(vn_frame(context, packet), vn_frame(context, vn_packet_at(context, id)), context->pool.stored);
    return new;
}

static void pass(struct vn_context *context, struct vn_channel *channel, uint32_t id, enum vn_frames frames, uint64_t late)
{
    uint32_t number = channel->link;
    struct vn_link *link = vn_link_of(context, number);
    struct vn_faults *faults = link->faults;
    const struct vn_flow_control *flow_control = vn_flow_controls[link->flow_control];
    if (flow_control->arrival != NULL) {
        flow_control->arrival(context, channel, id, late);
    } else if (frames == VN_FLOW_CONTROL) {
        vn_flow_control_arrived(context, number, id, late);
    } else if (frames == VN_NOTIFICATIONS && (late != 0 || faults->late.packets != 0)) {
        if (context->now + late > faults->late_until) faults->late_until = context->now + late;
        vn_fifo_push(context, &faults->late, id);
        vn_at(context, link->to, faults->late_until, VN_EV_LATE, number);
    } else {
        context->nodes[channel->to].kind->take(context, channel, id);
    }
}

void vn_fault_arrival(struct vn_context *context, struct vn_channel *channel, uint32_t id)
{
    uint32_t number = channel->link;
    struct vn_link *link = vn_link_of(context, number);
    enum vn_frames frames = kind_of(context, link, vn_packet_at(context, id));
    const struct vn_disturbance *by = &link->faults->of[frames].by;
    uint64_t seen = ++link->faults->of[frames].seen;
    if (is_due(by->lose, seen)) {
        link->lost++;
        if (link->paid && frames == VN_FLOW_CONTROL) context->pool.flow_control--;
        vn_packet_lose(context, id);
        return;
    }
    uint64_t late = is_due(by->late, seen) ? by->late_ps : 0;
    uint32_t second = is_due(by->repeat, seen) ? copy(context, id) : VN_NONE;
    pass(context, channel, id, frames, late);
    if (second == VN_NONE) return;
    link->repeated++;
    if (link->paid) context->pool.flow_control++;
    pass(context, channel, second, frames, late);
}

void vn_fault_overruns(struct vn_context *context, uint32_t number)
{
    for (uint32_t class = 0; class < VN_CLASSES; class++) context->links[number].classes[class].overruns = true;
}

bool vn_fault_overrun(struct vn_context *context, uint32_t in_link, uint32_t class, uint32_t id)
{
    struct vn_link *in = vn_link_of(context, in_link);
    const struct vn_packet *packet = vn_packet_at(context, id);
    if (in->classes[class].lossless != VN_FLOW_CONTROL_pfc || packet->counted) return false;
    if (in->classes[class].held_bytes + packet->bytes <= in->limit[class]) return false;
    in->overrun++;
    return true;
}

void vn_fault_late(struct vn_context *context, uint32_t number)
{
    const struct vn_link *link = vn_link_of(context, number);
    VN_ASSERT(link->faults->late.packets != 0);
    uint32_t id = vn_fifo_pop(context, &link->faults->late);
    vn_far(context, link)->kind->take(context, &context->channels[link->channel], id);
}
