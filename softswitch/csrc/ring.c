/* The receive ring: TPACKET_V2, which hands over each frame at once; V3 hands over whole blocks. */
#include "ring.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* A frame's offset in its slot: behind tpacket2_hdr, sockaddr_ll and virtio_net_hdr. */
enum { HEADER = 66 + sizeof(struct virtio_net_hdr), LINE = 64 };

static size_t size(const struct sw_ring *ring)
{
    return (size_t)ring->block_count * ring->block_bytes;
}

int sw_ring_open(struct sw_ring *ring, int fd, uint32_t frames, size_t frame_bytes)
{
    size_t longest = frame_bytes < SW_RING_LONGEST ? frame_bytes : SW_RING_LONGEST;
    uint32_t slot_bytes = (uint32_t)(HEADER + longest + LINE - 1) / LINE * LINE;
    long page_bytes = sysconf(_SC_PAGESIZE); /* 4, 16 or 64 KB on arm64 */
    uint32_t block_bytes = page_bytes > SW_RING_BLOCK ? (uint32_t)page_bytes : SW_RING_BLOCK,
             block_slots = block_bytes / slot_bytes;
    struct sw_ring layout = {.slot_bytes = slot_bytes,
                             .block_bytes = block_bytes,
                             .block_slots = block_slots,
                             .block_count = (frames + block_slots - 1) / block_slots};
    /* frames longer than a slot are also queued at the socket */
    int version = TPACKET_V2, offload = 1, copy = 1;
    struct tpacket_req request = {.tp_block_size = block_bytes,
                                  .tp_block_nr = layout.block_count,
                                  .tp_frame_size = slot_bytes,
                                  .tp_frame_nr = layout.block_count * block_slots};
    if (setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &offload, sizeof offload) != 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_COPY_THRESH, &copy, sizeof copy) != 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0) {
        return -errno;
    }
    void *blocks = mmap(NULL, size(&layout), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (blocks == MAP_FAILED) return -errno;
    layout.blocks = blocks;
    *ring = layout;
    return 0;
}

void sw_ring_close(struct sw_ring *ring)
{
    if (ring->blocks != NULL) munmap(ring->blocks, size(ring));
    free(ring->uncut);
    *ring = (struct sw_ring){0};
}

/* Puts back the VLAN tag that the kernel removed. */
static void restore_tag(struct sw_pkt *pkt, const struct tpacket2_hdr *header)
{
    uint16_t type =
        header->tp_status & TP_STATUS_VLAN_TPID_VALID ? header->tp_vlan_tpid : ETH_P_8021Q;
    uint16_t tci = header->tp_vlan_tci;
    uint8_t tag[SW_VLAN_TAG] = {(uint8_t)(type >> 8), (uint8_t)type, (uint8_t)(tci >> 8),
                                (uint8_t)tci};
    pkt->p.data -= sizeof tag;
    memmove(pkt->p.data, pkt->p.data + sizeof tag, 2 * ETH_ALEN);
    memcpy(pkt->p.data + 2 * ETH_ALEN, tag, sizeof tag);
    pkt->p.length += sizeof tag;
}

/* A frame longer than its slot, from the socket's queue, which has the same order as the ring.
 * Without room it is discarded. */
static bool receive_long(int fd, uint8_t *room, uint32_t length)
{
    struct virtio_net_hdr net;
    struct iovec parts[] = {{&net, sizeof net}, {room, length}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = room != NULL ? 2 : 1};
    return recvmsg(fd, &message, MSG_DONTWAIT) == (ssize_t)(sizeof net + length) && room != NULL;
}

static struct sw_pkt *take_long(int fd, struct sw_pool *pool, uint32_t length)
{
    struct sw_pkt *pkt = sw_pkt_new(pool, length);
    if (receive_long(fd, pkt != NULL ? pkt->p.data : NULL, length)) return pkt;
    if (pkt != NULL) sw_pkt_free(pool, pkt);
    return NULL;
}

/* A frame that is to be cut: in its slot, or received into `uncut`. NULL: too long, or out of
 * memory. */
static const uint8_t *whole_frame(struct sw_ring *ring, int fd, const struct tpacket2_hdr *header,
                                  uint32_t status)
{
    if (header->tp_snaplen == header->tp_len) return (const uint8_t *)header + header->tp_mac;
    if (!(status & TP_STATUS_COPY)) return NULL;
    bool fits = header->tp_len <= SW_LONGEST_UNCUT;
    if (!fits) ring->refused = true;
    if (fits && ring->uncut == NULL) ring->uncut = malloc(SW_LONGEST_UNCUT);
    uint8_t *room = fits ? ring->uncut : NULL;
    return receive_long(fd, room, header->tp_len) ? room : NULL;
}

/* The next segment of the frame in a slot. Until the last one is taken, the slot stays ours, so
 * that epoll says that there is more. */
static struct sw_pkt *take_segment(struct sw_ring *ring, int fd, struct sw_pool *pool,
                                   const struct tpacket2_hdr *header, uint32_t status,
                                   const struct virtio_net_hdr *net)
{
    if (ring->cut.at == 0) {
        const uint8_t *frame = whole_frame(ring, fd, header, status);
        if (frame == NULL) return NULL;
        if (!sw_cut_begin(&ring->cut, frame, header->tp_len, net)) {
            ring->refused = true;
            return NULL;
        }
    }
    return sw_cut_next(&ring->cut, pool);
}

static struct sw_pkt *take_whole(int fd, struct sw_pool *pool, const struct tpacket2_hdr *header,
                                 uint32_t status)
{
    if (status & TP_STATUS_COPY) return take_long(fd, pool, header->tp_len);
    /* longer than a slot, and the socket's queue was full */
    if (header->tp_snaplen != header->tp_len) return NULL;
    return sw_pkt_copy_bytes(pool, (const uint8_t *)header + header->tp_mac, header->tp_len);
}

static uint8_t *next_slot(const struct sw_ring *ring)
{
    return ring->blocks + (size_t)ring->block * ring->block_bytes +
           (size_t)ring->slot * ring->slot_bytes;
}

static void advance(struct sw_ring *ring)
{
    if (++ring->slot < ring->block_slots) return;
    ring->slot = 0;
    if (++ring->block == ring->block_count) ring->block = 0;
}

static uint64_t stamp_ns(const struct tpacket2_hdr *header)
{
    return (uint64_t)header->tp_sec * 1000000000u + header->tp_nsec;
}

uint64_t sw_ring_next(const struct sw_ring *ring)
{
    if (ring->blocks == NULL) return UINT64_MAX;
    const struct tpacket2_hdr *header = (const void *)next_slot(ring);
    return __atomic_load_n(&header->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER ? stamp_ns(header)
                                                                                  : UINT64_MAX;
}

bool sw_ring_take(struct sw_ring *ring, int fd, struct sw_pool *pool, struct sw_pkt **pkt,
                  bool *losing)
{
    uint8_t *slot = next_slot(ring);
    struct tpacket2_hdr *header = (void *)slot;
    uint32_t status = __atomic_load_n(&header->tp_status, __ATOMIC_ACQUIRE);
    if (!(status & TP_STATUS_USER)) return false;
    const struct virtio_net_hdr *net = (const void *)(slot + header->tp_mac - sizeof *net);
    *losing = status & TP_STATUS_LOSING;
    bool more = false;
    if (sw_offload_uncut(net)) {
        *pkt = take_segment(ring, fd, pool, header, status, net);
        more = ring->cut.at != 0;
        if (!more) advance(ring);
    } else {
        advance(ring);
        /* The next header and the start of its frame are in another core's cache: prefetch them. */
        const uint8_t *ahead = next_slot(ring);
        __builtin_prefetch(ahead);
        __builtin_prefetch(ahead + 64);
        *pkt = take_whole(fd, pool, header, status);
        if (*pkt != NULL && status & TP_STATUS_CSUMNOTREADY)
            sw_offload_checksum((*pkt)->p.data, (*pkt)->p.length, net);
    }
    if (*pkt != NULL && status & TP_STATUS_VLAN_VALID) restore_tag(*pkt, header);
    if (*pkt != NULL) (*pkt)->enq_ns = stamp_ns(header);
    if (!more) __atomic_store_n(&header->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    return true;
}

uint32_t sw_ring_drops(int fd)
{
    struct tpacket_stats counts = {0};
    socklen_t size = sizeof counts;
    return getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &counts, &size) == 0 ? counts.tp_drops : 0;
}
