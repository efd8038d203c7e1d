/* Ternary, range and optional tables: tuple space search.
 *
 * Entries with the same mask share a group, which is a hash map from the masked key to the entries that have it, in
 * order of rank. A lookup goes through the groups in order of their best rank and stops when no later group can beat
 * what it has. Ranges aren't masks: a range field's mask is zero, its bounds are compared in the chain.
 * With many groups a small cache of whole keys answers flows that were seen before. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"

enum { CACHE_SLOTS = 1024, CACHE_FROM_GROUPS = 4 };

struct group {
    struct sw_map map;
    int64_t best; /* no entry ranks better; removals leave it as it is */
    uint32_t count;
    uint64_t mask[];
};

struct cached { uint64_t hash, generation; struct sw_node *node; };

struct ternary {
    const struct sw_table_spec *spec;
    const struct sw_nodes *nodes;
    struct group **groups; /* by `best` */
    struct sw_map shape; /* what the groups' maps have in common */
    uint32_t n_groups, capacity, n_words;
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
    for (uint32_t i = 0; i < ternary->n_groups; i++) {
        sw_map_free(&ternary->groups[i]->map);
        free(ternary->groups[i]);
    }
    free(ternary->groups);
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

static uint32_t group_of(const struct ternary *ternary, const uint64_t *mask)
{
    uint32_t i = 0;
    while (i < ternary->n_groups && memcmp(ternary->groups[i]->mask, mask, 8 * (size_t)ternary->n_words) != 0) i++;
    return i;
}

static int add_group(struct ternary *ternary, const uint64_t *mask, int64_t best)
{
    if (ternary->n_groups == ternary->capacity) {
        uint32_t capacity = ternary->capacity == 0 ? 8 : ternary->capacity * 2;
        struct group **groups = realloc(ternary->groups, capacity * sizeof(struct group *));
        if (groups == NULL) return -ENOMEM;
        ternary->groups = groups;
        ternary->capacity = capacity;
    }
    struct group *group = calloc(1, sizeof *group + 8 * (size_t)ternary->n_words);
    if (group == NULL) return -ENOMEM;
    memcpy(group->mask, mask, 8 * (size_t)ternary->n_words);
    group->map = ternary->shape;
    group->best = best;
    ternary->groups[ternary->n_groups++] = group;
    if (ternary->n_groups == CACHE_FROM_GROUPS && ternary->cache == NULL) {
        ternary->cache = calloc(CACHE_SLOTS, sizeof *ternary->cache);
        ternary->cached_keys = calloc(CACHE_SLOTS, 8 * (size_t)(ternary->n_words == 0 ? 1 : ternary->n_words));
        if (ternary->cache == NULL || ternary->cached_keys == NULL) {
            free(ternary->cache);
            free(ternary->cached_keys);
            ternary->cache = NULL;
            ternary->cached_keys = NULL;
        }
    }
    return 0;
}

static void move_forward(struct ternary *ternary, uint32_t at)
{
    struct group *group = ternary->groups[at];
    for (; at > 0 && ternary->groups[at - 1]->best > group->best; at--) ternary->groups[at] = ternary->groups[at - 1];
    ternary->groups[at] = group;
}

static void drop_group(struct ternary *ternary, uint32_t at)
{
    sw_map_free(&ternary->groups[at]->map);
    free(ternary->groups[at]);
    memmove(&ternary->groups[at], &ternary->groups[at + 1],
            (ternary->n_groups - at - 1) * sizeof(struct group *));
    ternary->n_groups--;
}

static int insert(void *index, struct sw_node *node)
{
    struct ternary *ternary = index;
    uint32_t n = ternary->n_words, at = group_of(ternary, node->words + n);
    if (at == ternary->n_groups && add_group(ternary, node->words + n, node->rank) != 0) return -ENOMEM;
    struct group *group = ternary->groups[at];
    struct sw_node *first = sw_map_find(&group->map, ternary->nodes, node->words, node->hash);
    node->next = NULL;
    if (first == NULL) {
        if (sw_map_insert(&group->map, ternary->nodes, node) != 0) {
            if (group->count == 0) drop_group(ternary, at);
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
    move_forward(ternary, at);
    ternary->generation++;
    return 0;
}

static void remove_node(void *index, struct sw_node *node)
{
    struct ternary *ternary = index;
    uint32_t n = ternary->n_words, at = group_of(ternary, node->words + n);
    struct group *group = ternary->groups[at];
    struct sw_node *first = sw_map_find(&group->map, ternary->nodes, node->words, node->hash);
    if (first == node && node->next == NULL) {
        sw_map_remove(&group->map, ternary->nodes, node);
    } else if (first == node) {
        sw_map_replace(&group->map, node, node->next);
    } else {
        while (first->next != node) first = first->next;
        first->next = node->next;
    }
    if (--group->count == 0) drop_group(ternary, at);
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

static struct sw_node *search(const struct ternary *ternary, const uint64_t *words_in, const uint8_t *key)
{
    uint64_t masked[SW_TABLE_MAX_KEY / 8];
    uint32_t n = ternary->n_words;
    struct sw_node *best = NULL;
    for (uint32_t i = 0; i < ternary->n_groups; i++) {
        const struct group *group = ternary->groups[i];
        if (best != NULL && group->best > best->rank) break;
        for (uint32_t k = 0; k < n; k++) masked[k] = words_in[k] & group->mask[k];
        struct sw_node *node = sw_map_find(&group->map, ternary->nodes, masked, sw_map_hash(&group->map, masked, ternary->seed));
        for (; node != NULL; node = node->next) {
            if (ternary->ranges && !in_ranges(ternary, node, key)) continue;
            if (best == NULL || before(node, best)) best = node;
            break;
        }
    }
    return best;
}

static struct sw_node *find(void *index, const uint8_t *key)
{
    struct ternary *ternary = index;
    uint64_t buffer[SW_TABLE_MAX_KEY / 8];
    uint32_t n = sw_load_words(buffer, key, ternary->spec->key_bytes);
    if (ternary->cache == NULL) return search(ternary, buffer, key);
    uint64_t hash = sw_map_hash(&ternary->shape, buffer, ternary->seed);
    struct cached *cached = &ternary->cache[hash % CACHE_SLOTS];
    uint64_t *cached_key = &ternary->cached_keys[hash % CACHE_SLOTS * n];
    if (cached->generation == ternary->generation && cached->hash == hash &&
        memcmp(cached_key, buffer, 8 * (size_t)n) == 0) {
        return cached->node;
    }
    *cached = (struct cached){hash, ternary->generation, search(ternary, buffer, key)};
    memcpy(cached_key, buffer, 8 * (size_t)n);
    return cached->node;
}

const struct sw_index sw_index_ternary = {sizeof(struct ternary), open, close, words, prepare, insert, remove_node, find, NULL};
