/* The wall's clock, of which no result depends: for what a run tells of itself. */
#ifndef VN_WALL_H
#define VN_WALL_H

#include <stdint.h>
#include <time.h>

static inline uint64_t vn_wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
