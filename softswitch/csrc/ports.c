/* Live ports: packet sockets, with a receive ring (ring.c) and batched sending. */
#define _GNU_SOURCE /* sendmmsg, setns */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

enum {
    /* limit of a receive buffer; the kernel takes memory only as packets wait */
    SOCKET_BYTES = 32 << 20,
    BLOCKED_LIMIT_NS = 1000000000, /* a frame that the interface refuses for so long is dropped */
    SLEEP_NS = 1000000,            /* between two attempts where the clock is manual */
    CHECK_NS = 1000000000,        /* how often to check for a lost interface */
};

struct sw_port *sw_port_new(struct sw_switch *sw, uint32_t number)
{
    if (number >= SW_MAX_PORTS) return NULL;
    struct sw_port *port = calloc(1, sizeof *port);
    if (port == NULL) return NULL;
    port->port = (uint16_t)number;
    port->fd = port->sender = port->bell = -1;
    sw->ports[number] = port;
    sw->active[sw->n_active++] = (uint16_t)number;
    return port;
}

/* ---- opening and closing ---- */

static int fail(char *error, const char *step, const char *interface)
{
    int code = errno;
    snprintf(error, SW_ERROR_BYTES, "%s %s: %s%s", step, interface, strerror(code),
             code == EPERM || code == EACCES ? "; run as root (CAP_NET_RAW is needed)" : "");
    return -code;
}

static int set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value);
}

/* The longest frame by the interface's MTU, with a VLAN tag. If the MTU is unknown, any length. */
static size_t longest_frame(int fd, const char *interface)
{
    struct ifreq request = {0};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
    return ioctl(fd, SIOCGIFMTU, &request) == 0 ? ETH_HLEN + SW_VLAN_TAG + (size_t)request.ifr_mtu
                                                : SIZE_MAX;
}

/* An interface's index; 0: it doesn't exist. Works on any open socket, so it also works at the
 * limit of descriptors. */
static int index_of(int fd, const char *interface)
{
    struct ifreq request = {0};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
    return ioctl(fd, SIOCGIFINDEX, &request) == 0 ? request.ifr_ifindex : 0;
}

/* Frames leave by a socket of their own, as one with PACKET_VNET_HDR wants a descriptor before
 * each: 2 to 4 % more time a frame. Protocol 0: nothing comes in. The kernel's own limit of its
 * buffer: what waits for a rate that `tc` gave the interface should wait in the switch's queue,
 * where programs see it. -1 and errno if it can't be made. */
static int open_sender(int index)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = index};
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    int code = errno;
    close(fd);
    errno = code;
    return -1;
}

static int open_interface(struct sw_switch *sw, struct sw_port *port, char *error)
{
    const char *name = port->interface;
    if (sw->netns >= 0 && setns(sw->netns, CLONE_NEWNET) != 0)
        return fail(error, "cannot enter the network namespace of", name);
    if ((errno = sw_descriptors_open(sw)) != 0) return fail(error, "cannot wait for", name);
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return fail(error, "cannot open a packet socket for", name);
    int status = 0, sender = -1;
    int index = index_of(fd, name);
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = index};
    struct packet_mreq promiscuous = {.mr_ifindex = index, .mr_type = PACKET_MR_PROMISC};
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = port->port};
    if (index == 0) {
        status = fail(error, "no interface", name);
    } else if (set(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1) != 0 ||
               setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous,
                          sizeof promiscuous) != 0) {
        status = fail(error, "cannot set up the packet socket of", name);
    } else {
        /* Without CAP_NET_ADMIN, up to the system's limit. */
        if (set(fd, SOL_SOCKET, SO_RCVBUFFORCE, SOCKET_BYTES) != 0)
            set(fd, SOL_SOCKET, SO_RCVBUF, SOCKET_BYTES);
        if ((sender = open_sender(index)) < 0) {
            status = fail(error, "cannot open a packet socket for", name);
        } else if ((errno = -sw_ring_open(&port->ring, fd, port->ring_frames,
                                          port->longest = longest_frame(fd, name))) != 0) {
            status = fail(error, "cannot make the receive ring of", name);
        } else if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
            status = fail(error, "cannot bind to", name);
        } else if (epoll_ctl(sw->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
            status = fail(error, "cannot wait for", name);
        }
    }
    if (status != 0) {
        sw_ring_close(&port->ring);
        if (sender >= 0) close(sender);
        close(fd);
        return status;
    }
    port->fd = fd;
    port->sender = sender;
    port->ifindex = index;
    /* until the next check: right after it came up, a link may be reported as down */
    port->open = port->running = true;
    return 0;
}

void sw_port_close(struct sw_switch *sw, struct sw_port *port)
{
    sw_ring_close(&port->ring);
    if (port->fd >= 0) close(port->fd); /* this removes it from the epoll set */
    if (port->sender >= 0) close(port->sender);
    port->fd = port->sender = -1;
    port->open = false;
    port->stats.tx_dropped += port->out.count;
    sw_fifo_free(&sw->pool, &port->out);
    port->blocked_ns = 0;
}

int sw_port_add(struct sw_switch *sw, uint16_t number, const char *interface, uint32_t ring_frames,
                char error[SW_ERROR_BYTES])
{
    error[0] = 0;
    if (number >= SW_MAX_PORTS) {
        snprintf(error, SW_ERROR_BYTES, "port %u can't be used: ports are 0 to %d", number,
                 SW_MAX_PORTS - 1);
        return -EINVAL;
    }
    if (interface == NULL && !sw->manual) {
        snprintf(error, SW_ERROR_BYTES,
                 "port %u needs an interface: only a switch on the manual clock has ports without",
                 number);
        return -EINVAL;
    }
    if (interface != NULL && strlen(interface) >= IFNAMSIZ) {
        snprintf(error, SW_ERROR_BYTES, "no interface has a name as long as %.64s", interface);
        return -EINVAL;
    }
    sw_lock(sw);
    int status;
    struct sw_port *port = sw_port_of(sw, number);
    if (port == NULL) {
        status = -ENOMEM;
        snprintf(error, SW_ERROR_BYTES, "out of memory");
    } else if (port->present || port->no_interface) {
        status = -EEXIST;
        snprintf(error, SW_ERROR_BYTES, "port %u has the interface %s already", number,
                 port->no_interface ? "none" : port->interface);
    } else if (interface == NULL) {
        status = 0;
        port->no_interface = true;
    } else {
        snprintf(port->interface, sizeof port->interface, "%s", interface);
        port->ring_frames = ring_frames;
        status = open_interface(sw, port, error);
        port->present = status == 0;
    }
    if (status == 0 && sw->engine != NULL) sw->engine->flush(sw->engine); /* it has a port more */
    sw_unlock(sw);
    if (status == 0) sw_wake(sw);
    return status;
}

int sw_port_remove(struct sw_switch *sw, uint16_t number, char error[SW_ERROR_BYTES])
{
    error[0] = 0;
    sw_lock(sw);
    struct sw_port *port = number < SW_MAX_PORTS ? sw->ports[number] : NULL;
    int status = 0;
    if (port == NULL || !port->present) {
        snprintf(error, SW_ERROR_BYTES, "port %u has no interface", number);
        status = -ENOENT;
    } else {
        sw_port_close(sw, port);
        port->present = false;
    }
    sw_unlock(sw);
    return status;
}

/* ---- interfaces that vanish and return ---- */

static void interface_lost(struct sw_switch *sw, struct sw_port *port)
{
    sw_port_close(sw, port);
    sw_notice(sw, "port %u: interface %s is gone; the other ports go on", port->port,
              port->interface);
}

/* An interface with unknown flags counts as up. */
static bool is_running(const struct sw_port *port)
{
    struct ifreq request = {0};
    memcpy(request.ifr_name, port->interface, sizeof port->interface);
    if (ioctl(port->fd, SIOCGIFFLAGS, &request) != 0) return true;
    return (request.ifr_flags & IFF_UP) && (request.ifr_flags & IFF_RUNNING);
}

static void check_carrier(struct sw_switch *sw, struct sw_port *port)
{
    bool running = is_running(port);
    if (running == port->running) return;
    port->running = running;
    if (port->to_process) port->channel_in->down = !running;
    if (running) {
        sw_notice(
            sw, "port %u: interface %s is up again; %llu frames that were to leave by it were lost",
            port->port, port->interface,
            (unsigned long long)(port->stats.tx_dropped - port->dropped_at_down));
    } else {
        port->dropped_at_down = port->stats.tx_dropped;
        sw_notice(sw, "port %u: interface %s is down; what is to leave by it is lost", port->port,
                  port->interface);
    }
}

int sw_links_open(void)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0) return -errno;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    int code = errno;
    close(fd);
    return -code;
}

static void reopen_interface(struct sw_switch *sw, struct sw_port *port)
{
    char error[SW_ERROR_BYTES];
    if (index_of(sw->netlink, port->interface) == 0) {
        port->open_failure_logged = false;
    } else if (open_interface(sw, port, error) == 0) {
        port->open_failure_logged = false;
        sw_notice(sw, "port %u: interface %s is back", port->port, port->interface);
    } else if (!port->open_failure_logged) {
        port->open_failure_logged = true;
        sw_notice(sw, "port %u: interface %s is back, but %s; tried again every second", port->port,
                  port->interface, error);
    }
}

static void check_links(struct sw_switch *sw)
{
    sw->links_checked_ns = sw_clock_ns();
    for (uint32_t i = 0; i < sw->n_active; i++) {
        struct sw_port *port = sw->ports[sw->active[i]];
        if (!port->present) continue;
        if (port->open && index_of(sw->netlink, port->interface) != port->ifindex)
            interface_lost(sw, port);
        if (port->open) check_carrier(sw, port);
        else reopen_interface(sw, port);
    }
}

/* Reads the netlink messages, some of which may be lost, and checks every port. */
void sw_links_changed(struct sw_switch *sw)
{
    _Alignas(struct nlmsghdr) char buffer[16384];
    ssize_t n;
    bool lost = false;
    do {
        n = recv(sw->netlink, buffer, sizeof buffer, MSG_DONTWAIT);
        if (n > 0) sw_watchers_note(sw, buffer, (size_t)n);
        else lost |= errno == ENOBUFS;
    } while (n > 0 || (n < 0 && errno == ENOBUFS));
    if (lost) sw_watchers_ask(sw);
    check_links(sw);
}

uint64_t sw_links_retry(struct sw_switch *sw)
{
    for (uint32_t i = 0; i < sw->n_active; i++) {
        const struct sw_port *port = sw->ports[sw->active[i]];
        if (!port->present || port->open) continue;
        if (sw_clock_ns() - sw->links_checked_ns >= CHECK_NS) check_links(sw);
        return sw->links_checked_ns + CHECK_NS;
    }
    return UINT64_MAX;
}

/* ---- receiving ---- */

void sw_port_clear_error(struct sw_port *port)
{
    int code;
    socklen_t size = sizeof code;
    /* clears it, or EPOLLERR would repeat for ever */
    getsockopt(port->fd, SOL_SOCKET, SO_ERROR, &code, &size);
}

/* Counts frames that found the ring full, and logs the first loss. */
static void count_ring_drops(struct sw_switch *sw, struct sw_port *port)
{
    uint32_t lost_frames = sw_ring_drops(port->fd);
    if (lost_frames != 0 && !port->loss_logged) {
        port->loss_logged = true;
        sw_notice(sw, "port %u: frames come faster than the switch takes them; %u were lost",
                  port->port, lost_frames);
    }
    port->stats.rx_dropped += lost_frames;
}

/* Says once what ends the loss of frames that can't be cut. */
static void note_refused(struct sw_switch *sw, struct sw_port *port)
{
    port->ring.refused = false;
    if (port->refusal_logged) return;
    port->refusal_logged = true;
    sw_notice(sw,
              "port %u: a frame of several segments was lost, and so are all that aren't TCP or "
              "UDP in plain IP of at most 64 KB; "
              "`ethtool -K INTERFACE tso off gso off gro off` at the other end of %s has its "
              "kernel cut them",
              port->port, port->interface);
}

uint32_t sw_port_receive(struct sw_switch *sw, struct sw_port *port, uint32_t batch)
{
    bool losing = false, any_losing = false;
    uint64_t now_ns = sw_real_ns();
    struct sw_pkt *pkt;
    uint32_t i = 0;
    for (; i < batch && sw_ring_take(&port->ring, port->fd, &sw->pool, &pkt, &losing); i++) {
        any_losing |= losing;
        if (pkt == NULL) {
            port->stats.rx_dropped++;
            if (port->ring.refused) note_refused(sw, port);
        } else if (sw->instance == NULL) {
            sw_pkt_free(&sw->pool, pkt);
            port->stats.rx_dropped++;
        } else {
            port->stats.rx_packets++;
            port->stats.rx_bytes += pkt->p.length;
            sw_pace_note(&sw->pace, now_ns, pkt->enq_ns + sw_in_time_ns(sw));
            sw_captured(sw, port, false, pkt);
            sw_receive(sw, pkt, port->port);
        }
    }
    if (any_losing) count_ring_drops(sw, port);
    return i;
}

/* ---- sending ---- */

void sw_port_send(struct sw_switch *sw, struct sw_port *port, struct sw_pkt *pkt)
{
    sw_fifo_push(&port->out, pkt);
    if (port->out.count % SW_BATCH == 0 && port->blocked_ns == 0) sw_port_flush(sw, port);
}

static void drop_head(struct sw_switch *sw, struct sw_port *port)
{
    sw_pkt_free(&sw->pool, sw_fifo_pop(&port->out));
    port->stats.tx_dropped++;
    port->blocked_ns = 0;
}

/* The head can't be sent now: a backlog is full (for veth 1,000 packets a core), or the interface
 * is slower than the port. Both end, so the frame is dropped only after BLOCKED_LIMIT_NS. Returns
 * whether to stop sending for now. */
static bool retry_later(struct sw_switch *sw, struct sw_port *port)
{
    /* the kernel runs on the machine's clock */
    uint64_t now = sw->manual ? sw_clock_ns() : sw->clock_ns;
    if (port->blocked_ns == 0) port->blocked_ns = now;
    if (now - port->blocked_ns >= BLOCKED_LIMIT_NS) drop_head(sw, port);
    else if (sw->manual) nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
    else return true;
    return false;
}

void sw_port_flush(struct sw_switch *sw, struct sw_port *port)
{
    struct mmsghdr messages[SW_BATCH];
    struct iovec parts[SW_BATCH];
    while (port->out.head != NULL) {
        if (!port->running) {
            drop_head(sw, port);
            continue;
        }
        unsigned n = 0;
        for (struct sw_pkt *pkt = port->out.head; pkt != NULL && n < SW_BATCH;
             pkt = pkt->next, n++) {
            parts[n] = (struct iovec){pkt->p.data, pkt->p.length};
            messages[n].msg_hdr = (struct msghdr){.msg_iov = &parts[n], .msg_iovlen = 1};
        }
        int sent = sendmmsg(port->sender, messages, n, MSG_DONTWAIT);
        if (sent <= 0) {
            int code = errno;
            /* without carrier the error may be ENOBUFS, too */
            if (code == ENETDOWN || code == ENOBUFS) check_carrier(sw, port);
            if (!port->running) continue;
            if (code == ENXIO || code == ENODEV) {
                interface_lost(sw, port);
            } else if (code == ENOBUFS || code == EAGAIN) {
                if (retry_later(sw, port)) return;
            } else { /* a frame error, e.g. longer than the MTU: drop this frame alone */
                drop_head(sw, port);
            }
            continue;
        }
        for (int i = 0; i < sent; i++) {
            port->stats.tx_packets++;
            port->stats.tx_bytes += port->out.head->p.length;
            sw_captured(sw, port, true, port->out.head);
            sw_pkt_free(&sw->pool, sw_fifo_pop(&port->out));
        }
        port->blocked_ns = 0;
    }
}
