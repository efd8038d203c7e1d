/* pcap files: nanosecond format, link type Ethernet, whole frames. Bytes that aren't stored are payload: zeros, and the ICRC,
 * computed here (InfiniBand Architecture 1.2.1, A17.3.3). */
#include <errno.h>
#include <string.h>

#include "packets.h"

enum { SNAP_LENGTH = 16384 };

int vn_capture(struct vn_net *net, uint32_t number, const char *path)
{
    if (number >= net->n_links) return -ENOENT;
    if (net->links[number].capture != NULL) return -EEXIST;
    FILE *file = fopen(path, "wb");
    if (file == NULL) return -errno;
    const uint32_t header[] = {0xa1b23c4d, 2 | 4u << 16, 0, 0, SNAP_LENGTH, 1};
    fwrite(header, sizeof header, 1, file);
    net->links[number].capture = file;
    net->links[number].captured = true;
    return 0;
}

/* The ICRC is over eight bytes of ones for the local route header, then the packet, with ones in the fields that switches may
 * change. */
static uint32_t icrc(const uint8_t *frame, uint32_t length)
{
    uint8_t masked[8 + SNAP_LENGTH];
    uint32_t covered = length - WIRE_IP - WIRE_ICRC_BYTES;
    memset(masked, 0xff, 8);
    memcpy(masked + 8, frame + WIRE_IP, covered);
    masked[8 + 1] = masked[8 + 8] = masked[8 + 10] = masked[8 + 11] = masked[8 + 26] = masked[8 + 27] = masked[8 + 32] = 0xff;
    return (uint32_t)sw_hash_crc32(masked, 8 + covered);
}

void vn_capture_frame(const struct vn_net *net, FILE *file, struct vn_packet *packet, uint64_t at)
{
    uint8_t frame[SNAP_LENGTH] = {0};
    uint32_t length = packet->bytes < SNAP_LENGTH ? packet->bytes : SNAP_LENGTH;
    uint32_t stored = length < net->stored ? length : net->stored;
    memcpy(frame, vn_frame(net, packet), stored);
    bool roce = wire_load16(frame + WIRE_TYPE) == WIRE_TYPE_IPV4 && wire_load16(frame + WIRE_DST_PORT) == WIRE_ROCE_PORT;
    if (roce && length >= WIRE_PAYLOAD + WIRE_ICRC_BYTES) {
        uint32_t crc = icrc(frame, length);
        for (uint32_t i = 0; i < WIRE_ICRC_BYTES; i++) frame[length - WIRE_ICRC_BYTES + i] = (uint8_t)(crc >> 8 * i);
    }
    uint64_t ns = at / 1000;
    const uint32_t record[] = {(uint32_t)(ns / 1000000000u), (uint32_t)(ns % 1000000000u), length, packet->bytes};
    fwrite(record, sizeof record, 1, file);
    fwrite(frame, length, 1, file);
}
