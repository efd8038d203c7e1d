/* Links in memory (channel.h), from the switch's side: between switches of a process, and to
 * other processes, agents of hosts or switches, which share the memory; a socket, the bell,
 * wakes the other end and reports that it has ended.
 *
 * A frame gets its arrival time when it starts on the wire, and the peer processes it at that
 * time (in_time.c), even if it comes to it later. */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"
#include "worker.h"

_Static_assert((int)SW_CHANNEL_LONGEST == (int)SW_MAX_FRAME, "every frame fits");

static void add_channels(struct sw_switch *sw, struct sw_port *port, struct sw_channel *in,
                         struct sw_channel *out)
{
    port->channel_in = in;
    port->channel_out = out;
    sw->channels[sw->n_channels++] = port->port;
    sw_watchers_ask(sw);
}

int sw_connect(struct sw_switch *near, uint16_t port, struct sw_switch *far, uint16_t far_port)
{
    if (near->running || far->running || near->manual || far->manual) return -EBUSY;
    struct sw_port *a = sw_port_of(near, port), *b = sw_port_of(far, far_port);
    if (a == NULL || b == NULL || a == b) return -EINVAL;
    if (a->channel_in != NULL || b->channel_in != NULL) return -EEXIST;
    struct sw_channel *there = sw_channel_new(), *back = sw_channel_new();
    if (there == NULL || back == NULL) {
        sw_channel_free(there);
        sw_channel_free(back);
        return -ENOMEM;
    }
    a->peer = far;
    b->peer = near;
    add_channels(near, a, back, there); /* the receiving port frees it */
    add_channels(far, b, there, back);
    return 0;
}

int sw_connect_process(struct sw_switch *sw, uint16_t number, int memory, int bell, uint32_t end)
{
    struct sw_port *port = sw->running || sw->manual ? NULL : sw_port_of(sw, number);
    if (port == NULL || end > 1) return -EINVAL;
    if (port->channel_in != NULL) return -EEXIST;
    struct sw_channel *both = sw_channels_map(memory);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = SW_BELLS + number};
    if (both == NULL || epoll_ctl(sw->epoll, EPOLL_CTL_ADD, bell, &event) != 0) {
        int code = errno;
        sw_channels_unmap(both);
        return -code;
    }
    port->to_process = true;
    port->bell = bell;
    add_channels(sw, port, &both[end], &both[1 - end]);
    return 0;
}

void sw_disconnect(struct sw_port *port)
{
    if (port->to_process)
        sw_channels_unmap(port->channel_in < port->channel_out ? port->channel_in
                                                               : port->channel_out);
    else sw_channel_free(port->channel_in);
    if (port->bell >= 0) close(port->bell);
    port->channel_in = port->channel_out = NULL;
    port->bell = -1;
}

void sw_bell_rang(struct sw_switch *sw, struct sw_port *port)
{
    char signs[64];
    ssize_t n;
    while ((n = recv(port->bell, signs, sizeof signs, MSG_DONTWAIT)) > 0) continue;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    close(port->bell); /* this removes it from the epoll set */
    port->bell = -1;
    sw_notice(sw, "port %u: the process at its other end has ended; what is for it leaves by %s",
              port->port, port->interface);
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

/* Nobody takes what is put any more. */
static bool is_over(const struct sw_port *port) { return port->to_process && port->bell < 0; }

bool sw_port_full(const struct sw_port *port)
{
    return port->channel_out != NULL && !is_over(port) && !sw_channel_room(port->channel_out);
}

/* ---- sending ---- */

bool sw_port_in_memory(const struct sw_port *port, const struct sw_tm_port *queues)
{
    if (port->channel_out == NULL || !port->open || is_over(port)) return false;
    /* After a time in the kernel, what is on the delay line leaves first. */
    return !__atomic_load_n(&port->channel_out->watched, __ATOMIC_RELAXED) &&
           queues->delay_line.head == NULL;
}

/* A frame arrives at another process: wakes it, if it would sleep longer. */
static void expect(const struct sw_port *port, uint64_t at_ns)
{
    /* the frame is there before the other end's sleep is looked at */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&port->channel_out->sleeps_until_ns, __ATOMIC_SEQ_CST) <= at_ns) return;
    /* full: signs are there; over: it says so to epoll */
    ssize_t ignored = send(port->bell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)ignored;
}

void sw_port_deliver(struct sw_switch *sw, struct sw_port *port, struct sw_pkt *pkt)
{
    if (port->running) {
        port->stats.tx_packets++;
        port->stats.tx_bytes += pkt->p.length;
        sw_captured(sw, port, true, pkt);
        memcpy(sw_channel_begin(port->channel_out), pkt->p.data, pkt->p.length);
        uint64_t at_ns = sw_channel_end(port->channel_out, pkt->p.length, pkt->due_ns);
        if (port->to_process) expect(port, at_ns);
        else sw_worker_expect(sw, port->peer, at_ns);
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
        uint32_t length;
        const uint8_t *frame = sw_channel_first(channel, &length);
        struct sw_pkt *pkt = sw_pkt_copy_bytes(&sw->pool, frame, length);
        sw_channel_drop(channel, length);
        if (!port->running) {
            __atomic_fetch_add(&channel->lost, 1, __ATOMIC_RELAXED);
            if (pkt != NULL) sw_pkt_free(&sw->pool, pkt);
        } else if (pkt == NULL || sw->instance == NULL) {
            port->stats.rx_dropped++;
            if (pkt != NULL) sw_pkt_free(&sw->pool, pkt);
        } else {
            port->stats.rx_packets++;
            port->stats.rx_bytes += pkt->p.length;
            sw_pace_note(&sw->pace, now_ns, at_ns + sw_in_time_ns(sw));
            sw_captured(sw, port, false, pkt);
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
    } request = {{.nlmsg_len = sizeof request,
                  .nlmsg_type = RTM_GETLINK,
                  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
                 {0}};
    if (sw->n_channels == 0) return;
    /* no answer: as before */
    ssize_t ignored = send(sw->netlink, &request, sizeof request, MSG_DONTWAIT);
    (void)ignored;
}

static void note(struct sw_switch *sw, int index, uint32_t promiscuity)
{
    for (uint32_t i = 0; i < sw->n_channels; i++) {
        const struct sw_port *port = sw->ports[sw->channels[i]];
        if (!port->open || port->ifindex != index) continue;
        /* the port's own socket is one */
        __atomic_store_n(&port->channel_in->watched, promiscuity > 1, __ATOMIC_RELAXED);
    }
}

void sw_watchers_note(struct sw_switch *sw, const void *messages, size_t length)
{
    if (sw->n_channels == 0) return;
    int left = (int)length;
    for (const struct nlmsghdr *header = messages; NLMSG_OK(header, (unsigned)left);
         header = NLMSG_NEXT(header, left)) {
        if (header->nlmsg_type != RTM_NEWLINK) continue;
        const struct ifinfomsg *link = NLMSG_DATA(header);
        int rest = (int)IFLA_PAYLOAD(header);
        for (const struct rtattr *attribute = IFLA_RTA(link); RTA_OK(attribute, rest);
             attribute = RTA_NEXT(attribute, rest)) {
            uint32_t promiscuity;
            if (attribute->rta_type != IFLA_PROMISCUITY ||
                RTA_PAYLOAD(attribute) < sizeof promiscuity)
                continue;
            memcpy(&promiscuity, RTA_DATA(attribute), sizeof promiscuity);
            note(sw, link->ifi_index, promiscuity);
        }
    }
}
