/* LPM tables: a tree bitmap (Eatherton, Varghese, Dittia 2004) with a stride of six bits.
 *
 * A trie node covers six bits of the key. One bit map says which prefixes of zero to five bits end in it, the other
 * which of its 64 children exist; results and children stand packed in arrays that are addressed by counting bits.
 * So a node costs memory for what it holds alone, and a lookup touches one node for every six bits. Where a child
 * would hold a single prefix, that prefix's entry stands in its place (a leaf): most chains of nodes that lead to
 * one long prefix don't exist, and a large table costs two or three cache misses a lookup.
 *
 * The trie's key is the table's key with the exact fields first and the lpm field last; every prefix has all bits
 * of the exact fields. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

enum { STRIDE = 6 };

struct trie_node;

/* A child: a node, or a leaf, which has the lowest bit set. 0: none. */
typedef uintptr_t child_t;

struct trie_node {
    uint64_t prefixes, children;
    struct sw_node **results;
    child_t *kids;
};

static inline bool is_leaf(child_t child) { return child & 1; }
static inline struct sw_node *leaf_of(child_t child) { return (struct sw_node *)(child - 1); }
static inline struct trie_node *node_of(child_t child) { return (struct trie_node *)child; }
static inline child_t leaf(struct sw_node *entry) { return (child_t)entry | 1; }

struct lpm {
    struct trie_node root;
    const struct sw_table_spec *spec;
    uint32_t key_bytes, lpm_offset, lpm_bytes, exact_bits /* and the lpm field's padding */;
    uint64_t covers[64]; /* by chunk: the prefixes of a node that match it */
};

static void *create(const struct sw_table_spec *spec, uint64_t seed)
{
    struct lpm *lpm = calloc(1, sizeof *lpm);
    (void)seed;
    if (lpm == NULL) return NULL;
    lpm->spec = spec;
    lpm->key_bytes = spec->key_bytes;
    uint32_t offset = 0;
    for (uint16_t i = 0; i < spec->n_fields; i++) {
        uint32_t bytes = (spec->fields[i].width + 7u) / 8;
        if (spec->fields[i].match == SW_LPM) {
            lpm->lpm_offset = offset;
            lpm->lpm_bytes = bytes;
            lpm->exact_bits = 8 * (spec->key_bytes - bytes) + 8 * bytes - spec->fields[i].width;
        }
        offset += bytes;
    }
    for (uint32_t chunk = 0; chunk < 64; chunk++) {
        for (uint32_t length = 0; length < STRIDE; length++) {
            lpm->covers[chunk] |= 1ull << ((1u << length) - 1 + (chunk >> (STRIDE - length)));
        }
    }
    return lpm;
}

static void free_below(struct trie_node *node)
{
    uint32_t n = (uint32_t)__builtin_popcountll(node->children);
    for (uint32_t i = 0; i < n; i++) {
        if (is_leaf(node->kids[i])) continue;
        free_below(node_of(node->kids[i]));
        free(node_of(node->kids[i]));
    }
    free(node->kids);
    free(node->results);
}

static void destroy(void *index)
{
    struct lpm *lpm = index;
    free_below(&lpm->root);
    free(lpm);
}

/* Room for chunk() to read past the end. */
static uint32_t words(const struct sw_table_spec *spec) { return (spec->key_bytes + 7) / 8 + 1; }

static void arrange(const struct lpm *lpm, uint64_t *words_out, const uint8_t *key)
{
    uint8_t *out = (uint8_t *)words_out;
    uint32_t last = (lpm->key_bytes + 7) / 8;
    words_out[last == 0 ? 0 : last - 1] = 0;
    words_out[last] = 0;
    uint32_t after = lpm->lpm_offset + lpm->lpm_bytes;
    memcpy(out, key, lpm->lpm_offset);
    memcpy(out + lpm->lpm_offset, key + after, lpm->key_bytes - after);
    memcpy(out + lpm->key_bytes - lpm->lpm_bytes, key + lpm->lpm_offset, lpm->lpm_bytes);
}

static inline uint32_t chunk_at(const uint64_t *words_in, uint32_t bit)
{
    uint32_t value;
    memcpy(&value, (const uint8_t *)words_in + bit / 8, sizeof value);
    return __builtin_bswap32(value) << (bit % 8) >> (32 - STRIDE);
}

static inline uint32_t rank_of(uint64_t map, uint32_t bit)
{
    return (uint32_t)__builtin_popcountll(map & ((1ull << bit) - 1));
}

static void prepare(void *index, struct sw_node *node, const uint8_t *key, const uint8_t *mask)
{
    const struct lpm *lpm = index;
    (void)mask;
    arrange(lpm, node->words, key);
    uint8_t *bytes = (uint8_t *)node->words;
    uint32_t bits = lpm->exact_bits + (uint32_t)node->prefix;
    for (uint32_t i = bits / 8; i < lpm->key_bytes; i++) {
        bytes[i] &= i == bits / 8 ? (uint8_t)(0xff00u >> (bits % 8)) : 0;
    }
}

static void *opened(const void *array, size_t size, uint32_t n, uint32_t at)
{
    char *bigger = malloc(size * (n + 1));
    if (bigger == NULL) return NULL;
    if (n != 0) {
        memcpy(bigger, array, size * at);
        memcpy(bigger + size * (at + 1), (const char *)array + size * at, size * (n - at));
    }
    memset(bigger + size * at, 0, size);
    return bigger;
}

static void closed(void *array, size_t size, uint32_t n, uint32_t at)
{
    char *bytes = array;
    memmove(bytes + size * at, bytes + size * (at + 1), size * (n - at - 1));
}

/* Whether the first `bits` bits of two keys are equal. */
static inline bool same_bits(const uint64_t *a, const uint64_t *b, uint32_t bits)
{
    uint32_t i = 0;
    for (; bits >= 64; bits -= 64, i++) {
        if (a[i] != b[i]) return false;
    }
    return bits == 0 || __builtin_bswap64(a[i] ^ b[i]) >> (64 - bits) == 0;
}

static inline uint32_t bits_of(const struct lpm *lpm, const struct sw_node *entry)
{
    return lpm->exact_bits + (uint32_t)entry->prefix;
}

/* Room for one more child at `chunk`, or NULL. */
static child_t *add_child(struct trie_node *node, uint32_t chunk)
{
    uint32_t at = rank_of(node->children, chunk);
    child_t *kids = opened(node->kids, sizeof *kids, (uint32_t)__builtin_popcountll(node->children), at);
    if (kids == NULL) return NULL;
    free(node->kids);
    node->kids = kids;
    node->children |= 1ull << chunk;
    return &kids[at];
}

/* A prefix that ends within the node, `length` bits below its start. */
static int add_result(struct trie_node *node, struct sw_node *entry, uint32_t chunk, uint32_t length)
{
    uint32_t place = (1u << length) - 1 + (chunk >> (STRIDE - length));
    if (node->prefixes >> place & 1) return -EEXIST;
    uint32_t at = rank_of(node->prefixes, place);
    struct sw_node **results =
        opened(node->results, sizeof(struct sw_node *), (uint32_t)__builtin_popcountll(node->prefixes), at);
    if (results == NULL) return -ENOMEM;
    free(node->results);
    node->results = results;
    node->results[at] = entry;
    node->prefixes |= 1ull << place;
    return 0;
}

/* A new node, whose chunk starts at `bit`, with one entry in it; NULL: no memory. */
static struct trie_node *node_with(const struct lpm *lpm, struct sw_node *entry, uint32_t bit)
{
    struct trie_node *node = calloc(1, sizeof *node);
    if (node == NULL) return NULL;
    uint32_t left = bits_of(lpm, entry) - bit, chunk = chunk_at(entry->words, bit);
    bool done = false;
    if (left < STRIDE) {
        done = add_result(node, entry, chunk, left) == 0;
    } else {
        child_t *slot = add_child(node, chunk);
        if (slot != NULL) *slot = leaf(entry);
        done = slot != NULL;
    }
    if (done) return node;
    free(node);
    return NULL;
}

static int insert(void *index, struct sw_node *entry)
{
    struct lpm *lpm = index;
    struct trie_node *node = &lpm->root;
    uint32_t left = bits_of(lpm, entry), bit = 0;
    for (; left >= STRIDE; left -= STRIDE, bit += STRIDE) {
        uint32_t chunk = chunk_at(entry->words, bit);
        if (!(node->children >> chunk & 1)) {
            child_t *slot = add_child(node, chunk);
            if (slot == NULL) return -ENOMEM;
            *slot = leaf(entry);
            return 0;
        }
        child_t *slot = &node->kids[rank_of(node->children, chunk)];
        if (is_leaf(*slot)) {
            struct sw_node *other = leaf_of(*slot);
            if (other->prefix == entry->prefix && same_bits(other->words, entry->words, bits_of(lpm, entry))) {
                return -EEXIST;
            }
            struct trie_node *between = node_with(lpm, other, bit + STRIDE);
            if (between == NULL) return -ENOMEM;
            *slot = (child_t)between;
        }
        node = node_of(*slot);
    }
    return add_result(node, entry, chunk_at(entry->words, bit), left);
}

/* Removes the entry below node; true when node is empty afterwards. */
static bool remove_below(struct trie_node *node, const struct sw_node *entry, uint32_t bit, uint32_t left)
{
    uint32_t chunk = chunk_at(entry->words, bit);
    if (left >= STRIDE) {
        uint32_t at = rank_of(node->children, chunk);
        child_t child = node->kids[at];
        bool empty = is_leaf(child) || remove_below(node_of(child), entry, bit + STRIDE, left - STRIDE);
        if (empty) {
            if (!is_leaf(child)) free(node_of(child));
            closed(node->kids, sizeof *node->kids, (uint32_t)__builtin_popcountll(node->children), at);
            node->children &= ~(1ull << chunk);
        }
    } else {
        uint32_t place = (1u << left) - 1 + (chunk >> (STRIDE - left)), at = rank_of(node->prefixes, place);
        closed(node->results, sizeof(struct sw_node *), (uint32_t)__builtin_popcountll(node->prefixes), at);
        node->prefixes &= ~(1ull << place);
    }
    if (node->children == 0) {
        free(node->kids);
        node->kids = NULL;
    }
    if (node->prefixes == 0) {
        free(node->results);
        node->results = NULL;
    }
    return node->children == 0 && node->prefixes == 0;
}

static void remove_entry(void *index, struct sw_node *entry)
{
    struct lpm *lpm = index;
    remove_below(&lpm->root, entry, 0, bits_of(lpm, entry));
}

static struct sw_node *find(void *index, const uint8_t *key)
{
    const struct lpm *lpm = index;
    uint64_t buffer[SW_TABLE_MAX_KEY / 8 + 1];
    arrange(lpm, buffer, key);
    const struct trie_node *node = &lpm->root;
    struct sw_node *best = NULL;
    for (uint32_t bit = 0;; bit += STRIDE) {
        uint32_t chunk = chunk_at(buffer, bit);
        uint64_t matching = node->prefixes & lpm->covers[chunk];
        if (matching != 0) best = node->results[rank_of(node->prefixes, 63 - (uint32_t)__builtin_clzll(matching))];
        if (!(node->children >> chunk & 1)) return best;
        child_t child = node->kids[rank_of(node->children, chunk)];
        if (is_leaf(child)) {
            struct sw_node *entry = leaf_of(child);
            return same_bits(entry->words, buffer, bits_of(lpm, entry)) ? entry : best;
        }
        node = node_of(child);
    }
}

const struct sw_index sw_index_lpm = {create, destroy, words, prepare, insert, remove_entry, find};
