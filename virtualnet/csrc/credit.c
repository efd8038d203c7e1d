/* Flow control by credits (InfiniBand Architecture 1.2.1, section 7.9) by ports and NICs themselves, without the P4 program. The
 * virtual lanes are the classes. A lane counts in blocks of 64 bytes, modulo 4096: where the link starts, those sent (FCTBS); where
 * it ends, those received (ABR). A flow control packet in the other direction says for a lane what its sender has sent (FCTBS) and
 * how far it may be sent to (FCCL): ABR and what the lane's buffer has room for, 2048 blocks at most. A class's gate is closed while
 * less is left for it than the longest frame takes.
 *
 * A lane's flow control packet is sent when FCCL has grown, at least `interval` after the one before, and when none was for `period`:
 * the latter repairs what losses did. What its sender has sent is what there was to receive, so ABR becomes the FCTBS that it says.
 *
 * Its first four bytes are InfiniBand's: operation 4 bits, FCTBS 12, lane 4, FCCL 12. They follow an Ethernet header of a type of our
 * own, where InfiniBand has a CRC after them and no header. It takes effect as a PFC frame does (pfc.c), but for ABR, which has to
 * change in step with what arrives. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gate.h"
#include "packets.h"

enum {
    FC_TYPE = 0x88b5, /* IEEE 802's local experimental EtherType 1 */
    FC_WORD = 14,
    FC_BYTES = 18,
    FC_BLOCK = 64,
    FC_MASK = 4095, /* of all counts */
    FC_MOST = 2048, /* the most blocks that FCCL may be ahead */
};

struct vn_lane {
    uint16_t sent, limit; /* where the link starts: FCTBS; the latest FCCL received */
    uint64_t closed_since;
    uint16_t received, told; /* where it ends: ABR; the latest FCCL sent */
    uint64_t last, due_at, periodic_at; /* the latest flow control packet; its next events, due_at VN_NEVER: none */
};

struct vn_lanes {
    uint32_t buffer; /* of each lane, blocks */
    uint64_t interval, period;
    struct vn_lane at[VN_CLASSES];
};

static uint32_t blocks(uint64_t bytes) { return (uint32_t)((bytes + FC_BLOCK - 1) / FC_BLOCK); }

static bool starved(const struct vn_net *net, const struct vn_lane *lane)
{
    return ((uint32_t)(lane->limit - lane->sent) & FC_MASK) < blocks(net->longest_frame);
}

/* Closes the gate, if too little is left. */
static void close_starved(const struct vn_net *net, struct vn_link *link, uint32_t class)
{
    struct vn_lane *lane = &link->lanes->at[class];
    if (vn_gate_closed(link, class) || !starved(net, lane)) return;
    vn_gate_close(link, class);
    lane->closed_since = net->now;
}

/* One direction. */
static bool add_lanes(struct vn_net *net, uint32_t number, uint32_t buffer, uint64_t interval_ps, uint64_t period_ps)
{
    struct vn_link *link = vn_link_of(net, number);
    link->lanes = calloc(1, sizeof *link->lanes);
    if (link->lanes == NULL) return false;
    link->credits = true;
    link->lanes->buffer = buffer;
    link->lanes->interval = interval_ps;
    link->lanes->period = period_ps;
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        struct vn_lane *lane = &link->lanes->at[class];
        lane->limit = lane->told = (uint16_t)(buffer < FC_MOST ? buffer : FC_MOST);
        lane->due_at = VN_NEVER;
        lane->periodic_at = net->now + period_ps;
        vn_at(net, lane->periodic_at, VN_EV_REFRESH, number * VN_CLASSES + class);
        if (!link->to_host) link->classes[class].lossless = VN_CREDITS;
        link->limit[class] = (uint64_t)buffer * FC_BLOCK;
    }
    return true;
}

int vn_set_credits(struct vn_net *net, uint32_t number, uint64_t buffer_bytes, uint64_t interval_ps, uint64_t period_ps)
{
    if (net->pool != NULL) return refuse(net, -EBUSY, "the network runs already: no link can be changed");
    if (number >= net->n_links || net->links[number].credits) return refuse(net, -EINVAL, "no such link, or it has credits");
    if (interval_ps == 0 || period_ps == 0) return refuse(net, -EINVAL, "flow control packets need an interval and a period");
    uint64_t buffer = buffer_bytes / FC_BLOCK;
    if (buffer < blocks(net->longest_frame) || buffer > UINT32_MAX) return refuse(net, -EINVAL, "no such buffer");
    for (uint32_t i = 0; i < 2; i++) {
        if (!add_lanes(net, number ^ i, (uint32_t)buffer, interval_ps, period_ps)) return refuse(net, -ENOMEM, "out of memory");
    }
    return 0;
}

bool vn_credit_has_room(const struct vn_net *net, uint32_t bytes)
{
    if (bytes <= net->longest_frame) return true;
    for (uint32_t i = 0; i < net->n_links; i++) {
        if (net->links[i].credits && net->links[i].lanes->buffer < blocks(bytes)) return false;
    }
    return true;
}

void vn_credit_limits(struct vn_net *net, uint32_t number)
{
    for (uint32_t class = 0; class < VN_CLASSES; class++) close_starved(net, vn_link_of(net, number), class);
}

uint64_t vn_credit_starved(const struct vn_net *net, const struct vn_link *link, uint32_t class)
{
    return link->credits && vn_gate_closed(link, class) ? net->now - link->lanes->at[class].closed_since : 0;
}

uint64_t vn_credit_closed_since(const struct vn_link *link, uint32_t class) { return link->lanes->at[class].closed_since; }

uint32_t vn_credit_blocks(uint32_t bytes) { return blocks(bytes); }

bool vn_credit_would_do(const struct vn_net *net, const struct vn_link *link, uint64_t held)
{
    return held + blocks(net->longest_frame) <= link->lanes->buffer;
}

void vn_credit_sent(struct vn_net *net, struct vn_link *link, uint32_t class, uint32_t id)
{
    struct vn_packet *packet = vn_packet_at(net, id);
    struct vn_lane *lane = &link->lanes->at[class];
    packet->class = class;
    lane->sent = (uint16_t)((lane->sent + blocks(packet->bytes)) & FC_MASK);
    close_starved(net, link, class);
}

/* ---- the far end ---- */

/* FCCL of link `number` now. */
static uint16_t limit_now(const struct vn_net *net, uint32_t number, uint32_t class)
{
    const struct vn_link *link = &net->links[number];
    uint32_t room = link->lanes->buffer - (uint32_t)(link->classes[class].held_bytes / FC_BLOCK);
    return (uint16_t)((link->lanes->at[class].received + (room < FC_MOST ? room : FC_MOST)) & FC_MASK);
}

/* Sends a flow control packet for one lane back over link `number`. */
static void send_flow_control(struct vn_net *net, uint32_t number, uint32_t class)
{
    const struct vn_link *link = vn_link_of(net, number);
    struct vn_link *back = vn_link_of(net, number ^ 1);
    struct vn_lane *lane = &link->lanes->at[class];
    lane->told = limit_now(net, number, class);
    lane->last = net->now;
    uint32_t id = vn_packet_new(net);
    if (id == VN_NONE) return;
    struct vn_packet *packet = vn_packet_at(net, id);
    static const uint8_t zeros[VN_TEMPLATE_BYTES];
    uint8_t *frame = vn_fill(net, packet, zeros);
    memcpy(frame, "\x01\x80\xc2\x00\x00\x0e", 6); /* the nearest bridge */
    memcpy(frame + 6, "\x02\x50\x43\x4e", 4);
    wire_store16(frame + 10, back->port);
    wire_store16(frame + WIRE_TYPE, FC_TYPE);
    wire_store32(frame + FC_WORD, (uint32_t)back->lanes->at[class].sent << 16 | class << 12 | lane->told);
    packet->bytes = FC_BYTES;
    packet->flow = VN_NONE;
    packet->data = false;
    back->fc_packets++;
    net->flow_control++;
    vn_control_push(net, back, id);
    if (back->host) vn_nic_changed(net, &net->nodes[back->node]);
    else vn_port_serve(net, back, number ^ 1);
}

/* Says that FCCL has grown, if it has; not before `interval` is over. It never shrinks, but for a packet that is in its buffer and
 * not received yet (vn_credit_arrival), and then isn't told. */
static void tell(struct vn_net *net, uint32_t number, uint32_t class)
{
    const struct vn_lanes *lanes = net->links[number].lanes;
    struct vn_lane *lane = &net->links[number].lanes->at[class];
    uint32_t grown = (uint32_t)(limit_now(net, number, class) - lane->told) & FC_MASK;
    if (grown == 0 || grown > FC_MOST) return;
    if (net->now >= lane->last + lanes->interval) {
        send_flow_control(net, number, class);
    } else if (lane->due_at == VN_NEVER) {
        lane->due_at = lane->last + lanes->interval;
        vn_at(net, lane->due_at, VN_EV_REFRESH, number * VN_CLASSES + class);
    }
}

void vn_credit_timer(struct vn_net *net, uint32_t number, uint32_t class)
{
    uint64_t period = net->links[number].lanes->period;
    struct vn_lane *lane = &net->links[number].lanes->at[class];
    if (lane->due_at == net->now) {
        lane->due_at = VN_NEVER;
        tell(net, number, class);
    }
    if (lane->periodic_at == net->now) {
        if (net->now - lane->last >= period) send_flow_control(net, number, class);
        lane->periodic_at = lane->last + period;
        vn_at(net, lane->periodic_at, VN_EV_REFRESH, number * VN_CLASSES + class);
    }
}

void vn_credit_admitted(struct vn_net *net, uint32_t number, uint32_t class, uint32_t bytes)
{
    struct vn_link *link = vn_link_of(net, number);
    struct vn_class *in = &link->classes[class];
    in->held_bytes += (uint64_t)blocks(bytes) * FC_BLOCK;
    if (in->held_bytes > in->held_max) in->held_max = in->held_bytes;
    if (in->held_bytes <= link->limit[class]) return;
    vn_fail(net, "link %u class %u has %llu bytes in a buffer of %llu: the program queues them in another class than their lane",
            number, class, (unsigned long long)in->held_bytes, (unsigned long long)link->limit[class]);
}

void vn_credit_departed(struct vn_net *net, uint32_t number, uint32_t class, uint32_t bytes)
{
    vn_link_of(net, number)->classes[class].held_bytes -= (uint64_t)blocks(bytes) * FC_BLOCK;
    tell(net, number, class);
}

/* ---- what arrives ---- */

bool vn_credit_is_flow_control(const uint8_t *frame) { return wire_load16(frame + WIRE_TYPE) == FC_TYPE; }

void vn_credit_arrival(struct vn_net *net, const struct vn_rx_port *rx, uint32_t number, uint32_t id, uint64_t late)
{
    struct vn_link *link = vn_link_of(net, number);
    struct vn_packet *packet = vn_packet_at(net, id);
    uint32_t class = packet->class, n = blocks(packet->bytes);
    if (vn_credit_is_flow_control(vn_frame(net, packet))) {
        uint32_t word = wire_load32(vn_frame(net, packet) + FC_WORD);
        class = word >> 12 & 15;
        link->lanes->at[class].received = word >> 16 & FC_MASK;
        vn_flow_control_arrived(net, number, id, late);
    } else {
        vn_deliver(net, rx, number, id);
        /* After the packet is in its buffer: no flow control packet may count it as received and its place as free. */
        link->lanes->at[class].received = (uint16_t)((link->lanes->at[class].received + n) & FC_MASK);
    }
    tell(net, number, class);
}

void vn_credit_effect(struct vn_net *net, uint32_t number)
{
    struct vn_link *link = vn_link_of(net, number), *back = vn_link_of(net, number ^ 1);
    uint32_t id = vn_fifo_pop(net, &link->arrived);
    uint32_t word = wire_load32(vn_frame(net, vn_packet_at(net, id)) + FC_WORD), class = word >> 12 & 15;
    net->flow_control--;
    if (link->to_host) {
        vn_packet_free(net, id);
    } else {
        vn_packet_at(net, id)->in_link = number;
        vn_hop_ingress(net, &net->nodes[link->to], link->to_port, id); /* the program drops it */
    }
    struct vn_lane *lane = &back->lanes->at[class];
    lane->limit = word & FC_MASK;
    if (!vn_gate_closed(back, class) || starved(net, lane)) return;
    vn_gate_open(back, class);
    back->starved_ps += net->now - lane->closed_since;
    vn_gate_changed(net, number ^ 1);
}
