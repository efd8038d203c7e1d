/* Match-action tables: entries by handle, one index a match kind.
 *
 * Not thread-safe: the switch's lock, or the single thread of the virtual clock, guards them. */
#ifndef SW_TABLE_H
#define SW_TABLE_H

#include "cache_lines.h"
#include "state.h"

enum { SW_TABLE_MAX_KEY = 512 /* bytes */ };

/* An entry, in a cache line, and what the table knows of it beyond what programs see; a whole number of lines. */
struct sw_node {
    struct sw_entry entry; /* first: programs hold pointers to it */
    uint64_t hash;        /* sw_map_hash of words[], where the index has a map */
    struct sw_node *next; /* of a free one: the next free one */
    int64_t rank;         /* the lower wins */
    int32_t prefix;       /* LPM: bits of the lpm field */
    uint32_t n_args, args_capacity;
    /* Key in whole words; LPM: then the prefix; ternary: masked key, then mask; range: then lower and upper bounds of all
     * fields. */
    uint64_t words[];
};

enum { SW_LINE = 64, SW_HUGE_PAGE = 2 << 20 };

/* Memory that begins with a cache line, for what is read at random places: of much, huge pages where the system has them, since
 * else each read would look for its page as well. Not zeroed. free() frees it; NULL: none. */
void *sw_spread_alloc(size_t bytes);

/* Whether a program has this action, with so many words of arguments: 0, or -EINVAL and why. */
int sw_check_action(const struct sw_program *, uint32_t action, uint32_t n_args, const char **why);

/* NULL where memory is out or the specification can't be run; why: a static string. */
struct sw_table *sw_table_new(const struct sw_table_spec *, const struct sw_program *, uint64_t seed, const char **why);
void sw_table_free(struct sw_table *);
const struct sw_table_spec *sw_table_spec_of(const struct sw_table *);
uint32_t sw_table_count(const struct sw_table *);
void sw_table_cache_lines(const struct sw_table *, struct sw_cache_lines *); /* adds the table's lines */

/* As switch.h's functions; rank: the lower wins, ties go to the lower handle. */
int64_t sw_table_insert(struct sw_table *, const uint8_t *key, const uint8_t *mask, int32_t prefix, int64_t rank,
                        uint32_t action, const uint64_t *args, uint32_t n_args, const char **why);
int sw_table_change(struct sw_table *, uint32_t handle, uint32_t action, const uint64_t *args, uint32_t n_args,
                    const char **why);
int sw_table_remove(struct sw_table *, uint32_t handle, const char **why);
int sw_table_default(struct sw_table *, uint32_t action, const uint64_t *args, uint32_t n_args, const char **why);
/* When it was used last, if the table keeps that. */
void sw_node_used(const struct sw_table *, struct sw_node *, uint64_t now_us);
/* handle -1: the default entry, which exists even where a miss does nothing. NULL: no such handle. */
struct sw_node *sw_table_node(struct sw_table *, int64_t handle);

/* ---- the indexes (exact.c, lpm.c, ternary.c): one shape, so that table.c holds no match kind's detail ---- */

struct sw_index {
    size_t bytes; /* of an index. It stands beside its table's fields: so a lookup doesn't wait for one to find the other */
    /* Zeroed memory becomes an index of this table, whose nodes it finds by handle. False: no memory, and nothing to close. */
    bool (*open)(void *index, const struct sw_table_spec *, const struct sw_nodes *, uint64_t seed);
    void (*close)(void *index);
    /* Words that a node of this table needs. */
    uint32_t (*words)(const struct sw_table_spec *);
    /* Fills node->words (and hash) from a key in the table's layout. */
    void (*prepare)(void *index, struct sw_node *, const uint8_t *key, const uint8_t *mask);
    /* 0, -EEXIST or -ENOMEM. */
    int (*insert)(void *index, struct sw_node *);
    void (*remove)(void *index, struct sw_node *);
    struct sw_node *(*find)(void *index, const uint8_t *key);
    uint32_t few; /* with more entries, keys aren't remembered: where they are forgotten again, `find` alone is quicker */
    /* NULL; or programs look keys up in the index by themselves (lookup.h): says where. Called whenever an entry came or went. */
    void (*show)(const void *index, struct sw_table_head *);
};

const struct sw_index *sw_index_exact(const struct sw_table_spec *);
const struct sw_index *sw_index_lpm(const struct sw_table_spec *);
const struct sw_index *sw_index_ternary(const struct sw_table_spec *);

/* Whole words from n bytes, the rest zero. Returns the words written. */
static inline uint32_t sw_load_words(uint64_t *words, const uint8_t *bytes, uint32_t n)
{
    uint32_t n_words = (n + 7) / 8, four;
    if (n == 4) { /* of a length that the compiler knows: one load */
        __builtin_memcpy(&four, bytes, 4);
        words[0] = four;
    } else if (n_words != 0) {
        words[n_words - 1] = 0;
        __builtin_memcpy(words, bytes, n);
    }
    return n_words;
}

#endif
