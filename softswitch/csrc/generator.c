/* The packet generator of the live switch. Virtual time has an event of its own for it
 * (virtualnet/csrc/generator.c). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

int sw_generate(struct sw_switch *sw, uint16_t port, uint64_t period_ns, const uint16_t *packet_ids,
                uint32_t n, char error[SW_ERROR_BYTES])
{
    error[0] = 0;
    if (port >= SW_MAX_PORTS || (n != 0 && period_ns < SW_LEAST_PERIOD_NS)) {
        snprintf(error, SW_ERROR_BYTES,
                 "a packet generator needs a port below %d and a period of at least %d ns",
                 SW_MAX_PORTS, SW_LEAST_PERIOD_NS);
        return -EINVAL;
    }
    uint16_t *copy = n != 0 ? malloc(n * sizeof *copy) : NULL;
    if (n != 0 && copy == NULL) {
        snprintf(error, SW_ERROR_BYTES, "out of memory");
        return -ENOMEM;
    }
    if (n != 0) memcpy(copy, packet_ids, n * sizeof *copy);
    sw_lock(sw);
    free(sw->generator.packet_ids);
    uint64_t now_ns = sw->manual ? sw->clock_ns : sw_clock_ns();
    sw->generator =
        (struct sw_generator){period_ns, n != 0 ? now_ns + period_ns : UINT64_MAX, port, n, copy};
    sw_unlock(sw);
    sw_wake(sw);
    return 0;
}

void sw_run_generator(struct sw_switch *sw)
{
    struct sw_generator *generator = &sw->generator;
    if (sw->clock_ns < generator->due_ns) return;
    /* Batches that a late worker missed are left out. Frames have their batch's time, so that times
     * are whole periods apart. */
    uint64_t at_ns = sw->clock_ns - (sw->clock_ns - generator->due_ns) % generator->period_ns;
    generator->due_ns = at_ns + generator->period_ns;
    for (uint32_t i = 0; sw->instance != NULL && i < generator->n; i++) {
        uint8_t frame[SW_GENERATED_BYTES];
        sw_generated_frame(frame, generator->packet_ids[i]);
        struct sw_pkt *pkt = sw_pkt_copy_bytes(&sw->pool, frame, sizeof frame);
        if (pkt != NULL) sw_receive_at(sw, pkt, generator->port, at_ns - sw->origin_ns);
    }
}
