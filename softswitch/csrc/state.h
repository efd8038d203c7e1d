/* A program's state: registers, counters, meters, and the instance that holds them and the tables.
 * Not thread-safe: the switch's lock, or, in virtual time, the single thread guards it. */
#ifndef SW_STATE_H
#define SW_STATE_H

#include "pipeline.h"

/* A two-rate token bucket, RFC 2698 as in BMv2: too few tokens in the peak bucket is red, then too
 * few in the committed one yellow. Tokens accrue since one origin, so that rounding errors don't
 * add up. */
struct sw_meter {
    uint64_t cir, cburst, pir, pburst, per_us; /* units in per_us, units */
    uint64_t committed, peak;          /* tokens */
    uint64_t committed_accrued, peak_accrued, origin_us;
    bool configured, bytes;
};

struct sw_meter_array {
    uint32_t size;
    struct sw_meter *cells;
};

/* rates NULL: removes the configuration. */
void sw_meter_set(struct sw_meter *, const uint64_t rates[5] /* cir, cburst, pir, pburst, per_us */,
                  uint64_t now_us);
uint32_t sw_meter_run(struct sw_meter *, uint32_t bytes, uint64_t now_us);

/* A program's initial state. NULL: failed, with one line in error[256]. */
struct sw_instance *sw_instance_new(const struct sw_program *, uint64_t seed, uint16_t drop_port,
                                    char *error);
/* Adds what a covered program has counted to `collected`, and counts from 0 on. */
void sw_instance_collect(struct sw_instance *);
void sw_instance_free(struct sw_instance *);

#endif
