/* Captures of a port's frames, in and out: whole frames in pcap files. A disk that is full ends a
 * capture, and nothing else. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "pcap.h"

int sw_port_capture(struct sw_switch *sw, uint16_t number, bool out, int descriptor,
                    char error[SW_ERROR_BYTES])
{
    error[0] = 0;
    FILE *file = fdopen(descriptor, "wb");
    if (file == NULL) {
        int code = errno;
        snprintf(error, SW_ERROR_BYTES, "%s", strerror(code));
        close(descriptor);
        return -code;
    }
    int status = sw_pcap_begin(file, SW_MAX_FRAME) && fflush(file) == 0 ? 0 : -errno;
    sw_lock(sw);
    struct sw_port *port = status == 0 ? sw_port_of(sw, number) : NULL;
    if (status == 0) status = port == NULL ? -ENOMEM : port->captures[out] != NULL ? -EEXIST : 0;
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

static void end(struct sw_switch *sw, struct sw_port *port, bool out)
{
    sw_notice(sw, "port %u: cannot write the capture of frames that %s: %s; it ends", port->port,
              out ? "leave" : "come in", strerror(errno));
    fclose(port->captures[out]);
    port->captures[out] = NULL;
}

void sw_capture(struct sw_switch *sw, struct sw_port *port, bool out, const uint8_t *frame,
                uint32_t length)
{
    uint64_t ns = sw->manual ? sw_now_ns(sw) : sw_real_ns();
    if (sw_pcap_frame(port->captures[out], ns, frame, length, length)) sw->captured = true;
    else end(sw, port, out);
}

void sw_captures_flush(struct sw_switch *sw)
{
    sw->captured = false;
    for (uint32_t i = 0; i < sw->n_active; i++) {
        struct sw_port *port = sw->ports[sw->active[i]];
        for (uint32_t out = 0; out < 2; out++) {
            if (port->captures[out] != NULL && fflush(port->captures[out]) != 0) end(sw, port, out);
        }
    }
}
