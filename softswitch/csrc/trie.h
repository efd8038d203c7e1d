/* The parts of an LPM table's trie: slots, paths and lists of prefixes, in one arena. How they go together is lpm.c's. */
#ifndef SW_TRIE_H
#define SW_TRIE_H

#include "map.h"

enum {
    SW_STRIDE = 6,             /* bits of a node that isn't the root */
    SW_SHORT = 4, SW_LONG = 8, /* prefixes of a list */
    SW_WINDOW = 32,            /* bits of the key that lists and paths compare */
};

/* What is below a slot: where in the arena, in bytes, and a kind. A path is in a place of the size of a short list. */
enum sw_kind { SW_SHORT_LIST, SW_LONG_LIST, SW_NODE, SW_PATH, SW_KINDS };
typedef uint32_t sw_child_t; /* 0: nothing, which is the empty short list at place 0 */

struct sw_slot { uint32_t best /* a reference: handle + 1, or 0 */; sw_child_t child; };

/* A list has the bits of its prefixes, as many as it has room for, then their references. The bits are those from where the
 * list begins, and then a one: so the lowest that is one says how many there are. Of a prefix with more it has the first 31.
 * What is free is zero, which has no bits and agrees with every key: but it comes last, and refers to nothing. */
enum { SW_LISTED_BITS = 31 };

struct sw_path { uint32_t bits, length; sw_child_t child; }; /* length: a multiple of SW_STRIDE */

struct sw_unit { _Alignas(32) uint32_t list[2 * SW_SHORT]; };

struct sw_trie {
    struct sw_slot *root;
    uint32_t root_bits;
    struct sw_unit *arena;
    uint32_t used, capacity, free[SW_KINDS]; /* units; the first free place of each size, which holds the next; 0: none */
};

static inline enum sw_kind sw_trie_kind(sw_child_t child) { return child & 3; }
static inline struct sw_unit *sw_trie_place(const struct sw_trie *trie, sw_child_t child)
{
    return (struct sw_unit *)((char *)trie->arena + (child & -(uint32_t)sizeof(struct sw_unit)));
}

static inline uint32_t *sw_trie_list(const struct sw_trie *trie, sw_child_t c) { return sw_trie_place(trie, c)->list; }
static inline uint32_t sw_list_room(sw_child_t list) { return (uint32_t)SW_SHORT << (list & 1); }

static inline struct sw_slot *sw_trie_slots(const struct sw_trie *trie, sw_child_t child)
{
    return (struct sw_slot *)sw_trie_place(trie, child);
}

static inline struct sw_path *sw_trie_path(const struct sw_trie *trie, sw_child_t child)
{
    return (struct sw_path *)sw_trie_place(trie, child);
}

/* Room for what the insertion of one prefix of so many bits may take, so that it can't fail half way: 0 or -ENOMEM. */
int sw_trie_reserve(struct sw_trie *, uint32_t key_bits);
/* A zeroed place; places of two units and more begin with a cache line. There is room for it. */
sw_child_t sw_trie_new_place(struct sw_trie *, enum sw_kind);
void sw_trie_free_place(struct sw_trie *, sw_child_t);
void sw_trie_free(struct sw_trie *);

/* Into a list that has room, before the first that isn't longer: an entry whose prefix goes on for `length` bits, at least
 * one, from where the list begins. `bits`: a window of these. */
void sw_list_add(const struct sw_nodes *, uint32_t *list, uint32_t room, const struct sw_node *, uint32_t bits, uint32_t length);
void sw_list_remove(uint32_t *list, uint32_t room, const struct sw_node *);
static inline bool sw_list_full(const uint32_t *list, uint32_t room) { return list[2 * room - 1] != 0; }

/* Which of four prefixes agree with a key: all ones. */
static inline sw_four sw_list_agreeing_four(sw_four bits, uint32_t key)
{
    return (sw_four)(((bits ^ key) & ~(bits ^ (bits - 1))) == 0);
}

/* Which prefixes of a list agree with a key, a bit each, the longest the lowest. Of a short one both halves are the same: how
 * long a list is no processor foresees. */
static inline uint32_t sw_list_agreeing(const uint32_t *list, sw_child_t child, uint32_t key)
{
    const sw_four *bits = (const sw_four *)list;
    return sw_map_lanes(sw_list_agreeing_four(bits[0], key), sw_list_agreeing_four(bits[child & 1], key));
}

#endif
