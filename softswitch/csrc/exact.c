/* Exact tables: one hash map. */
#include <errno.h>
#include <stdlib.h>

#include "table.h"

struct exact {
    struct sw_map map;
    const struct sw_nodes *nodes;
    uint64_t seed;
    uint32_t key_bytes;
};

static uint32_t words(const struct sw_table_spec *spec) { return (spec->key_bytes + 7) / 8; }

static void *create(const struct sw_table_spec *spec, const struct sw_nodes *nodes, uint64_t seed)
{
    struct exact *exact = calloc(1, sizeof *exact);
    if (exact != NULL) {
        exact->nodes = nodes;
        exact->seed = seed;
        exact->key_bytes = spec->key_bytes;
        sw_map_init(&exact->map, spec->key_bytes, words(spec));
    }
    return exact;
}

static void destroy(void *index)
{
    struct exact *exact = index;
    sw_map_free(&exact->map);
    free(exact);
}

static void prepare(void *index, struct sw_node *node, const uint8_t *key, const uint8_t *mask)
{
    const struct exact *exact = index;
    (void)mask;
    sw_load_words(node->words, key, exact->key_bytes);
    node->hash = sw_map_hash(&exact->map, node->words, exact->seed);
}

static int insert(void *index, struct sw_node *node)
{
    struct exact *exact = index;
    if (sw_map_find(&exact->map, exact->nodes, node->words, node->hash) != NULL) return -EEXIST;
    return sw_map_insert(&exact->map, exact->nodes, node);
}

static void remove_node(void *index, struct sw_node *node)
{
    struct exact *exact = index;
    sw_map_remove(&exact->map, exact->nodes, node);
}

static struct sw_node *find(void *index, const uint8_t *key)
{
    const struct exact *exact = index;
    uint64_t buffer[SW_TABLE_MAX_KEY / 8];
    sw_load_words(buffer, key, exact->key_bytes);
    return sw_map_find(&exact->map, exact->nodes, buffer, sw_map_hash(&exact->map, buffer, exact->seed));
}

const struct sw_index sw_index_exact = {create, destroy, words, prepare, insert, remove_node, find};
