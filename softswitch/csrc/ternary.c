/* Ternary, range and optional tables: the first entry that matches, by bit vectors.
 *
 * The bit vectors index the key's first bytes, and ranges only in part. The rest is compared
 * with the entry itself. */
#include <errno.h>
#include <string.h>

#include "bits.h"

struct ternary {
    struct sw_bits bits;
    uint32_t key_bytes, n_words;
    bool fully_indexed; /* the bit vectors suffice: no ranges, and all key bytes are indexed */
    const struct sw_table_spec *spec;
};

static bool has_ranges(const struct sw_table_spec *spec)
{
    for (uint16_t i = 0; i < spec->n_fields; i++) {
        if (spec->fields[i].match == SW_RANGE) return true;
    }
    return false;
}

static bool open(void *index, const struct sw_table_spec *spec, const struct sw_nodes *nodes,
                 uint64_t seed)
{
    struct ternary *ternary = index;
    (void)nodes;
    (void)seed;
    ternary->spec = spec;
    ternary->key_bytes = spec->key_bytes;
    ternary->n_words = (spec->key_bytes + 7) / 8;
    ternary->fully_indexed = spec->key_bytes <= SW_MAX_INDEXED && !has_ranges(spec);
    return sw_bits_open(&ternary->bits, spec->key_bytes);
}

static void close(void *index)
{
    struct ternary *ternary = index;
    sw_bits_close(&ternary->bits);
}

static uint32_t words(const struct sw_table_spec *spec)
{
    return (spec->key_bytes + 7) / 8 * (has_ranges(spec) ? 4 : 2);
}

/* A range field's mask stays zero; its bounds follow. */
static void prepare(void *index, struct sw_node *node, const uint8_t *key, const uint8_t *mask)
{
    const struct ternary *ternary = index;
    const struct sw_table_spec *spec = ternary->spec;
    uint32_t n = ternary->n_words;
    memset(node->words, 0, 8 * (size_t)words(spec));
    uint8_t *masked = (uint8_t *)node->words, *bits = (uint8_t *)(node->words + n);
    uint32_t at = 0;
    for (uint16_t i = 0; i < spec->n_fields; i++) {
        uint32_t bytes = (spec->fields[i].width + 7u) / 8;
        enum sw_match match = spec->fields[i].match;
        if (match == SW_RANGE) {
            memcpy((uint8_t *)(node->words + 2 * n) + at, key + at, bytes);
            memcpy((uint8_t *)(node->words + 3 * n) + at, mask == NULL ? key + at : mask + at,
                   bytes);
        } else {
            for (uint32_t k = at; k < at + bytes; k++) {
                bits[k] = mask == NULL || match == SW_EXACT ? 0xff : mask[k];
                masked[k] = key[k] & bits[k];
            }
        }
        at += bytes;
    }
}

/* ---- the nibbles that an entry matches ---- */

/* Nibble i, upper first. */
static inline uint8_t nibble_of(const uint8_t *bytes, uint32_t i)
{
    return i % 2 == 0 ? bytes[i / 2] >> 4 : bytes[i / 2] & (SW_NIBBLE - 1);
}

static uint16_t masked_values(uint8_t value, uint8_t mask)
{
    uint32_t values = 0;
    for (uint32_t i = 0; i < SW_NIBBLE; i++) values |= (uint32_t)((i & mask) == value) << i;
    return (uint16_t)values;
}

/* Indexes a range: the nibbles up to the first where the bounds differ; later ones match any value.
 * An empty range (low > high) is indexed too, so that a duplicate of it is found. */
static void index_range(uint16_t *nibbles, const uint8_t *low, const uint8_t *high, uint32_t first,
                        uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        uint8_t least = nibble_of(low, i), most = nibble_of(high, i);
        if (least <= most) nibbles[i] = (uint16_t)((2u << most) - (1u << least));
        if (least != most) return;
    }
}

/* An entry's `nibbles`, as sw_bits_insert takes them. */
static void nibbles_of(const struct ternary *ternary, const struct sw_node *node, uint16_t *nibbles)
{
    const struct sw_table_spec *spec = ternary->spec;
    const uint8_t *masked = (const uint8_t *)node->words,
                  *mask = (const uint8_t *)(node->words + ternary->n_words);
    const uint8_t *low = (const uint8_t *)(node->words + 2 * ternary->n_words);
    const uint8_t *high = (const uint8_t *)(node->words + 3 * ternary->n_words);
    uint32_t indexed = ternary->bits.indexed;
    for (uint32_t i = 0; i < 2 * indexed; i++)
        nibbles[i] = masked_values(nibble_of(masked, i), nibble_of(mask, i));
    for (uint32_t i = 0, at = 0; i < spec->n_fields && at < indexed; i++) {
        uint32_t end = at + (spec->fields[i].width + 7u) / 8;
        if (spec->fields[i].match == SW_RANGE)
            index_range(nibbles, low, high, 2 * at, 2 * (end < indexed ? end : indexed));
        at = end;
    }
}

/* ---- lookup ---- */

/* Compares what isn't indexed: the key's other bytes, and ranges. */
static bool matches(const struct ternary *ternary, const struct sw_node *node, const uint8_t *key)
{
    const struct sw_table_spec *spec = ternary->spec;
    const uint8_t *masked = (const uint8_t *)node->words,
                  *mask = (const uint8_t *)(node->words + ternary->n_words);
    const uint8_t *low = (const uint8_t *)(node->words + 2 * ternary->n_words);
    const uint8_t *high = (const uint8_t *)(node->words + 3 * ternary->n_words);
    for (uint32_t i = ternary->bits.indexed; i < ternary->key_bytes; i++) {
        if ((key[i] & mask[i]) != masked[i]) return false;
    }
    for (uint32_t i = 0, at = 0; i < spec->n_fields; i++) {
        uint32_t bytes = (spec->fields[i].width + 7u) / 8;
        if (spec->fields[i].match == SW_RANGE &&
            (memcmp(key + at, low + at, bytes) < 0 || memcmp(key + at, high + at, bytes) > 0)) {
            return false;
        }
        at += bytes;
    }
    return true;
}

/* `indexed` and `fully_indexed` are the table's: constants let the compiler unroll the loops. */
static inline __attribute__((always_inline)) struct sw_node *
search(const struct ternary *ternary, const uint8_t *key, uint32_t indexed, bool fully_indexed)
{
    const struct sw_bits *bits = &ternary->bits;
    for (uint32_t word = 0; word == 0 || word < bits->row_words; word++) {
        for (uint64_t blocks = sw_bits_blocks(bits, key, indexed, word); blocks != 0;
             blocks &= blocks - 1) {
            const struct sw_block *block =
                bits->blocks[SW_WORD_BLOCKS * word + (uint32_t)__builtin_ctzll(blocks)];
            for (uint64_t entries = sw_bits_entries(block, key, indexed); entries != 0;
                 entries &= entries - 1) {
                struct sw_node *node = block->nodes[__builtin_ctzll(entries)];
                if (fully_indexed || matches(ternary, node, key)) return node;
            }
        }
    }
    return NULL;
}

static struct sw_node *find(void *index, const uint8_t *key)
{
    const struct ternary *ternary = index;
    return search(ternary, key, ternary->bits.indexed, ternary->fully_indexed);
}

static struct sw_node *find_u32(void *index, const uint8_t *key)
{
    return search(index, key, 4, true);
}

/* ---- insertion, removal ---- */

/* Whether the table has an equal entry: it would match the key made of this entry's value and its
 * ranges' lower bounds. */
static bool is_duplicate(const struct ternary *ternary, const struct sw_node *node)
{
    const struct sw_bits *bits = &ternary->bits;
    uint64_t key_words[SW_TABLE_MAX_KEY / 8];
    const uint8_t *key = (const uint8_t *)key_words;
    uint32_t n = ternary->n_words, n_words = words(ternary->spec);
    for (uint32_t i = 0; i < n; i++)
        key_words[i] = node->words[i] | (n_words == 4 * n ? node->words[2 * n + i] : 0);
    const struct sw_node first = {.rank = node->rank};
    uint32_t from = sw_bits_block(bits, &first);
    for (uint32_t word = from / SW_WORD_BLOCKS; word == 0 || word < bits->row_words; word++) {
        uint64_t blocks = sw_bits_blocks(bits, key, bits->indexed, word);
        if (word == from / SW_WORD_BLOCKS) blocks &= ~0ull << from % SW_WORD_BLOCKS;
        for (; blocks != 0; blocks &= blocks - 1) {
            const struct sw_block *block =
                bits->blocks[SW_WORD_BLOCKS * word + (uint32_t)__builtin_ctzll(blocks)];
            if (block->count != 0 && block->nodes[0]->rank > node->rank) return false;
            for (uint64_t entries = sw_bits_entries(block, key, bits->indexed); entries != 0;
                 entries &= entries - 1) {
                const struct sw_node *twin = block->nodes[__builtin_ctzll(entries)];
                if (twin->rank == node->rank &&
                    memcmp(twin->words, node->words, 8 * (size_t)n_words) == 0)
                    return true;
            }
        }
    }
    return false;
}

static int insert(void *index, struct sw_node *node)
{
    struct ternary *ternary = index;
    if (is_duplicate(ternary, node)) return -EEXIST;
    uint16_t nibbles[2 * SW_MAX_INDEXED];
    nibbles_of(ternary, node, nibbles);
    return sw_bits_insert(&ternary->bits, node, nibbles);
}

static void remove_node(void *index, struct sw_node *node)
{
    struct ternary *ternary = index;
    uint16_t nibbles[2 * SW_MAX_INDEXED];
    nibbles_of(ternary, node, nibbles);
    sw_bits_remove(&ternary->bits, node, nibbles);
}

#define INDEX(find)                                                                                \
    {sizeof(struct ternary),                                                                       \
     open,                                                                                         \
     close,                                                                                        \
     words,                                                                                        \
     prepare,                                                                                      \
     insert,                                                                                       \
     remove_node,                                                                                  \
     find,                                                                                         \
     UINT32_MAX,                                                                                   \
     NULL}

const struct sw_index *sw_index_ternary(const struct sw_table_spec *spec)
{
    static const struct sw_index any = INDEX(find), four = INDEX(find_u32);
    return spec->key_bytes == 4 && !has_ranges(spec) ? &four : &any;
}
