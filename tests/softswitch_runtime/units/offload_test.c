/* Frames and descriptors that mean nothing, or almost something: each is refused or cut, within its
 * bytes. The sanitizers watch. */
#include "offload.h"

#include <string.h>

#include "check.h"

enum { TRIES = 300000, HEADERS = 54 };

static uint64_t state = 1;

static uint32_t below(uint32_t n) /* splitmix64 */
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) % n);
}

/* TCP in IPv4 or IPv6, of which some bytes are then others. */
static void draw(uint8_t *frame, uint32_t length, struct virtio_net_hdr *net)
{
    static const uint8_t ipv4[] = {[12] = 8, [14] = 0x45, [23] = 6, [46] = 0x50};
    static const uint8_t ipv6[] = {[12] = 0x86, [13] = 0xdd, [14] = 0x60, [20] = 6, [66] = 0x50};
    bool six = below(2);
    const uint8_t *headers = six ? ipv6 : ipv4;
    size_t header_bytes = six ? sizeof ipv6 : sizeof ipv4;
    for (uint32_t i = 0; i < length; i++)
        frame[i] = i < header_bytes ? headers[i] : (uint8_t)below(256);
    *net = (struct virtio_net_hdr){.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
                                   .gso_type =
                                       six ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4,
                                   .gso_size = (uint16_t)below(2000),
                                   .csum_start = six ? 54 : 34,
                                   .csum_offset = 16};
    for (uint32_t n = below(4); n > 0; n--) {
        if (below(2) || length == 0) ((uint8_t *)net)[below(sizeof *net)] = (uint8_t)below(256);
        else frame[below(length < 80 ? length : 80)] = (uint8_t)below(256);
    }
}

int main(void)
{
    struct sw_pool pool;
    sw_pool_init(&pool, 8, 0, 128, 8);
    uint32_t n_cut = 0;
    for (uint32_t i = 0; i < TRIES; i++) {
        uint32_t length = below(4) ? below(200) : below(4000);
        uint8_t *frame = malloc(length); /* its end is the sanitizer's */
        CHECK(frame != NULL || length == 0);
        struct virtio_net_hdr net;
        draw(frame, length, &net);
        struct sw_cut cut = {0};
        if (sw_cut_begin(&cut, frame, length, &net)) {
            n_cut++;
            uint32_t payload = 0;
            while (cut.at != 0) {
                struct sw_pkt *pkt = sw_cut_next(&cut, &pool);
                CHECK(pkt != NULL && pkt->p.length > cut.header && pkt->p.length <= SW_MAX_FRAME);
                payload += pkt->p.length - cut.header;
                sw_pkt_free(&pool, pkt);
            }
            CHECK(payload == length - cut.header);
        }
        sw_offload_checksum(frame, length, &net);
        free(frame);
    }
    CHECK(n_cut > TRIES / 10 && n_cut < TRIES - TRIES / 10);

    /* Out of memory, a segment is lost and the next ones come. */
    uint8_t frame[HEADERS + 30] = {[12] = 8, [14] = 0x45, [23] = 6, [46] = 0x50};
    struct virtio_net_hdr net = {
        VIRTIO_NET_HDR_F_NEEDS_CSUM, VIRTIO_NET_HDR_GSO_TCPV4, HEADERS, 10, 34, 16};
    struct sw_pool none;
    sw_pool_init(&none, 8, 0, 0, 0);
    struct sw_cut cut;
    CHECK(sw_cut_begin(&cut, frame, sizeof frame, &net));
    CHECK(sw_cut_next(&cut, &none) == NULL && sw_cut_next(&cut, &pool) != NULL);
    CHECK(cut.at != 0 && sw_cut_next(&cut, &none) == NULL && cut.at == 0);
    sw_pool_free(&none);
    sw_pool_free(&pool);
    return 0;
}
