/* What events will touch is brought near before they happen: a network's state is larger than the caches, and each miss
 * would cost more than all else that an event does. What an event touches is found step by step, so each bucket of the
 * wheel is looked at four times before its turn comes. Nothing here changes a result. */
#include "net.h"

/* A compiler takes a function that only prefetches for one without effect, and drops its calls. */
#define VN_ALWAYS static inline __attribute__((always_inline))

enum {
    MANY_FLOWS = 4, /* of a NIC: those that follow are not worth it */
    LARGE = 1 << 20 /* bytes of packets; what is smaller stays in the caches by itself */
};

VN_ALWAYS void fetch_packet(const struct vn_net *net, uint32_t id)
{
    const struct vn_packet *packet = vn_packet_at(net, id);
    __builtin_prefetch(packet, 1);
    __builtin_prefetch(packet + 1, 1);
}

/* The link of an event. */
VN_ALWAYS void look_first(const struct vn_net *net, uint64_t key)
{
    enum vn_kind kind = (enum vn_kind)(key >> 32);
    if (kind != VN_EV_ARRIVAL && kind != VN_EV_PORT && kind != VN_EV_NIC) return;
    const struct vn_link *link = &net->links[(uint32_t)key];
    __builtin_prefetch(link, 1);
    __builtin_prefetch(&link->packets, 1);
}

/* What the link names. */
VN_ALWAYS void look_second(const struct vn_net *net, uint64_t key)
{
    enum vn_kind kind = (enum vn_kind)(key >> 32);
    if (kind != VN_EV_ARRIVAL && kind != VN_EV_PORT && kind != VN_EV_NIC) return;
    const struct vn_link *link = &net->links[(uint32_t)key];
    if (kind == VN_EV_ARRIVAL) {
        fetch_packet(net, link->wire.head);
    } else if (kind == VN_EV_PORT) {
        if (link->waiting != 0) __builtin_prefetch(&link->classes[31 - __builtin_clz(link->waiting)], 1);
    } else {
        const struct vn_node *node = &net->nodes[link->node];
        for (uint32_t i = 0; i < node->n_flows && i < MANY_FLOWS; i++) {
            __builtin_prefetch(&net->flows[node->flows[i]], 1);
            __builtin_prefetch(&net->flows[node->flows[i]].priority, 1);
        }
    }
}

VN_ALWAYS void prepare_program(const struct vn_net *net, const struct vn_link *link, struct vn_packet *packet, bool entries)
{
    const struct sw_instance *instance = net->nodes[link->to].instance;
    instance->program->inplace->prepare(instance, vn_frame(net, packet), link->to_port, entries);
}

/* What that names. */
VN_ALWAYS void look_third(const struct vn_net *net, uint64_t key)
{
    enum vn_kind kind = (enum vn_kind)(key >> 32);
    if (kind != VN_EV_ARRIVAL && kind != VN_EV_PORT) return;
    const struct vn_link *link = &net->links[(uint32_t)key];
    if (kind == VN_EV_PORT) {
        if (link->waiting != 0) fetch_packet(net, link->classes[31 - __builtin_clz(link->waiting)].queue.head);
        return;
    }
    struct vn_packet *packet = vn_packet_at(net, link->wire.head);
    if (link->wire.packets > 1) __builtin_prefetch(vn_packet_at(net, packet->next));
    if (!link->to_host) {
        __builtin_prefetch(&link->classes[(vn_frame(net, packet)[15] >> 5)], 1);
        if (net->inplace) prepare_program(net, link, packet, false);
    } else if (packet->data) {
        __builtin_prefetch(&net->flows[packet->flow].window_end, 1);
        __builtin_prefetch(&net->flows[packet->flow].expected, 1);
    }
}

/* Entries of tables. */
VN_ALWAYS void look_fourth(const struct vn_net *net, uint64_t key)
{
    if (key >> 32 != VN_EV_ARRIVAL || !net->inplace) return;
    const struct vn_link *link = &net->links[(uint32_t)key];
    if (!link->to_host) prepare_program(net, link, vn_packet_at(net, link->wire.head), true);
}

/* An event of each of the four buckets that follow, every time that one happens: a processor takes few requests of
 * memory at once. Events of these buckets don't go before their bucket's turn. */
VN_ALWAYS void look_ahead(struct vn_net *net)
{
    const struct vn_slot *slots = net->queue.slots;
    uint32_t *ahead = net->ahead;
    if (ahead[0] != 0) {
        look_fourth(net, slots[ahead[0]].key);
        ahead[0] = slots[ahead[0]].next;
    }
    if (ahead[1] != 0) {
        look_third(net, slots[ahead[1]].key);
        ahead[1] = slots[ahead[1]].next;
    }
    if (ahead[2] != 0) {
        look_second(net, slots[ahead[2]].key);
        ahead[2] = slots[ahead[2]].next;
    }
    if (ahead[3] != 0) {
        look_first(net, slots[ahead[3]].key);
        ahead[3] = slots[ahead[3]].next;
    }
}

/* When a bucket's turn comes. */
VN_ALWAYS void look_farther(struct vn_net *net)
{
    if (net->n_packets * net->stride < LARGE) return;
    while (net->ahead[0] != 0 || net->ahead[1] != 0 || net->ahead[2] != 0 || net->ahead[3] != 0) look_ahead(net);
    if (net->queue.summary == 0) return;
    uint32_t at = (uint32_t)net->queue.cursor % VN_BUCKETS;
    for (uint32_t i = 0; i < 4; i++) {
        at = vn_bucket_after(&net->queue, at);
        net->ahead[i] = net->queue.heads[at];
    }
}
