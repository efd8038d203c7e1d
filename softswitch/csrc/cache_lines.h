/* The cache lines that a packet may touch in a program's tables, for callers that can prefetch
 * them. (A lookup reads them one after the other, each by a pointer in the one before.) */
#ifndef SW_CACHE_LINES_H
#define SW_CACHE_LINES_H

#include "pipeline.h"

enum {
    /* a table or profile with more entries is left out: a packet touches few of them */
    SW_CACHE_LINES_ENTRIES = 64,
    SW_MAX_CACHE_LINES = 256     /* half of a 32 KiB L1 data cache */
};

/* An address in each line; no line is listed twice. */
struct sw_cache_lines {
    const void **at;
    uint32_t n, capacity;
};

/* Adds the lines of an object. Out of memory it adds nothing, which costs speed alone. */
void sw_cache_lines_add(struct sw_cache_lines *, const void *at, size_t bytes);
/* Replaces the list by the instance's lines. It is valid until a table or profile changes. */
void sw_instance_cache_lines(const struct sw_instance *, struct sw_cache_lines *);

#endif
