/* Live ports: packet sockets in and out, in batches. */
#define _GNU_SOURCE /* recvmmsg, sendmmsg */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "internal.h"

enum {
    SOCKET_BYTES = 32 << 20,     /* of the kernel's memory, used only as packets wait */
    STUCK_LIMIT_NS = 20000000,   /* an interface may refuse a packet for so long */
    OVERFLOW = SW_MAX_FRAME - SW_SMALL_FRAME,
};

/* Frames arrive in small packets from the pool; what of a frame doesn't fit goes to `overflow`. */
struct sw_io {
    struct mmsghdr in[SW_BATCH], out[SW_BATCH];
    struct iovec in_parts[SW_BATCH][2], out_parts[SW_BATCH];
    struct sw_pkt *waiting[SW_BATCH];
    unsigned used; /* how many of `in` must be set up again */
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
    } control[SW_BATCH];
    uint8_t overflow[SW_BATCH][OVERFLOW];
};

struct sw_io *sw_io_new(void)
{
    struct sw_io *io = calloc(1, sizeof *io);
    if (io != NULL) io->used = SW_BATCH;
    return io;
}

void sw_io_release(struct sw_switch *sw)
{
    if (sw->io == NULL) return;
    for (int i = 0; i < SW_BATCH; i++) {
        if (sw->io->waiting[i] != NULL) sw_pkt_free(&sw->pool, sw->io->waiting[i]);
        sw->io->waiting[i] = NULL;
    }
    sw->io->used = SW_BATCH;
}

struct sw_port *sw_port_of(struct sw_switch *sw, uint32_t number)
{
    if (number >= SW_MAX_PORTS) return NULL;
    struct sw_port *port = sw->ports[number];
    if (port != NULL) return port;
    port = calloc(1, sizeof *port);
    if (port == NULL) return NULL;
    port->port = (uint16_t)number;
    port->fd = -1;
    sw->ports[number] = port;
    sw->active[sw->n_active++] = (uint16_t)number;
    return port;
}

/* ---- opening and closing ---- */

static int fail(char *error, const char *what, const char *interface)
{
    int code = errno;
    snprintf(error, SW_ERROR_BYTES, "%s %s: %s%s", what, interface, strerror(code),
             code == EPERM || code == EACCES ? "; run as root (CAP_NET_RAW is needed)" : "");
    return -code;
}

static int set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value);
}

static int open_interface(struct sw_switch *sw, struct sw_port *port, char *error)
{
    const char *name = port->interface;
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return fail(error, "cannot open a packet socket for", name);
    int status = 0;
    unsigned index = if_nametoindex(name);
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)index};
    struct packet_mreq promiscuous = {.mr_ifindex = (int)index, .mr_type = PACKET_MR_PROMISC};
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = port->port};
    if (index == 0) {
        status = fail(error, "no interface", name);
    } else if (set(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1) != 0 || set(fd, SOL_PACKET, PACKET_AUXDATA, 1) != 0 ||
               setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous) != 0) {
        status = fail(error, "cannot set up the packet socket of", name);
    } else {
        /* Without privilege to exceed the system's limit, take what it gives. */
        if (set(fd, SOL_SOCKET, SO_RCVBUFFORCE, SOCKET_BYTES) != 0) set(fd, SOL_SOCKET, SO_RCVBUF, SOCKET_BYTES);
        if (set(fd, SOL_SOCKET, SO_SNDBUFFORCE, SOCKET_BYTES) != 0) set(fd, SOL_SOCKET, SO_SNDBUF, SOCKET_BYTES);
        set(fd, SOL_PACKET, PACKET_QDISC_BYPASS, 1); /* faster, not needed */
        if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
            status = fail(error, "cannot bind to", name);
        } else if (epoll_ctl(sw->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
            status = fail(error, "cannot wait for", name);
        }
    }
    if (status != 0) {
        close(fd);
        return status;
    }
    port->fd = fd;
    port->ifindex = (int)index;
    port->up = true;
    return 0;
}

void sw_port_close(struct sw_switch *sw, struct sw_port *port)
{
    if (port->fd >= 0) close(port->fd); /* leaves the epoll set by itself */
    port->fd = -1;
    port->up = false;
    port->stats.tx_dropped += port->out.count;
    sw_fifo_free(&sw->pool, &port->out);
    port->stuck_ns = 0;
}

int sw_port_add(struct sw_switch *sw, uint16_t number, const char *interface, char error[SW_ERROR_BYTES])
{
    error[0] = 0;
    if (number >= SW_MAX_PORTS || number == sw->drop_port) {
        snprintf(error, SW_ERROR_BYTES, "port %u can't be used: ports are 0 to %d, without the drop port %u", number,
                 SW_MAX_PORTS - 1, sw->drop_port);
        return -EINVAL;
    }
    if (strlen(interface) >= IFNAMSIZ) {
        snprintf(error, SW_ERROR_BYTES, "no interface has a name as long as %.64s", interface);
        return -EINVAL;
    }
    sw_lock(sw);
    int status;
    struct sw_port *port = sw_port_of(sw, number);
    if (port == NULL) {
        status = -ENOMEM;
        snprintf(error, SW_ERROR_BYTES, "out of memory");
    } else if (port->present) {
        status = -EEXIST;
        snprintf(error, SW_ERROR_BYTES, "port %u has the interface %s already", number, port->interface);
    } else {
        snprintf(port->interface, sizeof port->interface, "%s", interface);
        status = open_interface(sw, port, error);
        port->present = status == 0;
    }
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

static void lost(struct sw_switch *sw, struct sw_port *port)
{
    sw_port_close(sw, port);
    sw_say(sw, "port %u: interface %s is gone; the other ports go on", port->port, port->interface);
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

/* Whatever the messages say, look at each port: messages may be lost, the interfaces are the truth. */
void sw_links_changed(struct sw_switch *sw)
{
    char buffer[16384], error[SW_ERROR_BYTES];
    ssize_t n;
    do n = recv(sw->netlink, buffer, sizeof buffer, MSG_DONTWAIT);
    while (n > 0 || (n < 0 && errno == ENOBUFS));
    for (uint32_t i = 0; i < sw->n_active; i++) {
        struct sw_port *port = sw->ports[sw->active[i]];
        if (!port->present) continue;
        unsigned index = if_nametoindex(port->interface);
        if (port->up && index != (unsigned)port->ifindex) lost(sw, port);
        if (!port->up && index != 0 && open_interface(sw, port, error) == 0) {
            sw_say(sw, "port %u: interface %s is back", port->port, port->interface);
        }
    }
}

/* ---- receiving ---- */

/* The frame of message i as a packet, or NULL: dropped. Takes waiting[i], or leaves it for the next batch. */
static struct sw_pkt *take(struct sw_switch *sw, int i, uint32_t length)
{
    struct sw_io *io = sw->io;
    struct msghdr *header = &io->in[i].msg_hdr;
    struct sw_pkt *pkt = io->waiting[i];
    if (header->msg_flags & MSG_TRUNC || length > SW_MAX_FRAME) return NULL;
    if (length > SW_SMALL_FRAME) {
        struct sw_pkt *large = sw_pkt_new(&sw->pool, length);
        if (large == NULL) return NULL;
        memcpy(large->p.data, pkt->p.data, SW_SMALL_FRAME);
        memcpy(large->p.data + SW_SMALL_FRAME, io->overflow[i], length - SW_SMALL_FRAME);
        pkt = large;
    } else {
        io->waiting[i] = NULL;
        pkt->p.length = length;
    }
    struct cmsghdr *control = CMSG_FIRSTHDR(header);
    if (control != NULL && control->cmsg_level == SOL_PACKET && control->cmsg_type == PACKET_AUXDATA) {
        struct tpacket_auxdata aux;
        memcpy(&aux, CMSG_DATA(control), sizeof aux);
        if (aux.tp_status & TP_STATUS_VLAN_VALID) { /* the kernel took the tag off: put it back */
            uint16_t tpid = aux.tp_status & TP_STATUS_VLAN_TPID_VALID ? aux.tp_vlan_tpid : ETH_P_8021Q;
            uint8_t tag[4] = {(uint8_t)(tpid >> 8), (uint8_t)tpid, (uint8_t)(aux.tp_vlan_tci >> 8),
                              (uint8_t)aux.tp_vlan_tci};
            pkt->p.data -= SW_VLAN_TAG;
            memmove(pkt->p.data, pkt->p.data + SW_VLAN_TAG, 2 * ETH_ALEN);
            memcpy(pkt->p.data + 2 * ETH_ALEN, tag, sizeof tag);
            pkt->p.length += SW_VLAN_TAG;
        }
    }
    return pkt;
}

static unsigned prepare_batch(struct sw_switch *sw)
{
    struct sw_io *io = sw->io;
    for (unsigned i = 0; i < io->used; i++) {
        if (io->waiting[i] == NULL) io->waiting[i] = sw_pkt_new(&sw->pool, 0);
        if (io->waiting[i] == NULL) return i;
        io->in_parts[i][0] = (struct iovec){io->waiting[i]->p.data, SW_SMALL_FRAME};
        io->in_parts[i][1] = (struct iovec){io->overflow[i], OVERFLOW};
        io->in[i].msg_hdr = (struct msghdr){.msg_iov = io->in_parts[i],
                                            .msg_iovlen = 2,
                                            .msg_control = &io->control[i],
                                            .msg_controllen = sizeof io->control[i]};
    }
    io->used = 0;
    return SW_BATCH;
}

void sw_port_receive(struct sw_switch *sw, struct sw_port *port)
{
    unsigned room = prepare_batch(sw);
    if (room == 0) { /* no memory: drain one frame, so that the switch doesn't spin on it */
        char byte;
        if (recv(port->fd, &byte, 1, MSG_DONTWAIT | MSG_TRUNC) > 0) port->stats.rx_dropped++;
        return;
    }
    int n = recvmmsg(port->fd, sw->io->in, room, MSG_DONTWAIT, NULL);
    if (n < 0) {
        if (errno == ENXIO || errno == ENODEV || errno == EBADF) lost(sw, port);
        return; /* nothing there after all; or the interface is down: netlink tells when it is back */
    }
    if (sw->io->used < (unsigned)n) sw->io->used = (unsigned)n;
    for (int i = 0; i < n; i++) {
        uint32_t length = sw->io->in[i].msg_len;
        struct sw_pkt *pkt = sw->instance == NULL ? NULL : take(sw, i, length);
        if (pkt == NULL) {
            port->stats.rx_dropped++;
            continue;
        }
        port->stats.rx_packets++;
        port->stats.rx_bytes += pkt->p.length;
        sw_receive(sw, pkt, port->port);
    }
}

/* ---- sending ---- */

void sw_port_send(struct sw_switch *sw, struct sw_port *port, struct sw_pkt *pkt)
{
    sw_fifo_push(&port->out, pkt);
    if (port->out.count % SW_BATCH == 0 && port->stuck_ns == 0) sw_port_flush(sw, port);
}

static void drop_head(struct sw_switch *sw, struct sw_port *port)
{
    sw_pkt_free(&sw->pool, sw_fifo_pop(&port->out));
    port->stats.tx_dropped++;
    port->stuck_ns = 0;
}

/* The head can't be sent now. A full backlog (veth's is 1,000 packets a core) empties soon: wait, drop late. */
static bool give_up_for_now(struct sw_switch *sw, struct sw_port *port)
{
    if (port->stuck_ns == 0) port->stuck_ns = sw->now_ns;
    if (sw->now_ns - port->stuck_ns < STUCK_LIMIT_NS) return true;
    drop_head(sw, port);
    return false;
}

void sw_port_flush(struct sw_switch *sw, struct sw_port *port)
{
    struct sw_io *io = sw->io;
    while (port->out.head != NULL) {
        unsigned n = 0;
        for (struct sw_pkt *pkt = port->out.head; pkt != NULL && n < SW_BATCH; pkt = pkt->next, n++) {
            io->out_parts[n] = (struct iovec){pkt->p.data, pkt->p.length};
            io->out[n].msg_hdr = (struct msghdr){.msg_iov = &io->out_parts[n], .msg_iovlen = 1};
        }
        int sent = sendmmsg(port->fd, io->out, n, MSG_DONTWAIT);
        if (sent <= 0) {
            if (errno == ENXIO || errno == ENODEV) {
                lost(sw, port);
            } else if (errno == ENOBUFS || errno == EAGAIN) {
                if (give_up_for_now(sw, port)) return;
            } else { /* too long for the interface, too short, interface down: this frame, not the next */
                drop_head(sw, port);
            }
            continue;
        }
        for (int i = 0; i < sent; i++) {
            port->stats.tx_packets++;
            port->stats.tx_bytes += port->out.head->p.length;
            sw_pkt_free(&sw->pool, sw_fifo_pop(&port->out));
        }
        port->stuck_ns = 0;
    }
}
