/* Match-action tables: entries by handle, one index a match kind.
 *
 * Not thread-safe: the switch's lock, or, in virtual time, the single thread guards them. */
#ifndef SW_TABLE_H
#define SW_TABLE_H

#include "cache_lines.h"
#include "state.h"

enum { SW_TABLE_MAX_KEY = 512 /* bytes */ };

/* An entry (one cache line), then the table's own data about it. Padded to whole lines. */
struct sw_node {
    struct sw_entry entry; /* first: programs hold pointers to it */
    uint64_t hash;        /* sw_map_hash of words[], where the index has a map */
    struct sw_node *next; /* free list */
    int64_t rank;         /* the lower wins */
    int32_t prefix;       /* LPM: bits of the lpm field */
    uint32_t n_args, args_capacity;
    /* Key, padded to whole words; LPM: then the prefix length; ternary: masked key, then mask; with
     * ranges: then the lower and the upper bounds, in the key's layout. */
    uint64_t words[];
};

enum { SW_LINE = 64, SW_HUGE_PAGE = 2 << 20 };

/* Memory for random access, aligned to a cache line; large blocks ask for huge pages, to save TLB
 * misses. Not zeroed. free() frees it. NULL: no memory. */
void *sw_alloc_aligned(size_t bytes);

/* Whether a program has this action, with so many words of arguments: 0, or -EINVAL and why. */
int sw_check_action(const struct sw_program *, uint32_t action, uint32_t n_args, const char **why);

/* NULL: out of memory, or an invalid specification; why: a static string. */
struct sw_table *sw_table_new(const struct sw_table_spec *, const struct sw_program *,
                              uint64_t seed, const char **why);
void sw_table_free(struct sw_table *);
const struct sw_table_spec *sw_table_spec_of(const struct sw_table *);
uint32_t sw_table_count(const struct sw_table *);
/* adds the table's lines */
void sw_table_cache_lines(const struct sw_table *, struct sw_cache_lines *);

/* Like switch.h's calls; rank: the lower wins, ties go to the lower handle. */
int64_t sw_table_insert(struct sw_table *, const uint8_t *key, const uint8_t *mask, int32_t prefix,
                        int64_t rank, uint32_t action, const uint64_t *args, uint32_t n_args,
                        const char **why);
int sw_table_change(struct sw_table *, uint32_t handle, uint32_t action, const uint64_t *args,
                    uint32_t n_args, const char **why);
int sw_table_remove(struct sw_table *, uint32_t handle, const char **why);
int sw_table_default(struct sw_table *, uint32_t action, const uint64_t *args, uint32_t n_args,
                     const char **why);
/* Sets the time of the last hit, if the table has idle timeouts. */
void sw_node_touch(const struct sw_table *, struct sw_node *, uint64_t now_us);
/* handle -1: the default entry, which exists even where a miss does nothing. NULL: no such
 * handle. */
struct sw_node *sw_table_node(struct sw_table *, int64_t handle);

/* ---- the indexes (exact.c, lpm.c, ternary.c): one interface for all match kinds ---- */

struct sw_index {
    size_t bytes; /* of an index, which is part of its table: a lookup needs no pointer to it */
    /* Initializes an index in zeroed memory. False: no memory; needs no close. */
    bool (*open)(void *index, const struct sw_table_spec *, const struct sw_nodes *, uint64_t seed);
    void (*close)(void *index);
    /* The number of words in a node. */
    uint32_t (*words)(const struct sw_table_spec *);
    /* Fills node->words (and hash) from a key in the table's layout. */
    void (*prepare)(void *index, struct sw_node *, const uint8_t *key, const uint8_t *mask);
    /* 0, -EEXIST or -ENOMEM. */
    int (*insert)(void *index, struct sw_node *);
    void (*remove)(void *index, struct sw_node *);
    struct sw_node *(*find)(void *index, const uint8_t *key);
    /* with more entries the key cache is off: it would miss too often, and `find` alone is
     * faster */
    uint32_t cache_limit;
    /* For indexes that lookup.h reads directly, else NULL: fills in the head. Called after each
     * insertion or removal. */
    void (*publish)(const void *index, struct sw_table_head *);
};

const struct sw_index *sw_index_exact(const struct sw_table_spec *);
const struct sw_index *sw_index_lpm(const struct sw_table_spec *);
const struct sw_index *sw_index_ternary(const struct sw_table_spec *);

/* Loads n bytes into whole words, zero-padded. Returns the number of words. */
static inline uint32_t sw_load_words(uint64_t *words, const uint8_t *bytes, uint32_t n)
{
    uint32_t n_words = (n + 7) / 8, four;
    if (n == 4) { /* constant length: one load */
        __builtin_memcpy(&four, bytes, 4);
        words[0] = four;
    } else if (n_words != 0) {
        words[n_words - 1] = 0;
        __builtin_memcpy(words, bytes, n);
    }
    return n_words;
}

#endif
