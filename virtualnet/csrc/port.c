/* A switch's ports: strict priorities among the classes that the gate lets pass, and flow control's own frames before all. The
 * program's egress runs when a packet starts to leave.
 *
 * A recirculated packet uses no time of the wire, but its class waits as long as if it had, as in the live switch. */
#include "gate.h"
#include "scheduler.h"

void vn_port_admit(struct vn_net *net, uint32_t number, uint32_t id, uint32_t class)
{
    struct vn_link *link = vn_link_of(net, number);
    vn_packet_at(net, id)->enq_qdepth = vn_scheduler_waiting(link, class) & 0x7ffffu; /* bit<19> */
    if (!vn_scheduler_admit(net, link, class, id)) {
        link->refused++;
        vn_packet_free(net, id);
        return;
    }
    if (!link->pending) vn_port_serve(net, link, number);
}

static void serve_at(struct vn_net *net, struct vn_link *link, uint32_t number, uint64_t time)
{
    if (link->pending) return;
    link->pending = true;
    vn_at(net, time, VN_EV_PORT, number);
}

/* Without the classes that still wait for what was recirculated; `next`: when the first of them is done, or as it was. */
static uint32_t without_recirculating(struct vn_link *link, uint32_t classes, uint64_t now, uint64_t *next)
{
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        if (!(link->recirculating >> class & 1)) continue;
        if (link->recirculated[class] <= now) {
            link->recirculating &= (uint8_t)~(1u << class);
        } else if (classes >> class & 1) {
            classes &= ~(1u << class);
            if (link->recirculated[class] < *next) *next = link->recirculated[class];
        }
    }
    return classes;
}

static void serve(struct vn_net *net, struct vn_link *link, uint32_t number)
{
    while (link->up && !net->failed) {
        uint32_t classes = vn_gate_passes(link, link->waiting);
        if (classes == 0 && !link->urgent) return;
        if (net->now < link->free) {
            serve_at(net, link, number, link->free);
            return;
        }
        if (link->urgent) {
            vn_transmit(net, link, vn_urgent_pop(net, link));
            continue;
        }
        uint64_t next = VN_NEVER;
        if (link->recirculating != 0) classes = without_recirculating(link, classes, net->now, &next);
        if (classes == 0) {
            serve_at(net, link, number, next);
            return;
        }
        uint32_t class = 31u - (uint32_t)__builtin_clz(classes);
        link->last_class = (uint8_t)class;
        struct vn_departure departure = vn_scheduler_next(net, link, class);
        enum vn_verdict verdict =
            vn_hop_egress(net, &net->nodes[link->node], link->port, departure.packet, class, departure.left);
        if (verdict == VN_RECIRCULATED) {
            link->recirculating |= (uint8_t)(1u << class);
            link->recirculated[class] = net->now + vn_duration(link, departure.bytes);
            continue;
        }
        if (verdict == VN_SEND) vn_transmit(net, link, departure.packet);
        vn_scheduler_release(net, class, &departure);
    }
}

void vn_port_serve(struct vn_net *net, struct vn_link *link, uint32_t number)
{
    if (link->serving) return; /* called from inside: a packet that leaves had another one admitted */
    link->serving = true;
    serve(net, link, number);
    link->serving = false;
}
