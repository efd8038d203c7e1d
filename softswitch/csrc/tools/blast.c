/* The bench's packet source and its floor.
 *
 *   blast send INTERFACE PACKETS_PER_SECOND SECONDS HEXFRAME   0 packets a second: as fast as it goes
 *   blast copy FROM TO                                         a bare copy loop; until standard input closes
 *
 * `send` prints the packets sent and the seconds it took. `copy` is what any switch on packet sockets has to do at the
 * least: recvmmsg, sendmmsg, nothing else. It prints "ready" when it waits. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

enum { BATCH = 64, FRAME = 9216 };

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void must(int ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "blast: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int open_interface(const char *name, int receives)
{
    int fd = socket(AF_PACKET, SOCK_RAW, 0), one = 1, bytes = 32 << 20;
    must(fd >= 0, "packet socket");
    struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                  .sll_protocol = receives ? htons(ETH_P_ALL) : 0,
                                  .sll_ifindex = (int)if_nametoindex(name)};
    must(address.sll_ifindex != 0, name);
    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one);
    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    must(bind(fd, (struct sockaddr *)&address, sizeof address) == 0, name);
    return fd;
}

static int send_frames(const char *interface, double rate, double seconds, const char *hex)
{
    static uint8_t frame[FRAME];
    size_t length = strlen(hex) / 2;
    for (size_t i = 0; i < length && i < FRAME; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};
        frame[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    struct iovec part = {frame, length};
    struct mmsghdr batch[BATCH] = {{{0}, 0}};
    for (int i = 0; i < BATCH; i++) {
        batch[i].msg_hdr.msg_iov = &part;
        batch[i].msg_hdr.msg_iovlen = 1;
    }
    int fd = open_interface(interface, 0);
    uint64_t start = clock_ns(), end = start + (uint64_t)(seconds * 1e9), sent = 0, now;
    while ((now = clock_ns()) < end) {
        unsigned n = BATCH;
        if (rate > 0) {
            uint64_t owed = (uint64_t)((double)(now - start) * rate / 1e9);
            if (owed <= sent) { /* a nap makes small bursts, but leaves the core to a switch that wants more than one */
                nanosleep(&(struct timespec){0, 50000}, NULL);
                continue;
            }
            if (owed - sent < n) n = (unsigned)(owed - sent);
        }
        int done = sendmmsg(fd, batch, n, 0);
        if (done > 0) sent += (uint64_t)done;
        else if (errno != ENOBUFS && errno != EAGAIN) must(0, "send");
    }
    printf("%llu %.6f\n", (unsigned long long)sent, (double)(now - start) / 1e9);
    return 0;
}

static int copy_frames(const char *from, const char *to)
{
    static uint8_t frames[BATCH][2048];
    struct iovec parts[BATCH];
    struct mmsghdr batch[BATCH] = {{{0}, 0}};
    int in = open_interface(from, 1), out = open_interface(to, 0);
    for (int i = 0; i < BATCH; i++) {
        batch[i].msg_hdr.msg_iov = &parts[i];
        batch[i].msg_hdr.msg_iovlen = 1;
    }
    puts("ready");
    fflush(stdout);
    struct pollfd set[2] = {{.fd = in, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
    while (poll(set, 2, -1) >= 0 && set[1].revents == 0) {
        for (int n = BATCH; n == BATCH;) {
            for (int i = 0; i < BATCH; i++) parts[i] = (struct iovec){frames[i], sizeof frames[i]};
            n = recvmmsg(in, batch, BATCH, MSG_DONTWAIT, NULL);
            for (int i = 0; i < n; i++) parts[i].iov_len = batch[i].msg_len;
            for (int done = 0, sent; done < n; done += sent) {
                sent = sendmmsg(out, batch + done, (unsigned)(n - done), 0);
                if (sent <= 0) sent = 1; /* lost */
            }
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "send") == 0 && strlen(argv[5]) % 2 == 0 && strlen(argv[5]) <= 2 * FRAME) {
        return send_frames(argv[2], atof(argv[3]), atof(argv[4]), argv[5]);
    }
    if (argc == 4 && strcmp(argv[1], "copy") == 0) return copy_frames(argv[2], argv[3]);
    fprintf(stderr, "usage: blast send INTERFACE PACKETS_PER_SECOND SECONDS HEXFRAME | blast copy FROM TO\n");
    return 2;
}
