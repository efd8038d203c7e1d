/* Links in memory between switches of a process (channel.h), from the switch's side.
 *
 * A frame gets its arrival time when it starts on the wire, and the peer processes it at that time (in_time.c), even if it comes to
 * it later. */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "internal.h"
#include "worker.h"

int sw_connect(struct sw_switch *one, uint16_t port, struct sw_switch *other, uint16_t other_port)
{
    if (one->running || other->running || one->manual || other->manual) return -EBUSY;
    struct sw_port *a = sw_port_of(one, port), *b = sw_port_of(other, other_port);
    if (a == NULL || b == NULL || a == b) return -EINVAL;
    if (a->peer != NULL || b->peer != NULL) return -EEXIST;
    struct sw_channel *there = sw_channel_new(), *back = sw_channel_new();
    if (there == NULL || back == NULL) {
        sw_channel_free(there);
        sw_channel_free(back);
        return -ENOMEM;
    }
    a->channel_out = b->channel_in = there; /* the receiving port frees it */
    b->channel_out = a->channel_in = back;
    a->peer = other;
    b->peer = one;
    one->channels[one->n_channels++] = port;
    other->channels[other->n_channels++] = other_port;
    sw_watchers_ask(one);
    sw_watchers_ask(other);
    return 0;
}

uint64_t sw_channels_next(const struct sw_switch *sw)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < sw->n_channels; i++) {
        uint64_t at = sw_channel_next(sw->ports[sw->channels[i]]->channel_in);
        if (at < first) first = at;
    }
    return first;
}

bool sw_port_full(const struct sw_port *port) { return port->channel_out != NULL && !sw_channel_room(port->channel_out); }

/* ---- sending ---- */

bool sw_port_in_memory(const struct sw_port *port, const struct sw_tm_port *queues)
{
    if (port->channel_out == NULL || !port->open) return false;
    /* After a time in the kernel, what is on the delay line leaves first. */
    return !__atomic_load_n(&port->channel_out->watched, __ATOMIC_RELAXED) && queues->delay_line.head == NULL;
}

void sw_port_deliver(struct sw_switch *sw, struct sw_port *port, struct sw_pkt *pkt)
{
    if (port->running) {
        port->stats.tx_packets++;
        port->stats.tx_bytes += pkt->p.length;
        uint64_t at_ns = sw_channel_put(port->channel_out, pkt->p.data, pkt->p.length, pkt->due_ns);
        sw_worker_expect(sw, port->peer, at_ns);
    } else {
        port->stats.tx_dropped++;
    }
    sw_pkt_free(&sw->pool, pkt);
}

/* ---- receiving ---- */

void sw_channel_receive(struct sw_switch *sw, struct sw_port *port, uint64_t now_ns)
{
    struct sw_channel *channel = port->channel_in;
    uint64_t at_ns;
    while ((at_ns = sw_channel_next(channel)) <= sw->clock_ns) {
        struct sw_pkt *pkt = sw_channel_take(channel, &sw->pool);
        if (!port->running) {
            __atomic_fetch_add(&channel->lost, 1, __ATOMIC_RELAXED);
            if (pkt != NULL) sw_pkt_free(&sw->pool, pkt);
        } else if (pkt == NULL || sw->instance == NULL) {
            port->stats.rx_dropped++;
            if (pkt != NULL) sw_pkt_free(&sw->pool, pkt);
        } else {
            port->stats.rx_packets++;
            port->stats.rx_bytes += pkt->p.length;
            sw_pace_note(&sw->pace, now_ns, at_ns);
            sw_receive(sw, pkt, port->port);
        }
    }
}

/* ---- who listens ---- */

void sw_watchers_ask(const struct sw_switch *sw)
{
    struct {
        struct nlmsghdr header;
        struct ifinfomsg link;
    } request = {{.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}, {0}};
    if (sw->n_channels == 0) return;
    ssize_t ignored = send(sw->netlink, &request, sizeof request, MSG_DONTWAIT); /* no answer: as before */
    (void)ignored;
}

static void note(struct sw_switch *sw, int index, uint32_t promiscuity)
{
    for (uint32_t i = 0; i < sw->n_channels; i++) {
        const struct sw_port *port = sw->ports[sw->channels[i]];
        if (!port->open || port->ifindex != index) continue;
        __atomic_store_n(&port->channel_in->watched, promiscuity > 1, __ATOMIC_RELAXED); /* the port's own socket is one */
    }
}

void sw_watchers_note(struct sw_switch *sw, const void *messages, size_t length)
{
    if (sw->n_channels == 0) return;
    int left = (int)length;
    for (const struct nlmsghdr *header = messages; NLMSG_OK(header, (unsigned)left); header = NLMSG_NEXT(header, left)) {
        if (header->nlmsg_type != RTM_NEWLINK) continue;
        const struct ifinfomsg *link = NLMSG_DATA(header);
        int rest = (int)IFLA_PAYLOAD(header);
        for (const struct rtattr *one = IFLA_RTA(link); RTA_OK(one, rest); one = RTA_NEXT(one, rest)) {
            uint32_t promiscuity;
            if (one->rta_type != IFLA_PROMISCUITY || RTA_PAYLOAD(one) < sizeof promiscuity) continue;
            memcpy(&promiscuity, RTA_DATA(one), sizeof promiscuity);
            note(sw, link->ifi_index, promiscuity);
        }
    }
}
