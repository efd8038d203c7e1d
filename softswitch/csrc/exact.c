/* Exact tables: one hash map. Keys of up to 32 bits have finds of their own, a length each, which the compiler then knows. */
#include <errno.h>

#include "map.h"

enum { FEW = 32 /* entries whose keys are remembered */ };

struct exact {
    struct sw_map map;
    const struct sw_nodes *nodes;
    uint64_t seed;
    uint32_t key_bytes;
};

static uint32_t words(const struct sw_table_spec *spec) { return (spec->key_bytes + 7) / 8; }

static bool open(void *index, const struct sw_table_spec *spec, const struct sw_nodes *nodes, uint64_t seed)
{
    struct exact *exact = index;
    exact->nodes = nodes;
    exact->seed = seed;
    exact->key_bytes = spec->key_bytes;
    sw_map_init(&exact->map, spec->key_bytes, words(spec));
    return true;
}

static void close(void *index)
{
    struct exact *exact = index;
    sw_map_free(&exact->map);
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

static inline __attribute__((always_inline)) uint32_t narrow_word(const uint8_t *key, uint32_t bytes)
{
    uint64_t word = 0;
    sw_load_words(&word, key, bytes);
    return (uint32_t)word;
}

static inline __attribute__((always_inline)) struct sw_node *find_narrow(const void *index, const uint8_t *key, uint32_t bytes)
{
    const struct exact *exact = index;
    return sw_map_find_narrow(&exact->map, exact->nodes, narrow_word(key, bytes), exact->seed);
}

static struct sw_node *find1(void *index, const uint8_t *key) { return find_narrow(index, key, 1); }
static struct sw_node *find2(void *index, const uint8_t *key) { return find_narrow(index, key, 2); }
static struct sw_node *find3(void *index, const uint8_t *key) { return find_narrow(index, key, 3); }
static struct sw_node *find4(void *index, const uint8_t *key) { return find_narrow(index, key, 4); }

#define INDEX(find, few) {sizeof(struct exact), open, close, words, prepare, insert, remove_node, find, few}

const struct sw_index *sw_index_exact(const struct sw_table_spec *spec)
{
    static const struct sw_index wide = INDEX(find, UINT32_MAX);
    static const struct sw_index narrow[] = {INDEX(find1, FEW), INDEX(find2, FEW), INDEX(find3, FEW), INDEX(find4, FEW)};
    return spec->key_bytes - 1 < 4 ? &narrow[spec->key_bytes - 1] : &wide;
}
