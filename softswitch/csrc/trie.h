/* The parts of an LPM table's trie: nodes of slots, paths and lists of prefixes, in one arena.
 * lpm.c builds the trie. A node here is the trie's; a struct sw_node is an entry of a table. */
#ifndef SW_TRIE_H
#define SW_TRIE_H

#include "map.h"

enum {
    SW_STRIDE = 6,             /* key bits that a node consumes; the root has its own number */
    SW_SHORT = 4,
    SW_LONG = 8, /* prefixes in a short and a long list */
    SW_WINDOW = 32,            /* key bits that lists and paths compare */
};

/* A reference to a part of the trie: its offset in the arena, in bytes, | its kind. A path takes as
 * much as a short list. */
enum sw_kind { SW_SHORT_LIST, SW_LONG_LIST, SW_NODE, SW_PATH, SW_KINDS };
typedef uint32_t sw_child_t; /* 0: none, which is the short list at offset 0, always empty */

struct sw_slot {
    uint32_t best /* a reference: handle + 1, or 0 */;
    sw_child_t child;
};

/* A list is an array of prefix words, then one of references, the longest prefix first. A word has
 * the prefix's bits below this point of the trie, at most 31 of them, then a one, then zeros: so
 * the lowest one bit marks their number. A free word is zero, which matches every key, but it comes
 * last and its reference is 0. */
enum { SW_LIST_BITS = 31 };

struct sw_path {
    uint32_t bits, length;
    sw_child_t child;
}; /* path compression. length: a multiple of SW_STRIDE */

struct sw_unit {
    _Alignas(32) uint32_t list[2 * SW_SHORT];
};

struct sw_trie {
    struct sw_slot *root;
    uint32_t root_bits;
    struct sw_unit *arena;
    /* in units; free: heads of the free lists by size, 0: empty */
    uint32_t used, capacity, free[SW_KINDS];
};

static inline enum sw_kind sw_trie_kind(sw_child_t child) { return child & 3; }
static inline struct sw_unit *sw_trie_at(const struct sw_trie *trie, sw_child_t child)
{
    return (struct sw_unit *)((char *)trie->arena + (child & -(uint32_t)sizeof(struct sw_unit)));
}

static inline uint32_t *sw_trie_list(const struct sw_trie *trie, sw_child_t c)
{
    return sw_trie_at(trie, c)->list;
}
static inline uint32_t sw_list_room(sw_child_t list) { return (uint32_t)SW_SHORT << (list & 1); }

static inline struct sw_slot *sw_trie_slots(const struct sw_trie *trie, sw_child_t child)
{
    return (struct sw_slot *)sw_trie_at(trie, child);
}

static inline struct sw_path *sw_trie_path(const struct sw_trie *trie, sw_child_t child)
{
    return (struct sw_path *)sw_trie_at(trie, child);
}

/* Makes room for the insertion of one prefix of up to key_bits bits, so that it can't fail half
 * way. 0 or -ENOMEM. */
int sw_trie_reserve(struct sw_trie *, uint32_t key_bits);
/* Allocates zeroed space, in the room that sw_trie_reserve made; two units and more are aligned to
 * a cache line. */
sw_child_t sw_trie_alloc(struct sw_trie *, enum sw_kind);
void sw_trie_release(struct sw_trie *, sw_child_t);
void sw_trie_free(struct sw_trie *);

/* Adds an entry to a list that isn't full, by length. Its prefix has `length` bits (at least one)
 * below this point of the trie; `bits` are the first 32 of them. */
void sw_list_add(const struct sw_nodes *, uint32_t *list, uint32_t room, const struct sw_node *,
                 uint32_t bits, uint32_t length);
void sw_list_remove(uint32_t *list, uint32_t room, const struct sw_node *);
static inline bool sw_list_full(const uint32_t *list, uint32_t room)
{
    return list[2 * room - 1] != 0;
}

/* Compares four prefixes with a key: all ones where one matches. */
static inline sw_u32x4 sw_list_match_4(sw_u32x4 bits, uint32_t key)
{
    return (sw_u32x4)(((bits ^ key) & ~(bits ^ (bits - 1))) == 0);
}

/* The prefixes of a list that match a key, a bit each, the longest lowest. For a short list the
 * upper four bits repeat the lower ones: this saves a branch on the list's length, which is
 * unpredictable. */
static inline uint32_t sw_list_matches(const uint32_t *list, sw_child_t child, uint32_t key)
{
    const sw_u32x4 *bits = (const sw_u32x4 *)list;
    return sw_lane_mask(sw_list_match_4(bits[0], key), sw_list_match_4(bits[child & 1], key));
}

#endif
