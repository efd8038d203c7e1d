/* The bench's packet source, latency probe, rate meter and baseline forwarder.
 *
 *   blast send INTERFACE PACKETS_PER_SECOND SECONDS HEXFRAME   0 a second: as fast as possible
 *   blast ping OUT IN COUNT HEXFRAME                           a frame a ms, through a switch
 *   blast watch INTERFACE SECONDS BITS_PER_SECOND              measures the output of a shaped port
 *   blast copy FROM TO                                         forwards until standard input closes
 *
 * `send` prints the number of packets and the seconds taken. `ping` prints the median and the
 * 99th percentile of the time from send() to the frame's arrival, us, and the number of
 * arrivals. `watch` prints the rate from the first to the last frame; the largest burst (frames
 * within half the transmission time of one); and the number of frames that were third or later
 * in a burst. Times are the kernel's receive timestamps. `copy` does only recvmmsg and sendmmsg,
 * the least that a switch on packet sockets has to do. `watch` and `copy` print "ready" when
 * they wait. */
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

enum { BATCH = 64, FRAME = 9216, MAX_BURST = 128 };
/* a machine may stall; what hasn't come by then doesn't come */
static const uint64_t LOST_NS = 10000000000;

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void must(int ok, const char *call)
{
    if (ok) return;
    fprintf(stderr, "blast: %s: %s\n", call, strerror(errno));
    exit(1);
}

static int open_interface(const char *name, int receives)
{
    int fd = socket(AF_PACKET, SOCK_RAW, 0), enabled = 1, bytes = 32 << 20;
    must(fd >= 0, "packet socket");
    struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                  .sll_protocol = receives ? htons(ETH_P_ALL) : 0,
                                  .sll_ifindex = (int)if_nametoindex(name)};
    must(address.sll_ifindex != 0, name);
    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &enabled, sizeof enabled);
    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &enabled, sizeof enabled);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    must(bind(fd, (struct sockaddr *)&address, sizeof address) == 0, name);
    return fd;
}

static size_t read_hex(uint8_t frame[FRAME], const char *hex)
{
    size_t length = strlen(hex) / 2;
    for (size_t i = 0; i < length; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};
        frame[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return length;
}

static int send_frames(const char *interface, double rate, double seconds, const char *hex)
{
    static uint8_t frame[FRAME];
    size_t length = read_hex(frame, hex);
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
            if (owed <= sent) { /* sleeping makes small bursts, but leaves the core to the switch */
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

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int ping(const char *to, const char *from, int count, const char *hex)
{
    static uint8_t frame[FRAME], back[FRAME];
    size_t length = read_hex(frame, hex);
    int out = open_interface(to, 0), in = open_interface(from, 1), arrived = 0;
    uint64_t *took = calloc((size_t)count, sizeof *took);
    must(took != NULL, "memory");
    for (int i = 0; i < count; i++) {
        uint64_t start = clock_ns(), now = start;
        must(send(out, frame, length, 0) == (ssize_t)length, "send");
        ssize_t n = -1;
        /* polls: a blocking receiver would measure its own wake-up */
        while (n < 0 && now - start < LOST_NS) {
            n = recv(in, back, sizeof back, MSG_DONTWAIT);
            now = clock_ns();
        }
        if (n < 0) break; /* lost: the measurement is, too */
        took[arrived++] = now - start;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    qsort(took, (size_t)arrived, sizeof *took, by_size);
    if (arrived == 0) must((errno = ETIMEDOUT, 0), "no frame came through");
    printf("%.1f %.1f %d\n", (double)took[arrived / 2] / 1e3,
           (double)took[arrived * 99 / 100] / 1e3, arrived);
    return 0;
}

static int watch(const char *interface, double seconds, double bps)
{
    static uint8_t frame[FRAME];
    int in = open_interface(interface, 1), on = 1;
    must(setsockopt(in, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) == 0, "time stamps");
    puts("ready");
    fflush(stdout);
    /* before: a ring of arrival times */
    uint64_t first = 0, last = 0, bits = 0, before[MAX_BURST] = {0};
    unsigned largest = 0, count = 0, beyond_two = 0;
    for (;;) {
        char control[64];
        struct iovec part = {frame, sizeof frame};
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof control};
        struct pollfd set = {.fd = in, .events = POLLIN};
        if (poll(&set, 1, first == 0 ? 10000 : 300) <= 0) break;
        ssize_t n = recvmsg(in, &message, MSG_DONTWAIT);
        struct cmsghdr *stamp = CMSG_FIRSTHDR(&message);
        if (n <= 0 || stamp == NULL) continue;
        struct timespec at;
        memcpy(&at, CMSG_DATA(stamp), sizeof at);
        uint64_t now = (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
        if (first != 0 && now - first > (uint64_t)(seconds * 1e9)) break;
        unsigned burst = 1;
        while (burst < MAX_BURST && burst <= count &&
               (double)(now - before[(count - burst) % MAX_BURST]) < (double)n * 4e9 / bps)
            burst++;
        if (burst > largest) largest = burst;
        beyond_two += burst > 2;
        before[count++ % MAX_BURST] = now;
        if (first == 0) first = now;
        else bits += (uint64_t)n * 8; /* the first frame only starts the clock */
        last = now;
    }
    if (last == first) must((errno = ETIMEDOUT, 0), "nothing to watch");
    printf("%.0f %u %u\n", (double)bits * 1e9 / (double)(last - first), largest, beyond_two);
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
    if (argc == 6 && strlen(argv[5]) % 2 == 0 && strlen(argv[5]) <= 2 * FRAME) {
        if (strcmp(argv[1], "send") == 0)
            return send_frames(argv[2], atof(argv[3]), atof(argv[4]), argv[5]);
        if (strcmp(argv[1], "ping") == 0) return ping(argv[2], argv[3], atoi(argv[4]), argv[5]);
    }
    if (argc == 5 && strcmp(argv[1], "watch") == 0)
        return watch(argv[2], atof(argv[3]), atof(argv[4]));
    if (argc == 4 && strcmp(argv[1], "copy") == 0) return copy_frames(argv[2], argv[3]);
    fprintf(stderr, "usage: blast send INTERFACE PACKETS_PER_SECOND SECONDS HEXFRAME | ping OUT IN "
                    "COUNT HEXFRAME"
                    " | watch INTERFACE SECONDS BITS_PER_SECOND | copy FROM TO\n");
    return 2;
}
