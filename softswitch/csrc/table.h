/* Match-action tables: entries by handle, one index a match kind.
 *
 * Not thread-safe: the switch's lock, or the single thread of the virtual clock, guards them. */
#ifndef SW_TABLE_H
#define SW_TABLE_H

#include "pipeline.h"
#include "state.h"

enum { SW_TABLE_MAX_KEY = 512 /* bytes */ };

/* A meter bound to an entry, and what the table knows of it beyond what programs see. */
struct sw_node {
    struct sw_entry entry; /* first: programs hold pointers to it */
    struct sw_meter meter;
    uint64_t hash;        /* of words[], exact and ternary */
    struct sw_node *next; /* ternary: same mask and masked key, in order of rank */
    int64_t rank;         /* the lower wins */
    int32_t prefix;       /* LPM: bits of the lpm field */
    uint32_t n_args, args_capacity;
    /* Key in whole words; ternary: masked key, then mask; range: then lower and upper bounds of all fields. */
    uint64_t words[];
};

/* Whether a program has this action, with so many words of arguments: 0, or -EINVAL and why. */
int sw_check_action(const struct sw_program *, uint32_t action, uint32_t n_args, const char **why);

/* NULL where memory is out or the specification can't be run; why: a static string. */
struct sw_table *sw_table_new(const struct sw_table_spec *, const struct sw_program *, uint64_t seed, const char **why);
void sw_table_free(struct sw_table *);
const struct sw_table_spec *sw_table_spec_of(const struct sw_table *);
uint32_t sw_table_count(const struct sw_table *);

/* As switch.h's functions; rank: the lower wins, ties go to the lower handle. */
int64_t sw_table_insert(struct sw_table *, const uint8_t *key, const uint8_t *mask, int32_t prefix, int64_t rank,
                        uint32_t action, const uint64_t *args, uint32_t n_args, const char **why);
int sw_table_change(struct sw_table *, uint32_t handle, uint32_t action, const uint64_t *args, uint32_t n_args,
                    const char **why);
int sw_table_remove(struct sw_table *, uint32_t handle, const char **why);
int sw_table_default(struct sw_table *, uint32_t action, const uint64_t *args, uint32_t n_args, const char **why);
/* handle -1: the default entry, which exists even where a miss does nothing. NULL: no such handle. */
struct sw_node *sw_table_node(struct sw_table *, int64_t handle);

/* ---- the indexes (exact.c, lpm.c, ternary.c): one shape, so that table.c holds no match kind's detail ---- */

struct sw_index {
    void *(*create)(const struct sw_table_spec *, uint64_t seed);
    void (*destroy)(void *index);
    /* Words that a node of this table needs. */
    uint32_t (*words)(const struct sw_table_spec *);
    /* Fills node->words (and hash) from a key in the table's layout. */
    void (*prepare)(void *index, struct sw_node *, const uint8_t *key, const uint8_t *mask);
    /* 0, -EEXIST or -ENOMEM. */
    int (*insert)(void *index, struct sw_node *);
    void (*remove)(void *index, struct sw_node *);
    struct sw_node *(*find)(void *index, const uint8_t *key);
};

extern const struct sw_index sw_index_exact, sw_index_lpm, sw_index_ternary;

/* ---- a hash map of nodes by the first n words, for the indexes ---- */

struct sw_map_slot { uint64_t hash; struct sw_node *node; };
struct sw_map { struct sw_map_slot *slots; uint32_t mask, count; /* mask: slots - 1, or slots == NULL */ };

void sw_map_free(struct sw_map *);
/* The slot whose node has these words, or NULL. */
struct sw_map_slot *sw_map_find(const struct sw_map *, const uint64_t *words, uint32_t n_words, uint64_t hash);
int sw_map_insert(struct sw_map *, struct sw_node *);           /* 0 or -ENOMEM; the key isn't there yet */
void sw_map_remove(struct sw_map *, struct sw_map_slot *);

static inline uint64_t sw_hash_words(const uint64_t *words, uint32_t n_words, uint64_t seed)
{
    uint64_t hash = seed;
    for (uint32_t i = 0; i < n_words; i++) {
        unsigned __int128 product = (unsigned __int128)(words[i] ^ hash) * 0x9e3779b97f4a7c15u;
        hash = (uint64_t)product ^ (uint64_t)(product >> 64) ^ 0xa0761d6478bd642fu;
    }
    return hash;
}

/* Whole words from n bytes, the rest zero. Returns the words written. */
static inline uint32_t sw_load_words(uint64_t *words, const uint8_t *bytes, uint32_t n)
{
    uint32_t n_words = (n + 7) / 8;
    if (n_words != 0) {
        words[n_words - 1] = 0;
        __builtin_memcpy(words, bytes, n);
    }
    return n_words;
}

#endif
