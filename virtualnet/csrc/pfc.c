/* Priority flow control (IEEE 802.1Qbb) by the switch itself, without the P4 program: XOFF and XON on a link's ingress occupancy,
 * PAUSE and RESUME frames in the other direction, and the gate that they close and open.
 *
 * A frame takes effect after the response time: first the program's ingress gets it, since programs may track pauses, then the gate
 * changes. So the egress of a departing packet sees the program's state after the frame. */
#include <string.h>

#include "gate.h"
#include "packets.h"

/* XOFF and PFC headroom, the bytes that can still come in after XOFF. They come while the PAUSE waits for the frame being sent and
 * up to seven other PFC frames, while it is sent, during both propagation delays, and in the far end's response time. Besides,
 * three frames count whole: the one that passed XOFF; the one of which a part had come in by then; the one that the far end has
 * started when its gate closes. */
void vn_pfc_limits(struct vn_net *net, uint32_t number)
{
    struct vn_link *link = vn_link_of(net, number);
    const struct vn_link *back = vn_link_of(net, number ^ 1);
    uint64_t frame = net->longest_frame;
    uint64_t delay = vn_duration(back, frame + VN_CLASSES * WIRE_PFC_BYTES) + back->delay + net->response + link->delay;
    uint64_t bytes = (uint64_t)(((unsigned __int128)delay * link->rate_bps) / 8000000000000u) + 1;
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        uint64_t limit = link->classes[class].xoff + bytes + 3 * frame;
        if (limit > link->limit[class]) link->limit[class] = limit;
    }
}

/* Sends a PFC frame for one class back over link `number`; 0 quanta is a RESUME. */
static void send_pfc(struct vn_net *net, uint32_t number, uint32_t class, uint16_t quanta)
{
    const struct vn_link *link = vn_link_of(net, number);
    struct vn_link *back = vn_link_of(net, number ^ 1);
    uint32_t id = vn_packet_new(net);
    if (id == VN_NONE) return;
    struct vn_packet *packet = vn_packet_at(net, id);
    static const uint8_t zeros[VN_TEMPLATE_BYTES];
    uint8_t *frame = vn_fill(net, packet, zeros);
    memcpy(frame, "\x01\x80\xc2\x00\x00\x01", 6);
    memcpy(frame + 6, link->mac, 6);
    wire_store16(frame + WIRE_TYPE, WIRE_TYPE_MAC_CONTROL);
    wire_store16(frame + WIRE_PFC_OPCODE, WIRE_OPCODE_PFC);
    frame[WIRE_PFC_ENABLED] = (uint8_t)(1u << class);
    wire_store16(frame + WIRE_PFC_QUANTA + 2 * class, quanta);
    packet->bytes = WIRE_PFC_BYTES;
    packet->flow = VN_NONE;
    packet->data = false;
    if (quanta != 0) back->pause[class]++;
    else back->resume++;
    vn_control_push(net, back, id);
    vn_port_serve(net, back, number ^ 1);
}

static void send_pause(struct vn_net *net, uint32_t number, uint32_t class)
{
    struct vn_link *link = vn_link_of(net, number);
    link->pause_sent[class] = net->now;
    vn_at(net, net->now + link->refresh, VN_EV_REFRESH, number * VN_CLASSES + class);
    send_pfc(net, number, class, link->quanta);
}

void vn_pfc_admitted(struct vn_net *net, uint32_t number, uint32_t class, uint32_t bytes)
{
    struct vn_link *link = vn_link_of(net, number);
    struct vn_class *in = &link->classes[class];
    in->held_bytes += bytes;
    if (in->held_bytes > in->held_max) in->held_max = in->held_bytes;
    if (in->held_bytes <= in->xoff) return;
    if (in->held_bytes > link->limit[class]) {
        vn_fail(net, "link %u class %u has %llu bytes inside: more than XOFF and what can be in flight, %llu", number, class,
                (unsigned long long)in->held_bytes, (unsigned long long)link->limit[class]);
    }
    if (in->xoff_since != VN_NEVER) return;
    in->xoff_since = net->now;
    send_pause(net, number, class);
}

void vn_pfc_departed(struct vn_net *net, uint32_t number, uint32_t class, uint32_t bytes)
{
    struct vn_link *link = vn_link_of(net, number);
    struct vn_class *in = &link->classes[class];
    in->held_bytes -= bytes;
    /* Occupancy 0 resumes, too: it can't be below an XON of 0. */
    if (in->xoff_since == VN_NEVER || (in->held_bytes >= in->xon && in->held_bytes != 0)) return;
    vn_link_of(net, number ^ 1)->paused_ps += net->now - in->xoff_since;
    in->xoff_since = link->pause_sent[class] = VN_NEVER;
    send_pfc(net, number, class, 0);
}

void vn_pfc_refresh(struct vn_net *net, uint32_t number, uint32_t class)
{
    const struct vn_link *link = vn_link_of(net, number);
    if (link->pause_sent[class] + link->refresh == net->now) send_pause(net, number, class);
}

/* Applies a PAUSE or RESUME to one class of link `number`. */
static void apply(struct vn_net *net, uint32_t number, uint32_t class, uint32_t quanta)
{
    struct vn_link *link = vn_link_of(net, number);
    if (quanta == 0) {
        vn_gate_open(link, class);
        return;
    }
    vn_gate_close(link, class);
    unsigned __int128 bit_times = (unsigned __int128)quanta * WIRE_QUANTUM_BITS * 1000000000000u;
    link->classes[class].paused_until = net->now + (uint64_t)(bit_times / link->rate_bps);
    vn_at(net, link->classes[class].paused_until, VN_EV_EXPIRY, number * VN_CLASSES + class);
}

void vn_pfc_effect(struct vn_net *net, uint32_t number)
{
    struct vn_link *link = vn_link_of(net, number);
    uint32_t id = vn_fifo_pop(net, &link->arrived);
    const uint8_t *frame = vn_frame(net, vn_packet_at(net, id));
    uint8_t enabled = wire_load16(frame + WIRE_PFC_OPCODE) == WIRE_OPCODE_PFC ? frame[WIRE_PFC_ENABLED] : 0;
    if (!link->to_host) enabled &= link->lossless;
    uint16_t quanta[VN_CLASSES];
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        quanta[class] = (uint16_t)wire_load16(frame + WIRE_PFC_QUANTA + 2 * class);
    }
    if (link->to_host) {
        vn_packet_free(net, id);
    } else {
        vn_packet_at(net, id)->in_link = number;
        vn_hop_ingress(net, &net->nodes[link->to], link->to_port, id); /* the program drops it */
    }
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        if (enabled >> class & 1) apply(net, number ^ 1, class, quanta[class]);
    }
    if (enabled != 0) vn_gate_changed(net, number ^ 1);
}

void vn_pfc_expiry(struct vn_net *net, uint32_t number, uint32_t class)
{
    struct vn_link *link = vn_link_of(net, number);
    if (!vn_gate_closed(link, class) || link->classes[class].paused_until != net->now) return;
    vn_gate_open(link, class);
    link->expired++;
    vn_gate_changed(net, number);
}
