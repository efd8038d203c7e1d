/* A hash map of nodes by their first n words, for the indexes: open addressing by buckets of one
 * cache line.
 *
 * A bucket has eight tags and eight references to nodes, compared by SIMD without branches. A
 * full bucket overflows into the next. A key of up to 32 bits is its own tag, so its lookup
 * reads no node. Of a longer key the tag is the upper 32 bits of the hash, and the node's words
 * are compared. */
#ifndef SW_MAP_H
#define SW_MAP_H

#include "table.h"

struct sw_map {
    struct sw_bucket *buckets; /* NULL: empty */
    uint32_t mask, count;      /* mask: buckets - 1 */
    uint32_t n_words;
    bool narrow; /* the key has up to 32 bits, and is its own tag */
    bool overflows; /* some bucket may have overflowed */
};

void sw_map_init(struct sw_map *, uint32_t key_bytes, uint32_t n_words);
void sw_map_free(struct sw_map *);
/* The node that has these words, or NULL. */
struct sw_node *sw_map_find(const struct sw_map *, const struct sw_nodes *, const uint64_t *words,
                            uint64_t hash);
/* no duplicate. 0 or -ENOMEM */
int sw_map_insert(struct sw_map *, const struct sw_nodes *, const struct sw_node *);
void sw_map_remove(struct sw_map *, const struct sw_nodes *, const struct sw_node *);

/* Two vectors of comparison results as an 8-bit mask. */
static inline uint32_t sw_lane_mask(sw_u32x4 low, sw_u32x4 high)
{
#ifdef __SSE__
    typedef float floats __attribute__((vector_size(16)));
    return (uint32_t)(__builtin_ia32_movmskps((floats)low) | __builtin_ia32_movmskps((floats)high)
                                                                 << 4);
#else
    const sw_u32x4 low_bits = {1, 2, 4, 8}, high_bits = {16, 32, 64, 128};
    return sw_or(low & low_bits, high & high_bits);
#endif
}

/* Upper 32 bits: the tag; lower 32 bits: choose the bucket. */
static inline uint64_t sw_map_hash(const struct sw_map *map, const uint64_t *words, uint64_t seed)
{
    uint64_t hash = seed;
    if (map->narrow) return words[0] << 32 | sw_narrow_hash(words[0], seed);
    for (uint32_t i = 0; i < map->n_words; i++) {
        unsigned __int128 product = (unsigned __int128)(words[i] ^ hash) * 0x9e3779b97f4a7c15u;
        hash = (uint64_t)product ^ (uint64_t)(product >> 64) ^ 0xa0761d6478bd642fu;
    }
    return hash;
}

#endif
