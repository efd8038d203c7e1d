/* Exact tables: an array indexed by the key for keys of up to 16 bits, else a hash map. */
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

static bool open(void *index, const struct sw_table_spec *spec, const struct sw_nodes *nodes,
                 uint64_t seed)
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
    return sw_map_find(&exact->map, exact->nodes, buffer,
                       sw_map_hash(&exact->map, buffer, exact->seed));
}

/* Programs search the key's own bucket (lookup.h). After an overflow the key may be in a later one,
 * which `find` searches. */
static void publish_map(const void *index, struct sw_table_head *head)
{
    static struct sw_bucket nothing;
    const struct exact *exact = index;
    head->buckets = exact->map.buckets != NULL ? exact->map.buckets : &nothing;
    head->mask = exact->map.mask;
    head->seed = exact->seed;
    head->find = exact->map.overflows ? find : NULL;
}

/* ---- keys of up to 16 bits: an array that grows up to the largest key ---- */

struct key_array {
    struct sw_node **entries;
    uint32_t n, key_bytes;
};

static uint32_t array_words(const struct sw_table_spec *spec)
{
    (void)spec;
    return 1; /* the key as a number */
}

static bool array_open(void *index, const struct sw_table_spec *spec, const struct sw_nodes *nodes,
                       uint64_t seed)
{
    struct key_array *array = index;
    (void)nodes, (void)seed;
    array->key_bytes = spec->key_bytes;
    return true;
}

static void array_close(void *index)
{
    struct key_array *array = index;
    free(array->entries);
}

static uint32_t number_of(const struct key_array *array, const uint8_t *key)
{
    return array->key_bytes == 1 ? key[0] : (uint32_t)key[0] << 8 | key[1];
}

static void array_prepare(void *index, struct sw_node *node, const uint8_t *key,
                          const uint8_t *mask)
{
    (void)mask;
    node->words[0] = number_of(index, key);
}

static int array_insert(void *index, struct sw_node *node)
{
    struct key_array *array = index;
    uint32_t number = (uint32_t)node->words[0], n = array->n == 0 ? 16 : array->n;
    if (number >= array->n) {
        while (n <= number) n *= 2;
        struct sw_node **entries = realloc(array->entries, n * sizeof(struct sw_node *));
        if (entries == NULL) return -ENOMEM;
        memset(entries + array->n, 0, (n - array->n) * sizeof(struct sw_node *));
        array->entries = entries;
        array->n = n;
    }
    if (array->entries[number] != NULL) return -EEXIST;
    array->entries[number] = node;
    return 0;
}

static void array_remove(void *index, struct sw_node *node)
{
    struct key_array *array = index;
    array->entries[node->words[0]] = NULL;
}

static struct sw_node *array_find(void *index, const uint8_t *key)
{
    const struct key_array *array = index;
    uint32_t number = number_of(array, key);
    return number < array->n ? array->entries[number] : NULL;
}

static void array_publish(const void *index, struct sw_table_head *head)
{
    const struct key_array *array = index;
    head->array = array->entries;
    head->mask = array->n;
}

const struct sw_index *sw_index_exact(const struct sw_table_spec *spec)
{
    static const struct sw_index any = {
        sizeof(struct exact), open, close,      words, prepare, insert,
        remove_node,          find, UINT32_MAX, NULL};
    static const struct sw_index narrow = {
        sizeof(struct exact), open, close, words,      prepare, insert,
        remove_node,          find, 0,     publish_map};
    static const struct sw_index array = {sizeof(struct key_array),
                                          array_open,
                                          array_close,
                                          array_words,
                                          array_prepare,
                                          array_insert,
                                          array_remove,
                                          array_find,
                                          0,
                                          array_publish};
    if (spec->key_bytes == 0 || spec->key_bytes > SW_NARROW_KEY) return &any;
    return spec->key_bytes <= SW_ARRAY_KEY ? &array : &narrow;
}
