/* The hash map that exact and LPM tables use. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "map.h"

void *sw_alloc_aligned(size_t bytes)
{
    size_t unit = bytes < SW_HUGE_PAGE / 2 ? SW_LINE : SW_HUGE_PAGE;
    size_t whole = (bytes + unit - 1) / unit * unit;
    void *memory = aligned_alloc(unit, whole);
    /* may fail: small pages do */
    if (memory != NULL && unit == SW_HUGE_PAGE) madvise(memory, whole, MADV_HUGEPAGE);
    return memory;
}

void sw_map_init(struct sw_map *map, uint32_t key_bytes, uint32_t n_words)
{
    *map = (struct sw_map){.n_words = n_words, .narrow = key_bytes <= 4 && n_words == 1};
}

void sw_map_free(struct sw_map *map)
{
    free(map->buckets);
    map->buckets = NULL;
}

static inline uint32_t used_slots(const struct sw_bucket *bucket)
{
    const sw_u32x4 *references = (const sw_u32x4 *)bucket->references;
    return sw_lane_mask((sw_u32x4)(references[0] != 0), (sw_u32x4)(references[1] != 0));
}

static inline uint32_t tagged_slots(const struct sw_bucket *bucket, uint32_t tag)
{
    const sw_u32x4 *tags = (const sw_u32x4 *)bucket->tags;
    return sw_lane_mask((sw_u32x4)(tags[0] == tag), (sw_u32x4)(tags[1] == tag));
}

struct sw_node *sw_map_find(const struct sw_map *map, const struct sw_nodes *nodes,
                            const uint64_t *words, uint64_t hash)
{
    if (map->buckets == NULL) return NULL;
    for (uint32_t i = (uint32_t)hash & map->mask;; i = (i + 1) & map->mask) {
        const struct sw_bucket *bucket = &map->buckets[i];
        for (uint32_t slots = tagged_slots(bucket, hash >> 32); slots != 0; slots &= slots - 1) {
            uint32_t reference = bucket->references[__builtin_ctz(slots)];
            if (reference == 0) continue; /* a free slot, with an old tag */
            struct sw_node *node = sw_node_at(nodes, reference - 1);
            if (map->narrow) return node;
            uint32_t k = 0;
            while (k < map->n_words && node->words[k] == words[k]) k++;
            if (k == map->n_words) return node;
        }
        if (!map->overflows || used_slots(bucket) != (1u << SW_BUCKET) - 1) return NULL;
    }
}

static void put_reference(struct sw_map *map, uint64_t hash, uint32_t reference)
{
    uint32_t i = (uint32_t)hash & map->mask, used;
    while ((used = used_slots(&map->buckets[i])) == (1u << SW_BUCKET) - 1) {
        i = (i + 1) & map->mask;
        map->overflows = true;
    }
    uint32_t slot = (uint32_t)__builtin_ctz(~used);
    map->buckets[i].tags[slot] = hash >> 32;
    map->buckets[i].references[slot] = reference;
}

int sw_map_insert(struct sw_map *map, const struct sw_nodes *nodes, const struct sw_node *node)
{
    uint32_t buckets = map->buckets == NULL ? 0 : map->mask + 1;
    if ((uint64_t)map->count * 5 >= (uint64_t)buckets * SW_BUCKET * 4) { /* four fifths full */
        struct sw_map bigger = *map;
        bigger.mask = buckets == 0 ? 0 : buckets * 2 - 1;
        bigger.overflows = false;
        size_t size = ((size_t)bigger.mask + 1) * sizeof *bigger.buckets;
        bigger.buckets = sw_alloc_aligned(size);
        if (bigger.buckets == NULL) return -ENOMEM;
        memset(bigger.buckets, 0, size);
        for (uint32_t i = 0; i < buckets * SW_BUCKET; i++) {
            uint32_t reference = map->buckets[i / SW_BUCKET].references[i % SW_BUCKET];
            if (reference != 0)
                put_reference(&bigger, sw_node_at(nodes, reference - 1)->hash, reference);
        }
        free(map->buckets);
        *map = bigger;
    }
    put_reference(map, node->hash, node->entry.handle + 1);
    map->count++;
    return 0;
}

/* The bucket and slot of a node. */
static void find_reference(const struct sw_map *map, const struct sw_node *node, uint32_t *bucket,
                           uint32_t *slot)
{
    for (uint32_t i = (uint32_t)node->hash & map->mask;; i = (i + 1) & map->mask) {
        for (uint32_t k = 0; k < SW_BUCKET; k++) {
            if (map->buckets[i].references[k] != node->entry.handle + 1) continue;
            *bucket = i;
            *slot = k;
            return;
        }
    }
}

/* Entries that overflowed from a full bucket move back into the free slot, so that no tombstones
 * are needed. */
void sw_map_remove(struct sw_map *map, const struct sw_nodes *nodes, const struct sw_node *node)
{
    uint32_t hole, slot;
    find_reference(map, node, &hole, &slot);
    bool full = used_slots(&map->buckets[hole]) == (1u << SW_BUCKET) - 1;
    map->buckets[hole].references[slot] = 0;
    map->count--;
    for (uint32_t i = (hole + 1) & map->mask; full && i != hole; i = (i + 1) & map->mask) {
        struct sw_bucket *bucket = &map->buckets[i];
        full = used_slots(bucket) == (1u << SW_BUCKET) - 1;
        for (uint32_t k = 0; k < SW_BUCKET; k++) {
            if (bucket->references[k] == 0) continue;
            uint32_t home =
                (uint32_t)sw_node_at(nodes, bucket->references[k] - 1)->hash & map->mask;
            if (((i - home) & map->mask) < ((i - hole) & map->mask)) continue;
            map->buckets[hole].tags[slot] = bucket->tags[k];
            map->buckets[hole].references[slot] = bucket->references[k];
            bucket->references[k] = 0;
            hole = i;
            slot = k;
            break;
        }
    }
}
