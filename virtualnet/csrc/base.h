/* What every part of the engine uses: numbers that mean "none" and "never", and assertions. */
#ifndef VN_BASE_H
#define VN_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VN_NEVER UINT64_MAX
#define VN_NONE UINT32_MAX
#define VN_ALWAYS static inline __attribute__((always_inline))
#define VN_OFFERED static __attribute__((unused)) /* to kinds of other folders */

enum { VN_CLASSES = 8 };

/* Of an engine that moves a live switch's packets (live/live.c): these are the switch's own
 * (softswitch/csrc/packet.h), with their frame, headers and metadata, and lent to it. A packet here
 * has no more than its place in queues. */
#ifndef VN_LENT
#define VN_LENT false
#endif

/* States a part's invariant. Builds of tests and sanitizers (-DVN_ASSERTIONS) check it, and end the
 * process where it doesn't hold; the shipped build doesn't compute it. */
#ifdef VN_ASSERTIONS
#include <stdio.h>
#include <stdlib.h>
#define VN_ASSERT(condition)                                                                       \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %s doesn't hold\n", __FILE__, __LINE__, __func__,          \
                    #condition);                                                                   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)
#else
#define VN_ASSERT(condition) ((void)sizeof(!(condition)))
#endif

#endif
