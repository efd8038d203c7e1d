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

/* A flow has two entries, which are each other's value: its own, which waits, by the least that its
 * packets have left; and a twin among the idle ones, by what its first packet has left, the most first:
 * what a full queue gives up. */
static void srpt_push(struct vn_context *context, struct vn_link *link, uint32_t class, uint32_t id)
{
    struct flows *flows = flows_of(link, class);
    struct vn_packet *packet = vn_packet_at(context, id);
    uint64_t left = srpt_left(context, packet),
             key = left == UINT32_MAX ? 0 : flow_key(context, packet);
    uint32_t number = flows_find(flows, key), twin;
    if (number == VN_NONE) {
        if ((number = flows_add(context, flows, key)) == VN_NONE ||
            (twin = flows_add(context, flows, ~key)) == VN_NONE)
            return;
        flows->all[number].value = twin;
        flows->all[twin].value = number;
        heap_add(flows, &flows->waiting, number, left);
        heap_add(flows, &flows->idle, twin, ~left);
    } else if (left < flows->all[number].rank) { /* a packet that is sent again says more */
        flows->all[number].rank = left;
        heap_up(flows, &flows->waiting, number);
    }
    vn_fifo_push(context, &flows->all[number].packets, id);
}

static uint32_t srpt_take(struct vn_context *context, struct flows *flows, uint32_t number)
{
    const struct vn_fifo *packets = &flows->all[number].packets;
    uint32_t twin = (uint32_t)flows->all[number].value;
    uint32_t id = vn_fifo_pop(context, &flows->all[number].packets);
    heap_remove(flows, &flows->idle, twin);
    if (packets->packets != 0) {
        uint64_t left = srpt_left(context, vn_packet_at(context, packets->head));
        heap_add(flows, &flows->idle, twin, ~left);
        return id;
    }
    heap_remove(flows, &flows->waiting, number);
    flows_forget(flows, number);
    flows_forget(flows, twin);
    return id;
}

static uint32_t srpt_pop(struct vn_context *context, struct vn_link *link, uint32_t class)
{
    struct flows *flows = flows_of(link, class);
    return srpt_take(context, flows, flows->waiting.flows[0]);
}

static uint32_t srpt_give_up(struct vn_context *context, struct vn_link *link, uint32_t class,
                             uint32_t id)
{
    struct flows *flows = flows_of(link, class);
    if (flows->idle.n == 0) return VN_NONE;
    const struct flow *twin = &flows->all[flows->idle.flows[0]];
    if (~twin->rank <= srpt_left(context, vn_packet_at(context, id))) return VN_NONE;
    return srpt_take(context, flows, (uint32_t)twin->value);
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
