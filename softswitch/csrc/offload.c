/* Checksums and segmentation that a kernel left to the switch. */
#include "offload.h"

#include <linux/if_ether.h>
#include <netinet/in.h>
#include <string.h>

enum {
    GSO_UDP_L4 = 5, /* VIRTIO_NET_HDR_GSO_UDP_L4, which older headers lack */
    UDP_CHECKSUM = 6,
    TCP_CHECKSUM = 16, /* in their headers, and further fields: */
    TCP_SEQUENCE = 4,
    TCP_FLAGS = 13,
    TCP_HEADER = 20,
    UDP_HEADER = 8,
    FIN_PSH = 0x09,
    CWR = 0x80,
    IPV4_HEADER = 20,
    IPV6_HEADER = 40,
};

static uint32_t get16(const uint8_t *at) { return (uint32_t)at[0] << 8 | at[1]; }

static void put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static uint32_t get32(const uint8_t *at) { return get16(at) << 16 | get16(at + 2); }

static void put32(uint8_t *at, uint32_t value)
{
    put16(at, value >> 16);
    put16(at + 2, value);
}

/* ---- checksums ---- */

/* The field holds the sum of the pseudo header. A result of 0 is written as 0xffff: for UDP, 0
 * means that there is none. */
static void complete(uint8_t *from, const uint8_t *end, uint8_t *field)
{
    uint32_t sum = (uint32_t)sw_hash_csum16(from, (size_t)(end - from));
    put16(field, sum != 0 ? sum : 0xffff);
}

void sw_offload_checksum(uint8_t *frame, uint32_t length, const struct virtio_net_hdr *net)
{
    if (!(net->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)) return;
    uint32_t field = (uint32_t)net->csum_start + net->csum_offset;
    if (field + 2 <= length) complete(frame + net->csum_start, frame + length, frame + field);
}

/* ---- segmentation ---- */

/* Where the IP header begins: behind Ethernet's and VLAN tags. Sets the EtherType. 0: nowhere
 * before `end`. */
static uint32_t find_network(const uint8_t *frame, uint32_t end, uint32_t *type)
{
    for (uint32_t at = 2 * ETH_ALEN; at + 2 <= end; at += SW_VLAN_TAG) {
        *type = get16(frame + at);
        if (*type != ETH_P_8021Q && *type != ETH_P_8021AD) return at + 2;
    }
    return 0;
}

/* Whether an IPv4 header, not of a fragment, lies between network and transport and nothing else
 * does. */
static bool is_ipv4(const uint8_t *ip, uint32_t bytes, uint8_t protocol)
{
    return bytes >= IPV4_HEADER && bytes == 4u * (ip[0] & 0xf) && ip[9] == protocol &&
           (get16(ip + 6) & 0x3fff) == 0;
}

/* The same for IPv6, with extension headers that are equal in all segments. */
static bool is_ipv6(const uint8_t *ip, uint32_t bytes, uint8_t protocol)
{
    if (bytes < IPV6_HEADER) return false;
    uint8_t next = ip[6];
    uint32_t at = IPV6_HEADER;
    while (at + 2 <= bytes &&
           (next == IPPROTO_HOPOPTS || next == IPPROTO_ROUTING || next == IPPROTO_DSTOPTS)) {
        next = ip[at];
        at += 8u * (ip[at + 1] + 1u);
    }
    return at == bytes && next == protocol;
}

bool sw_cut_begin(struct sw_cut *cut, const uint8_t *frame, uint32_t length,
                  const struct virtio_net_hdr *net)
{
    uint8_t kind = net->gso_type & (uint8_t)~VIRTIO_NET_HDR_GSO_ECN;
    bool udp = kind == GSO_UDP_L4;
    if (!udp && kind != VIRTIO_NET_HDR_GSO_TCPV4 && kind != VIRTIO_NET_HDR_GSO_TCPV6) return false;
    if (!(net->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) ||
        net->csum_offset != (udp ? UDP_CHECKSUM : TCP_CHECKSUM))
        return false;
    uint32_t transport = net->csum_start, least = udp ? UDP_HEADER : TCP_HEADER, type = 0;
    if (transport + least > length) return false;
    uint32_t network = find_network(frame, transport, &type);
    if (network == 0) return false;
    uint32_t header = transport + (udp ? UDP_HEADER : 4u * (frame[transport + 12] >> 4));
    bool ipv6 = type == ETH_P_IPV6;
    if (!ipv6 && type != ETH_P_IP) return false;
    if (!(ipv6 ? is_ipv6 : is_ipv4)(frame + network, transport - network,
                                    udp ? IPPROTO_UDP : IPPROTO_TCP))
        return false;
    if (header < transport + least || header >= length) return false;
    if (net->gso_size == 0 || header + net->gso_size > SW_MAX_FRAME) return false;
    *cut = (struct sw_cut){.frame = frame,
                           .length = length,
                           .at = header,
                           .network = network,
                           .transport = transport,
                           .header = header,
                           .segment = net->gso_size,
                           .ipv6 = ipv6,
                           .udp = udp};
    return true;
}

static void write_network(const struct sw_cut *cut, uint8_t *ip, uint32_t length)
{
    if (cut->ipv6) {
        put16(ip + 4, length - IPV6_HEADER);
        return;
    }
    put16(ip + 2, length);
    put16(ip + 4, get16(ip + 4) + cut->number);
    put16(ip + 10, 0);
    put16(ip + 10, (uint32_t)sw_hash_csum16(ip, cut->transport - cut->network));
}

/* `length`: of the TCP or UDP header and the payload. */
static void write_transport(const struct sw_cut *cut, uint8_t *start, uint32_t length, bool last)
{
    uint8_t *field = start + (cut->udp ? UDP_CHECKSUM : TCP_CHECKSUM);
    uint32_t all = cut->length - cut->transport;
    /* The field has the pseudo header's sum with the length of all segments together: ones'
     * complement arithmetic. */
    uint32_t sum = get16(field) + (~all & 0xffffu) + (length & 0xffff);
    sum = (sum & 0xffff) + (sum >> 16);
    put16(field, (sum & 0xffff) + (sum >> 16));
    if (cut->udp) {
        put16(start + 4, length);
    } else {
        put32(start + TCP_SEQUENCE, get32(start + TCP_SEQUENCE) + cut->at - cut->header);
        if (!last) start[TCP_FLAGS] &= (uint8_t)~FIN_PSH;
        /* RFC 3168: in the first packet after the reduction */
        if (cut->number != 0) start[TCP_FLAGS] &= (uint8_t)~CWR;
    }
    complete(start, start + length, field);
}

struct sw_pkt *sw_cut_next(struct sw_cut *cut, struct sw_pool *pool)
{
    uint32_t left = cut->length - cut->at, payload = left < cut->segment ? left : cut->segment;
    struct sw_pkt *pkt = sw_pkt_new(pool, cut->header + payload);
    if (pkt != NULL) {
        memcpy(pkt->p.data, cut->frame, cut->header);
        memcpy(pkt->p.data + cut->header, cut->frame + cut->at, payload);
        write_network(cut, pkt->p.data + cut->network, cut->header + payload - cut->network);
        write_transport(cut, pkt->p.data + cut->transport, cut->header + payload - cut->transport,
                        payload == left);
    }
    cut->number++;
    cut->at = payload == left ? 0 : cut->at + payload;
    return pkt;
}
