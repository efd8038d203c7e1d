/* A hash map of nodes by their first n words, for the indexes: open addressing by buckets, each a cache line.
 *
 * A bucket has eight tags beside the references to their nodes, and is searched without a branch on what it holds. A full
 * one goes on in the next. A key of up to 32 bits is its own tag, so such a lookup touches no node; of longer keys the tag
 * is half of the hash, and the node is compared. */
#ifndef SW_MAP_H
#define SW_MAP_H

#include "table.h"

enum { SW_BUCKET = 8 };

/* A cache line. A reference is a handle plus one; 0: free. */
struct sw_bucket { uint32_t tags[SW_BUCKET], references[SW_BUCKET]; };

struct sw_map {
    struct sw_bucket *buckets; /* NULL: empty */
    uint32_t mask, count;      /* mask: buckets - 1 */
    uint32_t n_words;
    bool narrow; /* the words are one of up to 32 bits: the tag is the key */
    bool spills; /* some bucket went on in the next, or may have */
};

void sw_map_init(struct sw_map *, uint32_t key_bytes, uint32_t n_words);
void sw_map_free(struct sw_map *);
/* The node that has these words, or NULL. Chained ones: the first. For any map: */
struct sw_node *sw_map_find(const struct sw_map *, const struct sw_nodes *, const uint64_t *words, uint64_t hash);
int sw_map_insert(struct sw_map *, const struct sw_nodes *, const struct sw_node *); /* 0, -ENOMEM; it isn't there yet */
void sw_map_remove(struct sw_map *, const struct sw_nodes *, const struct sw_node *);
/* Another node with the same words stands in its place. */
void sw_map_replace(struct sw_map *, const struct sw_node *old, const struct sw_node *new);

/* Of a narrow map, whose hash needs no loop. */
static inline uint32_t sw_map_mix(uint64_t word, uint64_t seed) { return (word ^ seed) * 0x9e3779b97f4a7c15u >> 32; }

static inline const struct sw_bucket *sw_map_home(const struct sw_map *map, uint32_t word, uint64_t seed)
{
    return &map->buckets[sw_map_mix(word, seed) & map->mask];
}

typedef uint32_t sw_four __attribute__((vector_size(16)));

/* All lanes of two vectors in one, by or. */
static inline uint32_t sw_map_or(sw_four low, sw_four high)
{
    union { sw_four four; uint64_t two[2]; } all = {.four = low | high};
    uint64_t both = all.two[0] | all.two[1];
    return (uint32_t)(both | both >> 32);
}

/* What comparisons of eight, four and four, say: a bit each. */
static inline uint32_t sw_map_lanes(sw_four low, sw_four high)
{
#ifdef __SSE__
    typedef float floats __attribute__((vector_size(16)));
    return (uint32_t)(__builtin_ia32_movmskps((floats)low) | __builtin_ia32_movmskps((floats)high) << 4);
#else
    const sw_four low_bits = {1, 2, 4, 8}, high_bits = {16, 32, 64, 128};
    return sw_map_or(low & low_bits, high & high_bits);
#endif
}

/* The same as sw_map_find, for a narrow map. At most one slot that isn't free has this tag, and a free one has no reference: so
 * what matches is the or of the slots' references, of which those with other tags count as none. */
static inline struct sw_node *sw_map_find_narrow(const struct sw_map *map, const struct sw_nodes *nodes, uint32_t word,
                                                 uint64_t seed)
{
    if (map->buckets == NULL) return NULL;
    const struct sw_bucket *bucket = sw_map_home(map, word, seed);
    const sw_four *tags = (const sw_four *)bucket->tags, *references = (const sw_four *)bucket->references;
    uint32_t reference = sw_map_or((sw_four)(tags[0] == word) & references[0], (sw_four)(tags[1] == word) & references[1]);
    if (__builtin_expect(reference == 0, 0)) {
        if (!map->spills) return NULL;
        uint64_t words = word;
        return sw_map_find(map, nodes, &words, (uint64_t)word << 32 | sw_map_mix(word, seed));
    }
    return sw_node_at(nodes, reference - 1);
}

/* The tag above, what says the bucket below. */
static inline uint64_t sw_map_hash(const struct sw_map *map, const uint64_t *words, uint64_t seed)
{
    uint64_t hash = seed;
    if (map->narrow) return words[0] << 32 | sw_map_mix(words[0], seed);
    for (uint32_t i = 0; i < map->n_words; i++) {
        unsigned __int128 product = (unsigned __int128)(words[i] ^ hash) * 0x9e3779b97f4a7c15u;
        hash = (uint64_t)product ^ (uint64_t)(product >> 64) ^ 0xa0761d6478bd642fu;
    }
    return hash;
}

#endif
