/* Captures of what leaves by a link: whole frames in pcap files. Bytes that aren't stored are
 * payload: zeros, and the ICRC, computed here (InfiniBand Architecture 1.2.1, A17.3.3). A disk that
 * is full ends a capture; vn_captures_end returns why. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "links/link.h"
#include "frames/ethernet.h"
#include "pcap.h"

enum {
    SNAP_LENGTH = 16384,
    IP = 14,
    DST_PORT = 36,
    BTH = 42,
    BTH_END = 54, /* of IPv4, UDP, BTH */
    /* behind it, in data (UC's or RC's SEND Only) with the lowest bit of FECN's and BECN's byte */
    TELEMETRY_BYTES = 44,
    UC_SEND_ONLY = 0x24,
    RC_SEND_ONLY = 0x04,
    ICRC_BYTES = 4,
    TYPE_IPV4 = 0x0800,
    ROCE_PORT = 4791,
};

int vn_capture(struct vn_context *context, uint32_t number, int descriptor)
{
    int status = number >= context->n_links               ? -ENOENT
                 : context->links[number].capture != NULL ? -EEXIST
                                                          : 0;
    FILE *file = status == 0 ? fdopen(descriptor, "wb") : NULL;
    if (file == NULL) {
        if (status == 0) status = -errno;
        close(descriptor);
        return status;
    }
    if (!sw_pcap_begin(file, SNAP_LENGTH)) {
        status = -errno;
        fclose(file);
        return status;
    }
    context->links[number].capture = file;
    context->links[number].captured = true;
    return 0;
}

/* The ICRC is over eight bytes of ones for the local route header, then the packet, with ones in
 * the fields that switches may change. */
static uint32_t icrc(const uint8_t *frame, uint32_t length)
{
    uint8_t masked[8 + SNAP_LENGTH];
    uint32_t covered = length - IP - ICRC_BYTES;
    memset(masked, 0xff, 8);
    memcpy(masked + 8, frame + IP, covered);
    masked[8 + 1] = masked[8 + 8] = masked[8 + 10] = masked[8 + 11] = masked[8 + 26] =
        masked[8 + 27] = masked[8 + 32] = 0xff;
    bool data = frame[BTH] == UC_SEND_ONLY || frame[BTH] == RC_SEND_ONLY;
    if (data && frame[BTH + 4] & 1 && length >= BTH_END + TELEMETRY_BYTES + ICRC_BYTES) {
        memset(masked + 8 + BTH_END - IP, 0xff, TELEMETRY_BYTES);
    }
    return (uint32_t)sw_hash_crc32(masked, 8 + covered);
}

static void vn_capture_end(struct vn_link *link, int error)
{
    int reason = link->capture != NULL ? sw_pcap_end(link->capture, error) : 0;
    if (reason != 0) link->capture_error = reason; /* a later capture of the link may be whole */
    link->capture = NULL;
    link->captured = false;
}

void vn_capture_frame(const struct vn_context *context, struct vn_link *link,
                      struct vn_packet *packet, uint64_t at)
{
    uint8_t frame[SNAP_LENGTH] = {0};
    uint32_t length = packet->bytes < SNAP_LENGTH ? packet->bytes : SNAP_LENGTH;
    uint32_t stored = length < context->pool.stored ? length : context->pool.stored;
    memcpy(frame, vn_frame(context, packet), stored);
    bool roce = context->pool.whole == 0 && vn_load16(frame + VN_TYPE) == TYPE_IPV4 &&
                vn_load16(frame + DST_PORT) == ROCE_PORT;
    if (roce && length >= BTH_END + ICRC_BYTES) {
        uint32_t crc = icrc(frame, length);
        for (uint32_t i = 0; i < ICRC_BYTES; i++)
            frame[length - ICRC_BYTES + i] = (uint8_t)(crc >> 8 * i);
    }
    if (!sw_pcap_frame(link->capture, at / 1000, frame, length, packet->bytes))
        vn_capture_end(link, errno);
}

int vn_capture_stop(struct vn_context *context, uint32_t number)
{
    if (number >= context->n_links) return -ENOENT;
    struct vn_link *link = &context->links[number];
    vn_capture_end(link, 0);
    int error = link->capture_error;
    link->capture_error = 0; /* it is reported */
    return -error;
}

int vn_captures_end(struct vn_context *context, uint32_t *number)
{
    int error = 0;
    for (uint32_t i = 0; i < context->n_links; i++) {
        struct vn_link *link = &context->links[i];
        vn_capture_end(link, 0);
        if (error == 0 && link->capture_error != 0) {
            error = link->capture_error;
            *number = i;
        }
    }
    return error;
}
