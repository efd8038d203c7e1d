/* Captures of what leaves by a link: whole frames in pcap files. Bytes that aren't stored are
 * payload: zeros, and the ICRC, computed here. A disk that is full ends a capture; vn_captures_end
 * returns why. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "links/link.h"
#include "frames/ethernet.h"
#include "icrc.h"
#include "pcap.h"

enum {
    SNAP_LENGTH = 16384,
    DST_PORT = 36,
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
    if (roce && length >= ICRC_HEADERS + ICRC_BYTES) icrc_store(frame, length);
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
