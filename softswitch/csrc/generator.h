/* The packet generator: frames that the switch makes itself, at a period, as Tofino's timer
 * application does. */
#ifndef SW_GENERATOR_H
#define SW_GENERATOR_H

#include <stdint.h>
#include <string.h>

enum { SW_GENERATED_BYTES = 60, SW_LEAST_PERIOD_NS = 1000 };

struct sw_generator {
    /* due_ns: the next batch, by the switch's clock; UINT64_MAX: it is off */
    uint64_t period_ns, due_ns;
    uint16_t port;              /* where its frames come in */
    uint32_t n;                 /* frames a batch; 0: it is off */
    uint16_t *packet_ids;
};

/* A frame begins with Tofino's header (pktgen_timer_header_t): 3 bits of padding, pipe id 2,
 * application id 3, padding 8, batch id 16, packet id 16. There is one pipe, one application, and
 * one batch at a time: 0. The rest is zeros. */
static inline void sw_generated_frame(uint8_t frame[SW_GENERATED_BYTES], uint16_t packet_id)
{
    memset(frame, 0, SW_GENERATED_BYTES);
    frame[4] = (uint8_t)(packet_id >> 8);
    frame[5] = (uint8_t)packet_id;
}

#endif
