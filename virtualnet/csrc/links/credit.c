/* Flow control by credits (InfiniBand Architecture 1.2.1, section 7.9) by ports and NICs
 * themselves, without the P4 program. The virtual lanes are the classes. A lane counts in blocks
 * of 64 bytes, modulo 4096: where the link starts, those sent (FCTBS); where it ends, those
 * received (ABR). A flow control packet in the other direction says for a lane what its sender
 * has sent (FCTBS) and how far it may be sent to (FCCL): ABR and what the lane's buffer has room
 * for, 2048 blocks at most. A class's gate is closed while less is left for it than the longest
 * frame takes.
 *
 * A lane's flow control packet is sent when FCCL has grown, at least `interval` after the one
 * before, and when none was for `period`: the latter repairs what losses did. What its sender
 * has sent is what there was to receive, so ABR becomes the FCTBS that it says.
 *
 * Its first four bytes are InfiniBand's: operation 4 bits, FCTBS 12, lane 4, FCCL 12. They
 * follow an Ethernet header of a type of our own, where InfiniBand has a CRC after them and no
 * header. It takes effect as a PFC frame does (pfc.c), but for ABR, which has to change in step
 * with what arrives. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "links/gate.h"
#include "time/parts.h"

enum {
    FC_TYPE = 0x88b5, /* IEEE 802's local experimental EtherType 1 */
    FC_WORD = 14,
    FC_BYTES = 18,
    FC_BLOCK = 64,
    FC_MASK = 4095, /* of all counts */
    FC_MOST = 2048, /* the most blocks that FCCL may be ahead */
};

/* Of a port. */
struct lane {
    uint16_t sent, limit; /* FCTBS; the latest FCCL received */
    uint64_t closed_since;
    uint64_t starved_ps;
    /* of the other direction, which ends here: ABR; the latest FCCL sent */
    uint16_t received, announced;
    /* the latest flow control packet; its next events, due_at VN_NEVER: none */
    uint64_t last, due_at, periodic_at;
};

struct lanes {
    uint64_t packets; /* flow control packets sent */
    uint32_t buffer; /* of each lane, blocks */
    uint64_t interval, period;
    struct lane at[VN_CLASSES];
};

static struct lanes *lanes_of(const struct vn_link *link) { return link->controlled; }
static struct lane *lane_of(const struct vn_link *link, uint32_t class)
{
    return &lanes_of(link)->at[class];
}

static uint32_t blocks(uint64_t bytes) { return (uint32_t)((bytes + FC_BLOCK - 1) / FC_BLOCK); }

static bool starved(const struct vn_context *context, const struct lane *lane)
{
    return ((uint32_t)(lane->limit - lane->sent) & FC_MASK) < blocks(context->longest_frame);
}

/* Closes the gate, if too little is left. */
static void close_starved(const struct vn_context *context, struct vn_link *link, uint32_t class)
{
    struct lane *lane = lane_of(link, class);
    if (vn_gate_closed(link, class) || !starved(context, lane)) return;
    vn_gate_close(context, link, class);
    lane->closed_since = context->now;
}

/* One port. */
static bool add_lanes(struct vn_context *context, struct vn_link *port, uint32_t buffer,
                      uint64_t interval_ps, uint64_t period_ps)
{
    struct lanes *lanes = calloc(1, sizeof *lanes);
    if (lanes == NULL) return false;
    free(port->controlled); /* PFC's */
    port->controlled = lanes;
    port->flow_control = VN_FLOW_CONTROL_credits;
    port->paid = true;
    *lanes = (struct lanes){.buffer = buffer, .interval = interval_ps, .period = period_ps};
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        struct lane *lane = lane_of(port, class);
        lane->limit = lane->announced = (uint16_t)(buffer < FC_MOST ? buffer : FC_MOST);
        lane->due_at = VN_NEVER;
        lane->periodic_at = context->now + period_ps;
        if (vn_here(context, port->node))
            vn_flow_control_refresh_at(context, port, class, lane->periodic_at);
        if (vn_near(context, port)->kind->holds)
            port->classes[class].lossless = VN_FLOW_CONTROL_credits;
        port->limit[class] = (uint64_t)buffer * FC_BLOCK;
    }
    return true;
}

static bool credit_fits(const struct vn_link *link, uint32_t bytes)
{
    return blocks(bytes) <= lanes_of(link)->buffer;
}

static void credit_limits(struct vn_context *context, uint32_t number)
{
    if (!vn_here(context, vn_link_of(context, number)->node)) return;
    for (uint32_t class = 0; class < VN_CLASSES; class++)
        close_starved(context, vn_link_of(context, number), class);
}

static uint64_t credit_stopped_since(const struct vn_context *context, uint32_t number,
                                     uint32_t class)
{
    return lane_of(vn_link_of(context, number), class)->closed_since;
}

static uint32_t credit_counts(uint32_t bytes) { return blocks(bytes); }

static bool credit_stays_closed(const struct vn_context *context, uint32_t number, uint32_t class,
                                uint64_t held)
{
    (void)class;
    return held + blocks(context->longest_frame) > lanes_of(vn_end_of(context, number))->buffer;
}

static void credit_sent(struct vn_context *context, struct vn_link *link, uint32_t class,
                        uint32_t id)
{
    struct vn_packet *packet = vn_packet_at(context, id);
    struct lane *lane = lane_of(link, class);
    VN_ASSERT(!vn_gate_closed(link, class) && lane->sent <= FC_MASK &&
              packet->bytes <= context->longest_frame);
    packet->class = class;
    lane->sent = (uint16_t)((lane->sent + blocks(packet->bytes)) & FC_MASK);
    close_starved(context, link, class);
}

/* ---- the far end ---- */

/* The FCCL to send, now. */
static uint16_t limit_now(const struct vn_link *end, uint32_t class)
{
    VN_ASSERT(end->classes[class].held_bytes <= (uint64_t)lanes_of(end)->buffer * FC_BLOCK);
    uint32_t room = lanes_of(end)->buffer - (uint32_t)(end->classes[class].held_bytes / FC_BLOCK);
    return (uint16_t)((lane_of(end, class)->received + (room < FC_MOST ? room : FC_MOST)) &
                      FC_MASK);
}

/* Sends a flow control packet for one lane. */
static void send_flow_control(struct vn_context *context, struct vn_link *end, uint32_t class)
{
    struct lane *lane = lane_of(end, class);
    lane->announced = limit_now(end, class);
    lane->last = context->now;
    uint32_t id = vn_packet_new(context);
    if (id == VN_NONE) return;
    struct vn_packet *packet = vn_packet_at(context, id);
    static const uint8_t zeros[VN_TEMPLATE_BYTES];
    uint8_t *frame = vn_fill(context, packet, zeros);
    memcpy(frame, "\x01\x80\xc2\x00\x00\x0e", 6); /* the nearest bridge */
    memcpy(frame + 6, "\x02\x50\x43\x4e", 4);
    vn_store16(frame + 10, end->port);
    vn_store16(frame + VN_TYPE, FC_TYPE);
    VN_ASSERT(lane->sent <= FC_MASK && lane->announced <= FC_MASK);
    vn_store32(frame + FC_WORD, (uint32_t)lane->sent << 16 | class << 12 | lane->announced);
    packet->bytes = FC_BYTES;
    packet->flow = VN_NONE;
    packet->data = false;
    lanes_of(end)->packets++;
    context->packets.flow_control++;
    vn_flow_control_send(context, end, id);
}

/* Says that FCCL has grown, if it has; not before `interval` is over. It never shrinks, but for a
 * packet that is in its buffer and not received yet (arrival), and then isn't told. */
static void tell(struct vn_context *context, struct vn_link *end, uint32_t class)
{
    struct lane *lane = lane_of(end, class);
    uint64_t interval = lanes_of(end)->interval;
    uint32_t grown = (uint32_t)(limit_now(end, class) - lane->announced) & FC_MASK;
    if (grown == 0 || grown > FC_MOST) return;
    if (context->now >= lane->last + interval) {
        send_flow_control(context, end, class);
    } else if (lane->due_at == VN_NEVER) {
        lane->due_at = lane->last + interval;
        vn_flow_control_refresh_at(context, end, class, lane->due_at);
    }
}

static void credit_refresh(struct vn_context *context, struct vn_link *end, uint32_t class)
{
    uint64_t period = lanes_of(end)->period;
    struct lane *lane = lane_of(end, class);
    if (lane->due_at == context->now) {
        lane->due_at = VN_NEVER;
        tell(context, end, class);
    }
    if (lane->periodic_at == context->now) {
        VN_ASSERT(lane->last <= context->now);
        if (context->now - lane->last >= period) send_flow_control(context, end, class);
        lane->periodic_at = lane->last + period;
        vn_flow_control_refresh_at(context, end, class, lane->periodic_at);
    }
}

static void credit_admitted(struct vn_context *context, struct vn_link *end, uint32_t class,
                            uint32_t bytes)
{
    struct vn_class *in = &end->classes[class];
    VN_ASSERT(in->held_bytes % FC_BLOCK == 0 && in->held_bytes <= in->held_max);
    in->held_bytes += (uint64_t)blocks(bytes) * FC_BLOCK;
    if (in->held_bytes > in->held_max) in->held_max = in->held_bytes;
    if (in->held_bytes <= end->limit[class]) return;
    vn_fail(context,
            "link %u class %u has %llu bytes in a buffer of %llu: the program queues them in "
            "another class than their lane",
            vn_into(context, end), class, (unsigned long long)in->held_bytes,
            (unsigned long long)end->limit[class]);
}

static void credit_departed(struct vn_context *context, struct vn_link *end, uint32_t class,
                            uint32_t bytes)
{
    struct vn_class *in = &end->classes[class];
    VN_ASSERT(in->held_bytes >= (uint64_t)blocks(bytes) * FC_BLOCK);
    in->held_bytes -= (uint64_t)blocks(bytes) * FC_BLOCK;
    VN_ASSERT(in->held_bytes % FC_BLOCK == 0);
    tell(context, end, class);
}

/* ---- what arrives ---- */

static bool credit_is_frame(const uint8_t *frame) { return vn_load16(frame + VN_TYPE) == FC_TYPE; }

static void credit_arrival(struct vn_context *context, struct vn_channel *channel, uint32_t id,
                           uint64_t late)
{
    struct vn_link *end = vn_end_of(context, channel->link);
    struct vn_packet *packet = vn_packet_at(context, id);
    uint32_t class = packet->class, n = blocks(packet->bytes);
    if (credit_is_frame(vn_frame(context, packet))) {
        uint32_t word = vn_load32(vn_frame(context, packet) + FC_WORD);
        class = word >> 12 & 15;
        VN_ASSERT(class < VN_CLASSES);
        lane_of(end, class)->received = word >> 16 & FC_MASK;
        vn_flow_control_arrived(context, channel->link, id, late);
    } else {
        VN_ASSERT(class < VN_CLASSES);
        context->nodes[channel->to].kind->take(context, channel, id);
        /* After the packet is in its buffer: no flow control packet may count it as received and
         * its place as free. */
        lane_of(end, class)->received = (uint16_t)((lane_of(end, class)->received + n) & FC_MASK);
    }
    tell(context, end, class);
}

static void credit_effect(struct vn_context *context, struct vn_link *end)
{
    uint32_t id = vn_fifo_pop(context, &end->arrived);
    uint32_t word = vn_load32(vn_frame(context, vn_packet_at(context, id)) + FC_WORD),
             class = word >> 12 & 15;
    context->packets.flow_control--;
    vn_flow_control_seen(context, end, id); /* a program drops it */
    struct lane *lane = lane_of(end, class);
    lane->limit = word & FC_MASK;
    if (!vn_gate_closed(end, class) || starved(context, lane)) return;
    VN_ASSERT(lane->closed_since <= context->now);
    vn_gate_open(context, end, class);
    lane->starved_ps += context->now - lane->closed_since;
    vn_gate_changed(context, end);
}

void vn_credit_stats(const struct vn_context *context, const struct vn_link *link,
                     struct vn_link_stats *out)
{
    if (!link->paid) return;
    out->fc_packets = lanes_of(link)->packets;
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        const struct lane *lane = lane_of(link, class);
        out->starved_ps += lane->starved_ps +
                           (vn_gate_closed(link, class) ? context->now - lane->closed_since : 0);
    }
}

static const struct vn_flow_control vn_flow_control_credits = {
    .admitted = credit_admitted,
    .departed = credit_departed,
    .refresh = credit_refresh,
    .is_frame = credit_is_frame,
    .arrival = credit_arrival,
    .effect = credit_effect,
    .sent = credit_sent,
    .fits = credit_fits,
    .limits = credit_limits,
    .stopped_since = credit_stopped_since,
    .counts = credit_counts,
    .stays_closed = credit_stays_closed,
    .paid = true,
};

int vn_set_credits(struct vn_context *context, uint32_t number, uint64_t buffer_bytes,
                   uint64_t interval_ps, uint64_t period_ps)
{
    if (context->pool.base != NULL)
        return vn_refuse(context, -EBUSY, "the network runs already: no link can be changed");
    if (number >= context->n_links || context->links[number].paid)
        return vn_refuse(context, -EINVAL, "no such link, or it has credits");
    if (interval_ps == 0 || period_ps == 0)
        return vn_refuse(context, -EINVAL, "flow control packets need an interval and a period");
    uint64_t buffer = buffer_bytes / FC_BLOCK;
    if (buffer < blocks(context->longest_frame) || buffer > UINT32_MAX)
        return vn_refuse(context, -EINVAL, "no such buffer");
    for (uint32_t i = 0; i < 2; i++) {
        if (!add_lanes(context, vn_link_of(context, number ^ i), (uint32_t)buffer, interval_ps,
                       period_ps))
            return vn_refuse(context, -ENOMEM, "out of memory");
    }
    return 0;
}
