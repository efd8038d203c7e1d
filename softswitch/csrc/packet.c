/* The packet pool. */
#include "packet.h"

#include <stdlib.h>
#include <string.h>

/* With AddressSanitizer, free elements are poisoned, and so are the bytes between an element's
 * parts and behind the frame of a copy. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
#include <sanitizer/asan_interface.h>
enum { GUARD = 64 };
static void poison(const void *at, size_t n) { ASAN_POISON_MEMORY_REGION(at, n); }
static void unpoison(const void *at, size_t n) { ASAN_UNPOISON_MEMORY_REGION(at, n); }
#else
enum { GUARD = 0 };
static void poison(const void *at, size_t n) { (void)at, (void)n; }
static void unpoison(const void *at, size_t n) { (void)at, (void)n; }
#endif

enum { SLAB_SMALL = 64, SLAB_LARGE = 8, ALIGN = 64 };

static size_t aligned(size_t size) { return (size + ALIGN - 1) / ALIGN * ALIGN; }

void sw_pool_init(struct sw_pool *pool, uint32_t phv_size, uint32_t headroom, uint32_t max_small,
                  uint32_t max_large)
{
    *pool = (struct sw_pool){
        .phv_size = phv_size, .headroom = headroom, .max_small = max_small, .max_large = max_large};
}

void sw_pool_free(struct sw_pool *pool)
{
    while (pool->slabs != NULL) {
        void *next = *(void **)pool->slabs; /* free() unpoisons */
        free(pool->slabs);
        pool->slabs = next;
    }
    pool->free_small = pool->free_large = NULL;
    pool->n_small = pool->n_large = pool->used = 0;
}

static void grow(struct sw_pool *pool, bool small)
{
    uint32_t *allocated = small ? &pool->n_small : &pool->n_large;
    uint32_t room = (small ? pool->max_small : pool->max_large) - *allocated;
    uint32_t n = small ? SLAB_SMALL : SLAB_LARGE;
    if (n > room) n = room;
    if (n == 0) return;
    size_t head = aligned(sizeof(struct sw_pkt)), phv = aligned(pool->phv_size);
    size_t capacity =
        aligned((size_t)pool->headroom + SW_VLAN_TAG + (small ? SW_SMALL_FRAME : SW_MAX_FRAME));
    size_t element = head + phv + GUARD + capacity + GUARD;
    char *slab = aligned_alloc(ALIGN, ALIGN + n * element);
    if (slab == NULL) return;
    *(void **)slab = pool->slabs;
    pool->slabs = slab;
    *allocated += n;
    struct sw_pkt **list = small ? &pool->free_small : &pool->free_large;
    for (uint32_t i = n; i-- > 0;) {
        struct sw_pkt *pkt = (struct sw_pkt *)(void *)(slab + ALIGN + i * element);
        pkt->p.phv = (char *)pkt + head;
        pkt->buffer = (uint8_t *)pkt + head + phv + GUARD;
        pkt->capacity = (uint32_t)capacity;
        pkt->small = small;
        pkt->next = *list;
        *list = pkt;
        poison(pkt->p.phv, element - head);
    }
}

void sw_pkt_reset(const struct sw_pool *pool, struct sw_pkt *pkt)
{
    memset(pkt->p.phv, 0, pool->phv_size);
    pkt->p.std = (struct sw_std){0};
    pkt->p.req = SW_NO_REQUESTS;
}

struct sw_pkt *sw_pkt_new(struct sw_pool *pool, uint32_t length)
{
    if (length > SW_MAX_FRAME) return NULL;
    bool small = length <= SW_SMALL_FRAME;
    struct sw_pkt **list = small ? &pool->free_small : &pool->free_large;
    if (*list == NULL) grow(pool, small);
    struct sw_pkt *pkt = *list;
    if (pkt == NULL) return NULL;
    *list = pkt->next;
    pool->used++;
    unpoison(pkt->p.phv, pool->phv_size);
    unpoison(pkt->buffer, pkt->capacity);
    pkt->next = NULL;
    pkt->p.data = pkt->buffer + pool->headroom + SW_VLAN_TAG;
    pkt->p.length = pkt->p.length_register = length;
    pkt->truncate_to = UINT32_MAX;
    pkt->passes = 0;
    pkt->trimmed = false;
    sw_pkt_reset(pool, pkt);
    return pkt;
}

void sw_pkt_free(struct sw_pool *pool, struct sw_pkt *pkt)
{
    struct sw_pkt **list = pkt->small ? &pool->free_small : &pool->free_large;
    poison(pkt->p.phv, pool->phv_size);
    poison(pkt->buffer, pkt->capacity);
    pkt->next = *list;
    *list = pkt;
    pool->used--;
}

void sw_fifo_free(struct sw_pool *pool, struct sw_fifo *fifo)
{
    for (struct sw_pkt *pkt; (pkt = sw_fifo_pop(fifo)) != NULL;) sw_pkt_free(pool, pkt);
}

struct sw_pkt *sw_pkt_copy_bytes(struct sw_pool *pool, const uint8_t *data, uint32_t length)
{
    struct sw_pkt *copy = sw_pkt_new(pool, length);
    if (copy == NULL) return NULL;
    memcpy(copy->p.data, data, length);
    uint8_t *end = copy->p.data + length;
    poison(end, (size_t)(copy->buffer + copy->capacity - end));
    return copy;
}

struct sw_pkt *sw_pkt_take_frame(struct sw_pool *pool, struct sw_pkt *pkt)
{
    uint32_t length = pkt->p.length;
    struct sw_pkt *fresh = sw_pkt_new(pool, pkt->small ? 0 : SW_MAX_FRAME);
    if (fresh == NULL) return NULL;
    uint8_t *buffer = fresh->buffer;
    fresh->buffer = pkt->buffer;
    fresh->p.data = pkt->p.data;
    fresh->p.length = fresh->p.length_register = length;
    pkt->buffer = pkt->p.data = buffer;
    pkt->p.length = 0;
    return fresh;
}

struct sw_pkt *sw_pkt_restore_headroom(struct sw_pool *pool, struct sw_pkt *pkt)
{
    uint32_t at = pool->headroom + SW_VLAN_TAG, length = pkt->p.length;
    if (length <= SW_MAX_FRAME) {
        if ((size_t)(pkt->p.data - pkt->buffer) >= pool->headroom) return pkt;
        if (length <= pkt->capacity - at) {
            unpoison(pkt->buffer, pkt->capacity);
            memmove(pkt->buffer + at, pkt->p.data, length);
            pkt->p.data = pkt->buffer + at;
            return pkt;
        }
    }
    struct sw_pkt *copy = sw_pkt_copy_bytes(pool, pkt->p.data, length);
    if (copy != NULL) {
        memcpy(copy->p.phv, pkt->p.phv, pool->phv_size);
        copy->p.std = pkt->p.std;
        copy->passes = pkt->passes;
    }
    sw_pkt_free(pool, pkt);
    return copy;
}
