/* The cache lines that a packet may touch in a program's tables, for callers that can prefetch: by itself a packet finds them one
 * by one, each by the one before. */
#ifndef SW_LINES_H
#define SW_LINES_H

#include "pipeline.h"

enum {
    SW_LISTED = 64,     /* entries of a table, groups or members of a profile: of more, a packet needs few, and none is listed */
    SW_MOST_LINES = 256 /* half of a first cache */
};

/* A byte of each line, each line once. */
struct sw_lines { const void **at; uint32_t n, capacity; };

/* Adds the lines of so many bytes. Without memory it does nothing: nothing but time depends on a line. */
void sw_lines_add(struct sw_lines *, const void *at, size_t bytes);
/* Lists anew the instance's. They stay as long as no table and no profile changes. */
void sw_instance_lines(const struct sw_instance *, struct sw_lines *);

#endif
