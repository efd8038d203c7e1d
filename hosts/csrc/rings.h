/* Growing FIFOs of elements of one size. */
#ifndef HOSTS_RINGS_H
#define HOSTS_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { RINGS_FIRST_CAPACITY = 64 };

/* A ring buffer; its size is a power of two. */
struct ring {
    void *all;
    size_t element;
    uint32_t capacity, head, count;
};

static inline void *ring_at(const struct ring *ring, uint32_t ahead)
{
    return (char *)ring->all + ((ring->head + ahead) & (ring->capacity - 1)) * ring->element;
}

/* Makes room for one more. False: no memory. */
static inline bool ring_grow(struct ring *ring)
{
    if (ring->count < ring->capacity) return true;
    uint32_t capacity = ring->capacity ? 2 * ring->capacity : RINGS_FIRST_CAPACITY;
    char *all = malloc(capacity * ring->element);
    if (all == NULL) return false;
    for (uint32_t i = 0; i < ring->count; i++)
        memcpy(all + i * ring->element, ring_at(ring, i), ring->element);
    free(ring->all);
    ring->all = all;
    ring->capacity = capacity;
    ring->head = 0;
    return true;
}

static inline void ring_push(struct ring *ring, const void *element)
{
    memcpy(ring_at(ring, ring->count++), element, ring->element);
}

static inline void ring_pop(struct ring *ring)
{
    ring->head = (ring->head + 1) & (ring->capacity - 1);
    ring->count--;
}

#endif
