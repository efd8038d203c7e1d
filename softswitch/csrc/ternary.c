/* Ternary, range and optional tables: tuple space search behind a filter.
 *
 * Entries with the same mask share a group, which is a hash map from the masked key to the entries that have it, in
 * order of rank. For each value of each byte of the key the filter has a bit a group, whether some entry of the group agrees
 * with it: so a lookup asks only groups that all bytes of its key leave, and of these none that can't beat what it has.
 * Ranges aren't masks: a range field's mask is zero, its bounds are compared in the chain.
 * With many groups a small cache of whole keys, longer than those that tables remember, answers flows that were seen before. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"

enum { CACHE_SLOTS = 1024, CACHE_FROM_GROUPS = 4, CACHE_FROM_BYTES = 9 };

/* Bytes that a filter may take; where there are so many groups that it would be more, it looks at the key's first bytes alone,
 * but at four of them. */
enum { FILTER_BYTES = 1 << 20, VALUES = 256, LEAST_FILTERED = 4 };

struct group {
    struct sw_map map;
    int64_t best; /* no entry ranks better; removals leave it as it is */
    uint32_t number; /* in `groups`, and of its bits in the filter */
    uint32_t count, gone; /* gone: entries removed since the filter knew this group's exactly */
    uint64_t mask[];
};

struct cached { uint64_t hash, generation; struct sw_node *node; };

struct ternary {
    const struct sw_table_spec *spec;
    const struct sw_nodes *nodes;
    struct sw_map shape;   /* what the groups' maps have in common */
    struct group **groups; /* NULL where none is: there are 64 for each word of a row */
    uint64_t *filter;      /* a row a value of a byte, a bit a group */
    uint32_t n_groups, row_words, filtered /* bytes of the key */, n_words;
    bool ranges;
    uint64_t seed, generation;
    struct cached *cache;  /* NULL until there are enough groups */
    uint64_t *cached_keys; /* n_words a slot */
};

static bool open(void *index, const struct sw_table_spec *spec, const struct sw_nodes *nodes, uint64_t seed)
{
    struct ternary *ternary = index;
    ternary->spec = spec;
    ternary->nodes = nodes;
    ternary->seed = seed;
    ternary->n_words = (spec->key_bytes + 7) / 8;
    ternary->generation = 1;
    sw_map_init(&ternary->shape, spec->key_bytes, ternary->n_words);
    for (uint16_t i = 0; i < spec->n_fields; i++) ternary->ranges |= spec->fields[i].match == SW_RANGE;
    return true;
}

static void close(void *index)
{
    struct ternary *ternary = index;
    for (uint32_t i = 0; i < 64 * ternary->row_words; i++) {
        if (ternary->groups[i] != NULL) sw_map_free(&ternary->groups[i]->map);
        free(ternary->groups[i]);
    }
    free(ternary->groups);
    free(ternary->filter);
    free(ternary->cache);
    free(ternary->cached_keys);
}

static bool has_ranges(const struct sw_table_spec *spec)
{
    for (uint16_t i = 0; i < spec->n_fields; i++) {
        if (spec->fields[i].match == SW_RANGE) return true;
    }
    return false;
}

static uint32_t words(const struct sw_table_spec *spec)
{
    return (spec->key_bytes + 7) / 8 * (has_ranges(spec) ? 4 : 2);
}

static void prepare(void *index, struct sw_node *node, const uint8_t *key, const uint8_t *mask)
{
    const struct ternary *ternary = index;
    const struct sw_table_spec *spec = ternary->spec;
    uint32_t n = ternary->n_words;
    memset(node->words, 0, 8 * (size_t)n * (ternary->ranges ? 4 : 2));
    uint8_t *masked = (uint8_t *)node->words, *bits = (uint8_t *)(node->words + n);
    uint32_t at = 0;
    for (uint16_t i = 0; i < spec->n_fields; i++) {
        uint32_t bytes = (spec->fields[i].width + 7u) / 8;
        enum sw_match match = spec->fields[i].match;
        if (match == SW_RANGE) {
            memcpy((uint8_t *)(node->words + 2 * n) + at, key + at, bytes);
            if (mask != NULL) memcpy((uint8_t *)(node->words + 3 * n) + at, mask + at, bytes);
            else memcpy((uint8_t *)(node->words + 3 * n) + at, key + at, bytes);
        } else {
            for (uint32_t k = at; k < at + bytes; k++) {
                bits[k] = mask == NULL || match == SW_EXACT ? 0xff : mask[k];
                masked[k] = key[k] & bits[k];
            }
        }
        at += bytes;
    }
    node->hash = sw_map_hash(&ternary->shape, node->words, ternary->seed);
}

static bool before(const struct sw_node *a, const struct sw_node *b)
{
    return a->rank < b->rank || (a->rank == b->rank && a->entry.handle < b->entry.handle);
}

/* ---- the filter ---- */

static inline uint64_t *row_of(const struct ternary *ternary, uint32_t byte, uint32_t value)
{
    return &ternary->filter[((size_t)byte * VALUES + value) * ternary->row_words];
}

/* The filter knows this entry of a group. */
static void mark(struct ternary *ternary, const struct group *group, const struct sw_node *node)
{
    const uint8_t *masked = (const uint8_t *)node->words, *mask = (const uint8_t *)group->mask;
    uint32_t word = group->number / 64;
    uint64_t bit = 1ull << group->number % 64;
    for (uint32_t i = 0; i < ternary->filtered; i++) {
        uint32_t open = 0xffu & ~mask[i], some = 0;
        if (open == 0xff && *(row_of(ternary, i, 0) + word) & bit) continue;
        do { /* every value of the open bits */
            row_of(ternary, i, masked[i] | some)[word] |= bit;
            some = (some - open) & open;
        } while (some != 0);
    }
}

/* The filter knows what a group has now, and nothing else of it. */
static void mark_anew(struct ternary *ternary, struct group *group)
{
    for (uint32_t i = 0; i < ternary->filtered * VALUES; i++) {
        ternary->filter[(size_t)i * ternary->row_words + group->number / 64] &= ~(1ull << group->number % 64);
    }
    for (uint32_t i = 0; group->map.buckets != NULL && i < (group->map.mask + 1) * SW_BUCKET; i++) {
        uint32_t reference = group->map.buckets[i / SW_BUCKET].references[i % SW_BUCKET];
        if (reference != 0) mark(ternary, group, sw_node_at(ternary->nodes, reference - 1));
    }
    group->gone = 0;
}

/* Room for twice as many groups, 64 at first. 0 or -ENOMEM. */
static int widen(struct ternary *ternary)
{
    uint32_t before = ternary->row_words, words = before == 0 ? 1 : 2 * before;
    uint32_t most = FILTER_BYTES / (VALUES * 8 * words), bytes = ternary->spec->key_bytes;
    most = most < LEAST_FILTERED ? LEAST_FILTERED : most;
    bytes = bytes < most ? bytes : most;
    struct group **groups = calloc(64 * (size_t)words, sizeof(struct group *));
    uint64_t *filter = calloc((size_t)bytes * VALUES * words + 1, sizeof *filter);
    if (groups == NULL || filter == NULL) {
        free(groups);
        free(filter);
        return -ENOMEM;
    }
    if (before != 0) memcpy(groups, ternary->groups, 64 * (size_t)before * sizeof(struct group *));
    free(ternary->groups);
    free(ternary->filter);
    ternary->groups = groups;
    ternary->filter = filter;
    ternary->row_words = words;
    ternary->filtered = bytes;
    for (uint32_t i = 0; i < 64 * before; i++) mark_anew(ternary, groups[i]);
    return 0;
}

/* ---- groups ---- */

static struct group *group_of(const struct ternary *ternary, const uint64_t *mask)
{
    for (uint32_t i = 0, seen = 0; seen < ternary->n_groups; i++) {
        struct group *group = ternary->groups[i];
        if (group == NULL) continue;
        if (memcmp(group->mask, mask, 8 * (size_t)ternary->n_words) == 0) return group;
        seen++;
    }
    return NULL;
}

static void start_cache(struct ternary *ternary)
{
    ternary->cache = calloc(CACHE_SLOTS, sizeof *ternary->cache);
    ternary->cached_keys = calloc(CACHE_SLOTS, 8 * (size_t)ternary->n_words);
    if (ternary->cache != NULL && ternary->cached_keys != NULL) return;
    free(ternary->cache);
    free(ternary->cached_keys);
    ternary->cache = NULL;
    ternary->cached_keys = NULL;
}

/* NULL: no memory. */
static struct group *add_group(struct ternary *ternary, const uint64_t *mask, int64_t best)
{
    uint32_t number = 0;
    if (ternary->n_groups == 64 * ternary->row_words && widen(ternary) != 0) return NULL;
    struct group *group = calloc(1, sizeof *group + 8 * (size_t)ternary->n_words);
    if (group == NULL) return NULL;
    while (ternary->groups[number] != NULL) number++;
    memcpy(group->mask, mask, 8 * (size_t)ternary->n_words);
    group->map = ternary->shape;
    group->best = best;
    group->number = number;
    ternary->groups[number] = group;
    ternary->n_groups++;
    bool many = ternary->n_groups >= CACHE_FROM_GROUPS && ternary->spec->key_bytes >= CACHE_FROM_BYTES;
    if (many && ternary->cache == NULL) start_cache(ternary);
    return group;
}

static void drop_group(struct ternary *ternary, struct group *group)
{
    sw_map_free(&group->map);
    mark_anew(ternary, group);
    ternary->groups[group->number] = NULL;
    ternary->n_groups--;
    free(group);
}

static int insert(void *index, struct sw_node *node)
{
    struct ternary *ternary = index;
    uint32_t n = ternary->n_words;
    struct group *group = group_of(ternary, node->words + n);
    if (group == NULL) group = add_group(ternary, node->words + n, node->rank);
    if (group == NULL) return -ENOMEM;
    struct sw_node *first = sw_map_find(&group->map, ternary->nodes, node->words, node->hash);
    node->next = NULL;
    if (first == NULL) {
        if (sw_map_insert(&group->map, ternary->nodes, node) != 0) {
            if (group->count == 0) drop_group(ternary, group);
            return -ENOMEM;
        }
    } else {
        for (struct sw_node *other = first; other != NULL; other = other->next) {
            if (other->rank == node->rank &&
                (!ternary->ranges || memcmp(other->words + 2 * n, node->words + 2 * n, 16 * (size_t)n) == 0)) {
                return -EEXIST;
            }
        }
        if (before(node, first)) {
            node->next = first;
            sw_map_replace(&group->map, first, node);
        } else {
            while (first->next != NULL && before(first->next, node)) first = first->next;
            node->next = first->next;
            first->next = node;
        }
    }
    group->count++;
    if (node->rank < group->best) group->best = node->rank;
    mark(ternary, group, node);
    ternary->generation++;
    return 0;
}

static void remove_node(void *index, struct sw_node *node)
{
    struct ternary *ternary = index;
    struct group *group = group_of(ternary, node->words + ternary->n_words);
    struct sw_node *first = sw_map_find(&group->map, ternary->nodes, node->words, node->hash);
    if (first == node && node->next == NULL) {
        sw_map_remove(&group->map, ternary->nodes, node);
    } else if (first == node) {
        sw_map_replace(&group->map, node, node->next);
    } else {
        while (first->next != node) first = first->next;
        first->next = node->next;
    }
    if (--group->count == 0) drop_group(ternary, group);
    else if (++group->gone > group->count) mark_anew(ternary, group);
    ternary->generation++;
}

static bool in_ranges(const struct ternary *ternary, const struct sw_node *node, const uint8_t *key)
{
    const struct sw_table_spec *spec = ternary->spec;
    const uint8_t *low = (const uint8_t *)(node->words + 2 * ternary->n_words);
    const uint8_t *high = (const uint8_t *)(node->words + 3 * ternary->n_words);
    uint32_t at = 0;
    for (uint16_t i = 0; i < spec->n_fields; i++) {
        uint32_t bytes = (spec->fields[i].width + 7u) / 8;
        if (spec->fields[i].match == SW_RANGE &&
            (memcmp(key + at, low + at, bytes) < 0 || memcmp(key + at, high + at, bytes) > 0)) {
            return false;
        }
        at += bytes;
    }
    return true;
}

/* The first entry of a group that has this key, apart from ranges. */
static struct sw_node *probe(const struct ternary *ternary, const struct group *group, const uint64_t *key)
{
    uint64_t masked[SW_TABLE_MAX_KEY / 8];
    for (uint32_t k = 0; k < ternary->n_words; k++) masked[k] = key[k] & group->mask[k];
    return sw_map_find(&group->map, ternary->nodes, masked, sw_map_hash(&group->map, masked, ternary->seed));
}

/* `four`: a key of four bytes, without ranges, which a filter always knows all of. */
static inline __attribute__((always_inline)) struct sw_node *search(const struct ternary *ternary, const uint64_t *words_in,
                                                                    const uint8_t *key, bool four)
{
    struct sw_node *best = NULL;
    int64_t rank = INT64_MAX;
    uint32_t bytes = four ? 4 : ternary->filtered;
    for (uint32_t word = 0; word < ternary->row_words; word++) {
        uint64_t left = ~0ull;
#pragma GCC unroll 4
        for (uint32_t i = 0; i < bytes; i++) left &= row_of(ternary, i, key[i])[word];
        for (; left != 0; left &= left - 1) {
            const struct group *group = ternary->groups[64 * word + (uint32_t)__builtin_ctzll(left)];
            if (group == NULL || group->best > rank) continue;
            struct sw_node *node;
            if (four) {
                node = sw_map_find_narrow(&group->map, ternary->nodes, (uint32_t)(words_in[0] & group->mask[0]), ternary->seed);
            } else {
                node = probe(ternary, group, words_in);
                while (node != NULL && ternary->ranges && !in_ranges(ternary, node, key)) node = node->next;
            }
            if (node == NULL || (best != NULL && !before(node, best))) continue;
            best = node;
            rank = node->rank;
        }
    }
    return best;
}

static struct sw_node *find(void *index, const uint8_t *key)
{
    struct ternary *ternary = index;
    uint64_t buffer[SW_TABLE_MAX_KEY / 8];
    uint32_t n = sw_load_words(buffer, key, ternary->spec->key_bytes);
    if (ternary->cache == NULL) return search(ternary, buffer, key, false);
    uint64_t hash = sw_map_hash(&ternary->shape, buffer, ternary->seed);
    struct cached *cached = &ternary->cache[hash % CACHE_SLOTS];
    uint64_t *cached_key = &ternary->cached_keys[hash % CACHE_SLOTS * n];
    if (cached->generation == ternary->generation && cached->hash == hash &&
        memcmp(cached_key, buffer, 8 * (size_t)n) == 0) {
        return cached->node;
    }
    *cached = (struct cached){hash, ternary->generation, search(ternary, buffer, key, false)};
    memcpy(cached_key, buffer, 8 * (size_t)n);
    return cached->node;
}

static struct sw_node *find_four(void *index, const uint8_t *key)
{
    uint64_t word = 0;
    sw_load_words(&word, key, 4);
    return search(index, &word, key, true);
}

#define INDEX(find) {sizeof(struct ternary), open, close, words, prepare, insert, remove_node, find, false}

const struct sw_index *sw_index_ternary(const struct sw_table_spec *spec)
{
    static const struct sw_index any = INDEX(find), four = INDEX(find_four);
    return spec->key_bytes == 4 && !has_ranges(spec) ? &four : &any;
}
