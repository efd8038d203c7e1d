/* What a kernel leaves to the NIC it takes an interface for: checksums of TCP and UDP (tx-checksum
 * offload), and cutting frames of up to 64 KB to the MTU (TSO, UDP segmentation offload, GRO). A
 * veth or tap passes both on to its other end, which is the switch. The kernel describes them in a
 * virtio_net_hdr before each frame (PACKET_VNET_HDR; virtio 1.2, 5.1.6). */
#ifndef SW_OFFLOAD_H
#define SW_OFFLOAD_H

#include <linux/virtio_net.h>

#include "packet.h"

/* The longest frame that is cut: IPv6 with 65,535 bytes of payload, and two VLAN tags. Only where
 * gso_max_size was raised (BIG TCP) are there longer ones. */
enum { SW_LONGEST_UNCUT = 65535 + 40 + 14 + 2 * SW_VLAN_TAG };

/* A frame that is being cut into segments. */
struct sw_cut {
    const uint8_t *frame;
    /* of the frame; where the next segment's payload begins; 0: nothing is being cut */
    uint32_t length, at;
    /* where the IP and the TCP or UDP header begin, and the payload */
    uint32_t network, transport, header;
    uint32_t segment; /* payload bytes of a segment, but of the last */
    uint16_t number; /* of the next segment, from 0 */
    bool ipv6, udp;
};

/* Whether a frame waits to be cut, as its descriptor says. */
static inline bool sw_offload_uncut(const struct virtio_net_hdr *net)
{
    return net->gso_type != VIRTIO_NET_HDR_GSO_NONE;
}

/* Completes a frame's checksum, if it is left to do. */
void sw_offload_checksum(uint8_t *frame, uint32_t length, const struct virtio_net_hdr *);

/* Begins to cut a frame, which has to stay until all its segments are taken. False: it can't be
 * cut, being other than TCP or UDP in plain IP, or not as its descriptor says. */
bool sw_cut_begin(struct sw_cut *, const uint8_t *frame, uint32_t length,
                  const struct virtio_net_hdr *);
/* The next segment, with its lengths, number and checksums; NULL: out of memory, and the segment is
 * lost. cut->at is 0 after the last one. */
struct sw_pkt *sw_cut_next(struct sw_cut *, struct sw_pool *);

#endif
