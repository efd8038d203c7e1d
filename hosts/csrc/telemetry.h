/* In-band telemetry (INT) as switches write it: hosts/telemetry.py has its format. */
#ifndef HOSTS_TELEMETRY_H
#define HOSTS_TELEMETRY_H

#include "reaction_point.h"
#include "wire.h"

/* By the type of a rate; controller/constants.py has them, too. */
static const double telemetry_rates_bps[16] = {0,     100e6, 1e9,   2.5e9, 5e9,  10e9,
                                               20e9,  25e9,  40e9,  50e9,  56e9, 100e9,
                                               200e9, 400e9, 800e9, 1600e9};

/* `tick_s`: of the switches' clock, in the modelled network. */
static inline void telemetry_read(const uint8_t *from, double tick_s, struct rp_telemetry *to)
{
    to->tick_s = tick_s;
    to->path_id = (uint16_t)wire_load16(from + 2);
    to->n_hops = from[0] < RP_MOST_HOPS ? from[0] : RP_MOST_HOPS;
    for (uint32_t i = 0; i < to->n_hops; i++) {
        const uint8_t *record = from + 4 + 8 * i;
        uint64_t bits = (uint64_t)wire_load32(record) << 32 | wire_load32(record + 4);
        to->hops[i] = (struct rp_hop){
            .rate_bps = telemetry_rates_bps[bits >> 60],
            .ticks = bits >> 36 & 0xffffff,
            .sent_bytes = (bits >> 16 & 0xfffff) * 128,
            .queue_bytes = (bits & 0xffff) * 64,
        };
    }
}

#endif
