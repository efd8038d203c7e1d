/* Captures of a port's frames, in and out: pcap files in nanosecond format, link type Ethernet, whole frames. A disk that is full
 * ends a capture, and nothing else. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

int sw_port_capture(struct sw_switch *sw, uint16_t number, bool out, int descriptor, char error[SW_ERROR_BYTES])
{
    error[0] = 0;
    FILE *file = fdopen(descriptor, "wb");
    if (file == NULL) {
        int code = errno;
        snprintf(error, SW_ERROR_BYTES, "%s", strerror(code));
        close(descriptor);
        return -code;
    }
    const uint32_t header[] = {0xa1b23c4d, 2 | 4u << 16, 0, 0, SW_MAX_FRAME, 1};
    fwrite(header, sizeof header, 1, file);
    fflush(file);
    sw_lock(sw);
    struct sw_port *port = sw_port_of(sw, number);
    int status = port == NULL ? -ENOMEM : port->captures[out] != NULL ? -EEXIST : 0;
    if (status == 0) port->captures[out] = file;
    sw_unlock(sw);
    if (status != 0) {
        snprintf(error, SW_ERROR_BYTES, "port %u: %s", number, strerror(-status));
        fclose(file);
    }
    return status;
}

void sw_captures_end(struct sw_port *port)
{
    for (uint32_t out = 0; out < 2; out++) {
        if (port->captures[out] != NULL) fclose(port->captures[out]);
        port->captures[out] = NULL;
    }
}

void sw_capture(struct sw_switch *sw, struct sw_port *port, bool out, const uint8_t *frame, uint32_t length)
{
    FILE *file = port->captures[out];
    uint64_t ns = sw->manual ? sw_now_ns(sw) : sw_real_ns();
    const uint32_t record[] = {(uint32_t)(ns / 1000000000u), (uint32_t)(ns % 1000000000u), length, length};
    if (fwrite(record, sizeof record, 1, file) == 1 && (length == 0 || fwrite(frame, length, 1, file) == 1)) {
        sw->captured = true;
        return;
    }
    sw_notice(sw, "port %u: cannot write the capture of frames that %s: %s; it ends", port->port, out ? "leave" : "come in",
              strerror(errno));
    fclose(file);
    port->captures[out] = NULL;
}

void sw_captures_flush(struct sw_switch *sw)
{
    sw->captured = false;
    for (uint32_t i = 0; i < sw->n_active; i++) {
        const struct sw_port *port = sw->ports[sw->active[i]];
        for (uint32_t out = 0; out < 2; out++) {
            if (port->captures[out] != NULL) fflush(port->captures[out]);
        }
    }
}
