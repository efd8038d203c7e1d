/* Events: memory, and the sorting of arrivals. */
#include "time/events.h"

#include <stdlib.h>
#include <string.h>

bool vn_event_queue_grow(struct vn_event_queue *queue)
{
    uint32_t capacity = queue->capacity == 0 ? 16 : 2 * queue->capacity;
    struct vn_event *events = realloc(queue->events, capacity * sizeof *events);
    if (events == NULL) return false;
    queue->events = events;
    queue->capacity = capacity;
    return true;
}

bool vn_tournament_grow(struct vn_tournament *events, uint32_t slots)
{
    uint32_t n = events->n == 0 ? 1 : events->n;
    if (slots <= events->n) return true;
    while (n < slots) n *= 2;
    struct vn_event *at = aligned_alloc(64, (2 * n * sizeof *at + 63) / 64 * 64);
    if (at == NULL) return false;
    for (uint32_t slot = 0; slot < n; slot++) {
        at[n + slot] =
            slot < events->n ? events->at[events->n + slot] : (struct vn_event){VN_NEVER, 0};
    }
    for (uint32_t i = n - 1; i > 0; i--)
        at[i] = vn_before(at[2 * i + 1], at[2 * i]) ? at[2 * i + 1] : at[2 * i];
    free(events->at);
    *events = (struct vn_tournament){at, n, VN_CLOSED};
    return true;
}

/* Insertion sort, for short or nearly sorted arrays. */
static void insert(struct vn_listed *array, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        struct vn_listed next = array[i];
        uint32_t at = i;
        for (; at > 0 && array[at - 1].time > next.time; at--) array[at] = array[at - 1];
        if (at != i) array[at] = next;
    }
}

enum { MOST_BITS = 9 }; /* of a digit */

/* One pass of radix sort, by `bits` bits of the times since `first`. */
static void distribute(const struct vn_listed *from, struct vn_listed *to, uint32_t n,
                       uint64_t first, uint32_t shift, uint32_t bits)
{
    uint32_t places[1 << MOST_BITS], place = 0, values = 1u << bits;
    memset(places, 0, values * sizeof *places);
    for (uint32_t i = 0; i < n; i++) places[(from[i].time - first) >> shift & (values - 1)]++;
    for (uint32_t value = 0; value < values; value++) {
        uint32_t count = places[value];
        places[value] = place;
        place += count;
    }
    for (uint32_t i = 0; i < n; i++)
        to[places[(from[i].time - first) >> shift & (values - 1)]++] = from[i];
}

/* Radix sort, which has no unpredictable branch, by the most significant digit in which times can
 * differ, of two to four values for each element; for large arrays, by the two most significant.
 * Few pairs are then out of order: insertion sort does the rest. */
struct vn_listed *vn_sort(struct vn_listed *array, struct vn_listed *spare, uint32_t n,
                          uint64_t first, uint64_t last)
{
    enum { FEW = 24, MANY = 1024 };
    uint32_t bits = 64 - (uint32_t)__builtin_clzll((last - first) | 1);
    uint32_t digit_bits = n >= 128 ? MOST_BITS : 33 - (uint32_t)__builtin_clz(n | 1);
    for (uint32_t digit = n < FEW ? 0 : n < MANY ? 1 : 2; digit > 0; digit--) {
        uint32_t shift = bits > digit_bits * digit ? bits - digit_bits * digit : 0;
        distribute(array, spare, n, first, shift, digit_bits);
        struct vn_listed *sorted = spare;
        spare = array;
        array = sorted;
    }
    insert(array, n);
    return array;
}
