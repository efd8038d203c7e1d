/* Faults of a link: frames of one kind are lost, come twice, or come late, every so many. A late frame keeps its place among those
 * of its kind: what comes after it is late, too, until it is over. So a PAUSE is never overtaken by its RESUME, nor a flow control
 * packet by the next. Flow-control frames are late to take effect, notifications to be delivered. */
#include <errno.h>
#include <stdlib.h>

#include "gate.h"
#include "packets.h"

struct vn_faults {
    struct {
        struct vn_disturbance by;
        uint64_t seen; /* since it was set */
    } of[VN_FRAMES];
    struct vn_fifo late; /* notifications */
    uint64_t late_until; /* when the last one of them is delivered */
};

int vn_disturb(struct vn_net *net, uint32_t number, enum vn_frames frames, const struct vn_disturbance *by)
{
    if (number >= net->n_links || frames >= VN_FRAMES) return refuse(net, -EINVAL, "no such link, or no such frames");
    struct vn_link *link = vn_link_of(net, number);
    if (frames == VN_DATA && (by->repeat != 0 || by->late != 0)) {
        return refuse(net, -EINVAL, "data can be lost; it comes once, and in time");
    }
    if (frames == VN_NOTIFICATIONS && link->credits && (by->repeat != 0 || by->late != 0)) {
        return refuse(net, -EINVAL,
                      "over a link with credits a notification comes once, and in time: its sender has paid for that");
    }
    if (link->faults == NULL) {
        if (by->lose == 0 && by->repeat == 0 && by->late == 0) return 0;
        link->faults = calloc(1, sizeof *link->faults);
        if (link->faults == NULL) return refuse(net, -ENOMEM, "out of memory");
    }
    link->faults->of[frames].by = *by;
    link->faults->of[frames].seen = 0;
    /* From the first lost or late PAUSE on, more may come in than headroom has room for. */
    if (frames == VN_FLOW_CONTROL && !link->credits && (by->lose != 0 || by->late != 0)) vn_fault_overruns(net, number ^ 1);
    if (net->rx_ports != NULL) net->rx_ports[link->rx_port].special = true;
    return 0;
}

static enum vn_frames kind_of(const struct vn_net *net, const struct vn_link *link, struct vn_packet *packet)
{
    if (packet->data) return VN_DATA;
    const uint8_t *frame = vn_frame(net, packet);
    bool flow_control = link->credits ? vn_credit_is_flow_control(frame) : is_mac_control(frame);
    return flow_control ? VN_FLOW_CONTROL : VN_NOTIFICATIONS;
}

static bool is_due(uint32_t every, uint64_t seen) { return every != 0 && seen % every == 0; }

/* VN_NONE: the run has failed. */
static uint32_t copy(struct vn_net *net, uint32_t id)
{
    uint32_t new = vn_packet_new(net);
    if (new == VN_NONE) return VN_NONE;
    struct vn_packet *packet = vn_packet_at(net, new);
    *packet = *vn_packet_at(net, id);
    memcpy(vn_frame(net, packet), vn_frame(net, vn_packet_at(net, id)), net->stored);
    return new;
}

static void pass(struct vn_net *net, const struct vn_rx_port *rx, uint32_t number, uint32_t id, enum vn_frames frames,
                 uint64_t late)
{
    struct vn_link *link = vn_link_of(net, number);
    struct vn_faults *faults = link->faults;
    if (link->credits) {
        vn_credit_arrival(net, rx, number, id, late);
    } else if (frames == VN_FLOW_CONTROL) {
        vn_flow_control_arrived(net, number, id, late);
    } else if (frames == VN_NOTIFICATIONS && (late != 0 || faults->late.packets != 0)) {
        if (net->now + late > faults->late_until) faults->late_until = net->now + late;
        vn_fifo_push(net, &faults->late, id);
        vn_at(net, faults->late_until, VN_EV_LATE, number);
    } else {
        vn_deliver(net, rx, number, id);
    }
}

void vn_fault_arrival(struct vn_net *net, const struct vn_rx_port *rx, uint32_t number, uint32_t id)
{
    struct vn_link *link = vn_link_of(net, number);
    enum vn_frames frames = kind_of(net, link, vn_packet_at(net, id));
    const struct vn_disturbance *by = &link->faults->of[frames].by;
    uint64_t seen = ++link->faults->of[frames].seen;
    if (is_due(by->lose, seen)) {
        link->lost++;
        if (link->credits && frames == VN_FLOW_CONTROL) net->flow_control--;
        vn_packet_lose(net, id);
        return;
    }
    uint64_t late = is_due(by->late, seen) ? by->late_ps : 0;
    uint32_t second = is_due(by->repeat, seen) ? copy(net, id) : VN_NONE;
    pass(net, rx, number, id, frames, late);
    if (second == VN_NONE) return;
    link->repeated++;
    if (link->credits) net->flow_control++;
    pass(net, rx, number, second, frames, late);
}

void vn_fault_overruns(struct vn_net *net, uint32_t number)
{
    for (uint32_t class = 0; class < VN_CLASSES; class++) net->links[number].classes[class].overruns = true;
}

bool vn_fault_overrun(struct vn_net *net, uint32_t in_link, uint32_t class, uint32_t id)
{
    struct vn_link *in = vn_link_of(net, in_link);
    const struct vn_packet *packet = vn_packet_at(net, id);
    if (in->classes[class].lossless != VN_PFC || packet->counted) return false;
    if (in->classes[class].held_bytes + packet->bytes <= in->limit[class]) return false;
    in->overrun++;
    return true;
}

void vn_fault_late(struct vn_net *net, uint32_t number)
{
    const struct vn_link *link = vn_link_of(net, number);
    vn_deliver(net, &net->rx_ports[link->rx_port], number, vn_fifo_pop(net, &link->faults->late));
}
