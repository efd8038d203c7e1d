/* Exact tables: one hash map. */
#include <errno.h>
#include <stdlib.h>

#include "table.h"

struct exact {
    struct sw_map map;
    uint64_t seed;
    uint32_t key_bytes;
};

static void *create(const struct sw_table_spec *spec, uint64_t seed)
{
    struct exact *exact = calloc(1, sizeof *exact);
    if (exact != NULL) {
        exact->seed = seed;
        exact->key_bytes = spec->key_bytes;
    }
    return exact;
}

static void destroy(void *index)
{
    struct exact *exact = index;
    sw_map_free(&exact->map);
    free(exact);
}

static uint32_t words(const struct sw_table_spec *spec) { return (spec->key_bytes + 7) / 8; }

static void prepare(void *index, struct sw_node *node, const uint8_t *key, const uint8_t *mask)
{
    const struct exact *exact = index;
    (void)mask;
    uint32_t n = sw_load_words(node->words, key, exact->key_bytes);
    node->hash = sw_hash_words(node->words, n, exact->seed);
}

static int insert(void *index, struct sw_node *node)
{
    struct exact *exact = index;
    if (sw_map_find(&exact->map, node->words, (exact->key_bytes + 7) / 8, node->hash) != NULL) return -EEXIST;
    return sw_map_insert(&exact->map, node);
}

static void remove_node(void *index, struct sw_node *node)
{
    struct exact *exact = index;
    sw_map_remove(&exact->map, sw_map_find(&exact->map, node->words, (exact->key_bytes + 7) / 8, node->hash));
}

static struct sw_node *find(void *index, const uint8_t *key)
{
    const struct exact *exact = index;
    uint64_t buffer[SW_TABLE_MAX_KEY / 8];
    uint32_t n = sw_load_words(buffer, key, exact->key_bytes);
    struct sw_map_slot *slot = sw_map_find(&exact->map, buffer, n, sw_hash_words(buffer, n, exact->seed));
    return slot == NULL ? NULL : slot->node;
}

const struct sw_index sw_index_exact = {create, destroy, words, prepare, insert, remove_node, find};
