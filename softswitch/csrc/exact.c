/* Exact tables: an array where keys are small, else a hash map. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"

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

/* Programs search a bucket themselves; what isn't in its own may be in the next ones. */
static void show_map(const void *index, struct sw_table_head *head)
{
    static struct sw_bucket nothing;
    const struct exact *exact = index;
    head->buckets = exact->map.buckets != NULL ? exact->map.buckets : &nothing;
    head->mask = exact->map.mask;
    head->seed = exact->seed;
    head->find = exact->map.spills ? find : NULL;
}

/* ---- keys of up to 16 bits: an array, as long as the largest key asks for ---- */

struct placed { struct sw_node **places; uint32_t n, key_bytes; };

static uint32_t placed_words(const struct sw_table_spec *spec)
{
    (void)spec;
    return 1; /* the place */
}

static bool placed_open(void *index, const struct sw_table_spec *spec, const struct sw_nodes *nodes, uint64_t seed)
{
    struct placed *placed = index;
    (void)nodes, (void)seed;
    placed->key_bytes = spec->key_bytes;
    return true;
}

static void placed_close(void *index)
{
    struct placed *placed = index;
    free(placed->places);
}

static uint32_t place_of(const struct placed *placed, const uint8_t *key)
{
    return placed->key_bytes == 1 ? key[0] : (uint32_t)key[0] << 8 | key[1];
}

static void placed_prepare(void *index, struct sw_node *node, const uint8_t *key, const uint8_t *mask)
{
    (void)mask;
    node->words[0] = place_of(index, key);
}

static int placed_insert(void *index, struct sw_node *node)
{
    struct placed *placed = index;
    uint32_t place = (uint32_t)node->words[0], n = placed->n == 0 ? 16 : placed->n;
    if (place >= placed->n) {
        while (n <= place) n *= 2;
        struct sw_node **places = realloc(placed->places, n * sizeof(struct sw_node *));
        if (places == NULL) return -ENOMEM;
        memset(places + placed->n, 0, (n - placed->n) * sizeof(struct sw_node *));
        placed->places = places;
        placed->n = n;
    }
    if (placed->places[place] != NULL) return -EEXIST;
    placed->places[place] = node;
    return 0;
}

static void placed_remove(void *index, struct sw_node *node)
{
    struct placed *placed = index;
    placed->places[node->words[0]] = NULL;
}

static struct sw_node *placed_find(void *index, const uint8_t *key)
{
    const struct placed *placed = index;
    uint32_t place = place_of(placed, key);
    return place < placed->n ? placed->places[place] : NULL;
}

static void placed_show(const void *index, struct sw_table_head *head)
{
    const struct placed *placed = index;
    head->places = placed->places;
    head->mask = placed->n;
}

const struct sw_index *sw_index_exact(const struct sw_table_spec *spec)
{
    static const struct sw_index any = {sizeof(struct exact), open, close, words, prepare, insert, remove_node, find,
                                        UINT32_MAX, NULL};
    static const struct sw_index narrow = {sizeof(struct exact), open, close, words, prepare, insert, remove_node, find, 0,
                                           show_map};
    static const struct sw_index placed = {sizeof(struct placed), placed_open, placed_close, placed_words, placed_prepare,
                                           placed_insert, placed_remove, placed_find, 0, placed_show};
    if (spec->key_bytes == 0 || spec->key_bytes > SW_NARROW_KEY) return &any;
    return spec->key_bytes <= SW_PLACED_KEY ? &placed : &narrow;
}
