/* Shortest remaining processing time, as pFabric's switches have it (Alizadeh et al., SIGCOMM'13,
 * section 4): the flow with the least left to send is next, and of it the packet that came first, so
 * that a flow's packets stay in order. Where a class of bounded depth is full, the packet with the
 * most left is lost, unless the one that comes has as much.
 *
 * Packets report what their flow has left: RPs with `reports_left` (docs/schemes.md) have it stand
 * where a demand would. Packets that report nothing come last, in the order of their arrival. */
#include "flows.h"
#include "../../hosts/csrc/wire.h"

/* in WIRE_CREDIT_BYTES, with the packet itself */
static uint64_t srpt_left(const struct vn_context *context, struct vn_packet *packet)
{
    const uint8_t *frame = vn_frame(context, packet);
    bool says =
        packet->bytes >= WIRE_DEMAND + 4 && wire_load16(frame + WIRE_TYPE) == WIRE_TYPE_IPV4 &&
        wire_load16(frame + WIRE_DST_PORT) == WIRE_ROCE_PORT && frame[WIRE_BECN] & WIRE_HAS_CREDIT;
    return says ? wire_load32(frame + WIRE_DEMAND) : UINT32_MAX;
}

static void srpt_push(struct vn_context *context, struct vn_link *link, uint32_t class, uint32_t id)
{
    struct flows *flows = flows_of(link, class);
    struct vn_packet *packet = vn_packet_at(context, id);
    uint64_t left = srpt_left(context, packet),
             key = left == UINT32_MAX ? 0 : flow_key(context, packet);
    uint32_t number = flows_find(flows, key);
    if (number == VN_NONE) {
        if ((number = flows_add(context, flows, key)) == VN_NONE) return;
        heap_add(flows, &flows->waiting, number, left);
    } else if (left < flows->all[number].rank) { /* a packet that is sent again says more */
        flows->all[number].rank = left;
        heap_up(flows, &flows->waiting, number);
    }
    vn_fifo_push(context, &flows->all[number].packets, id);
}

static void srpt_took(struct flows *flows, uint32_t number)
{
    if (flows->all[number].packets.packets != 0) return;
    heap_remove(flows, &flows->waiting, number);
    flows_forget(flows, number);
}

static uint32_t srpt_pop(struct vn_context *context, struct vn_link *link, uint32_t class)
{
    struct flows *flows = flows_of(link, class);
    uint32_t number = flows->waiting.flows[0];
    uint32_t id = vn_fifo_pop(context, &flows->all[number].packets);
    srpt_took(flows, number);
    return id;
}

/* All flows are looked at, since a full queue is short. */
static uint32_t srpt_give_up(struct vn_context *context, struct vn_link *link, uint32_t class,
                             uint32_t id)
{
    struct flows *flows = flows_of(link, class);
    uint64_t most = srpt_left(context, vn_packet_at(context, id));
    uint32_t last = VN_NONE;
    for (uint32_t i = 0; i < flows->waiting.n; i++) {
        uint32_t number = flows->waiting.flows[i];
        uint32_t head = flows->all[number].packets.head;
        uint64_t left = srpt_left(context, vn_packet_at(context, head));
        if (left <= most) continue;
        most = left;
        last = number;
    }
    if (last == VN_NONE) return VN_NONE;
    uint32_t lost = vn_fifo_pop(context, &flows->all[last].packets);
    srpt_took(flows, last);
    return lost;
}

static const struct vn_scheduler vn_scheduler_srpt = {
    .name = "srpt",
    .make = flows_make,
    .push = srpt_push,
    .pop = srpt_pop,
    .for_each = flows_each,
    .end = flows_end,
    .give_up = srpt_give_up,
    .reads_left = true,
};
