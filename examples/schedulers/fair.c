/* Start-time fair queueing (Goyal, Vin, Cheng; SIGCOMM'96): while two flows wait, what one of them
 * gets differs from what the other gets by at most a frame of each. A packet's start tag is the end
 * tag of its flow's packet before it, or the virtual time where that is later; its end tag is one
 * frame further. The least start tag is next, and is then the virtual time. */
#include "flows.h"

/* Idle flows of a class. The virtual time stands while all packets are of new flows, as somebody may
 * send them; beyond so many the first to end are forgotten, and gain a frame at most. */
enum { MOST_IDLE = 4096 };

/* A flow's value: the end tag of its last packet; its rank: the start tag of its first one. Idle
 * flows are kept until the virtual time has passed their end tags, which are their ranks: one that
 * comes again too early pays for what it had. */
struct fair {
    struct flows flows[VN_CLASSES]; /* first: flows_of finds them */
    uint64_t now[VN_CLASSES]; /* the virtual time, in bytes */
};

static void *fair_make(const struct vn_node *node)
{
    (void)node;
    struct fair *fair = calloc(1, sizeof *fair);
    if (fair != NULL) flows_begin(fair->flows);
    return fair;
}

static void fair_push(struct vn_context *context, struct vn_link *link, uint32_t class, uint32_t id)
{
    struct flows *flows = flows_of(link, class);
    struct vn_packet *packet = vn_packet_at(context, id);
    uint64_t now = ((struct fair *)vn_queues_of(link))->now[class];
    uint64_t key = flow_key(context, packet);
    uint32_t number = flows_find(flows, key);
    bool known = number != VN_NONE;
    if (!known && (number = flows_add(context, flows, key)) == VN_NONE) return;
    struct flow *flow = &flows->all[number];
    if (flow->packets.packets == 0) {
        if (known) heap_remove(flows, &flows->idle, number);
        if (flow->value < now) flow->value = now;
        heap_add(flows, &flows->waiting, number, flow->value);
    }
    flow->value += packet->bytes;
    vn_fifo_push(context, &flow->packets, id);
}

static uint32_t fair_pop(struct vn_context *context, struct vn_link *link, uint32_t class)
{
    struct flows *flows = flows_of(link, class);
    uint64_t *now = &((struct fair *)vn_queues_of(link))->now[class];
    uint32_t number = flows->waiting.flows[0];
    struct flow *flow = &flows->all[number];
    uint32_t id = vn_fifo_pop(context, &flow->packets);
    *now = flow->rank;
    heap_remove(flows, &flows->waiting, number);
    if (flow->packets.packets != 0)
        heap_add(flows, &flows->waiting, number, *now + vn_packet_at(context, id)->bytes);
    else heap_add(flows, &flows->idle, number, flow->value);
    while (flows->idle.n != 0 &&
           (flows->idle.n > MOST_IDLE || flows->all[flows->idle.flows[0]].rank <= *now)) {
        uint32_t idle = flows->idle.flows[0];
        heap_remove(flows, &flows->idle, idle);
        flows_forget(flows, idle);
    }
    return id;
}

static const struct vn_scheduler vn_scheduler_fair = {
    .name = "fair",
    .make = fair_make,
    .push = fair_push,
    .pop = fair_pop,
    .for_each = flows_each,
    .end = flows_end,
};
