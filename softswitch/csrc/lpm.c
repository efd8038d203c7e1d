/* LPM tables: a burst trie, that is a multi-bit trie whose leaves are short lists of prefixes.
 *
 * A slot of a node stands for some leading bits of the key. It holds the longest prefix that
 * covers it and ends in its node, and a child: none, a list of up to eight longer prefixes, or a
 * node. A list is a whole or half cache line with the prefixes' bits, by length, so a lookup
 * compares them all by SIMD and reads no entry. The root grows with the table (up to 20 bits) to
 * keep lists short, so a lookup in a large table costs two cache lines: the root's slot and a
 * list. A list that overflows becomes a node of 64 slots, behind a path if its prefixes share
 * leading bits.
 *
 * Prefixes are also in a hash map, which finds duplicates, and the next shorter prefix when one
 * is removed.
 *
 * The trie's key has the exact fields first and the lpm field last; every prefix includes all
 * bits of the exact fields. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trie.h"

enum {
    MAX_ROOT_BITS = 20,
    ROOT_LOAD = 4, /* entries per slot of the root at which it grows */
    CACHE_LIMIT = 4096,    /* with more entries the key cache is off */
};

struct lpm {
    struct sw_trie trie;
    struct sw_map map;
    const struct sw_nodes *nodes;
    uint32_t key_bytes, lpm_offset, lpm_bytes, exact_bits /* and the lpm field's padding */,
        key_bits;
    uint64_t seed;
};

/* ---- keys ---- */

/* The key's words, then the prefix length. (window() may read it: it reads past the key's end.) */
static uint32_t words(const struct sw_table_spec *spec) { return (spec->key_bytes + 7) / 8 + 1; }

static void reorder_key(const struct lpm *lpm, uint64_t *words_out, const uint8_t *key)
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

/* 32 bits of the key from bit `at` on. */
static inline uint32_t window(const uint64_t *words_in, uint32_t at)
{
    uint64_t value;
    memcpy(&value, (const uint8_t *)words_in + at / 8, sizeof value);
    return (uint32_t)(__builtin_bswap64(value) << (at % 8) >> SW_WINDOW);
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

/* The length of an entry's prefix in bits, including the exact fields. */
static inline uint32_t bits_of(const struct lpm *lpm, const struct sw_node *entry)
{
    return lpm->exact_bits + (uint32_t)entry->prefix;
}

static inline struct sw_node *entry_of(const struct lpm *lpm, uint32_t reference)
{
    return reference == 0 ? NULL : sw_node_at(lpm->nodes, reference - 1);
}

/* Turns a key's words into a prefix's: clears the bits beyond it and stores its length. Returns the
 * hash. */
static uint64_t make_prefix(const struct lpm *lpm, uint64_t *key_words, int32_t prefix)
{
    uint8_t *bytes = (uint8_t *)key_words;
    uint32_t bits = lpm->exact_bits + (uint32_t)prefix;
    for (uint32_t i = bits / 8; i < lpm->key_bytes; i++) {
        bytes[i] &= i == bits / 8 ? (uint8_t)(0xff00u >> (bits % 8)) : 0;
    }
    key_words[(lpm->key_bytes + 7) / 8] = (uint64_t)prefix;
    return sw_map_hash(&lpm->map, key_words, lpm->seed);
}

static void prepare(void *index, struct sw_node *node, const uint8_t *key, const uint8_t *mask)
{
    const struct lpm *lpm = index;
    (void)mask;
    reorder_key(lpm, node->words, key);
    node->hash = make_prefix(lpm, node->words, node->prefix);
}

/* ---- insertion ---- */

/* The slot of an entry in a node that consumes `bits` bits from bit `at` on; the first slot if the
 * prefix ends in the node. Bits beyond the prefix are cleared: behind the key's end the words hold
 * the prefix length. */
static uint32_t slot_of(const struct lpm *lpm, const struct sw_node *entry, uint32_t at,
                        uint32_t bits)
{
    uint32_t total = bits_of(lpm, entry), covers = total < at + bits ? at + bits - total : 0;
    return bits == 0 ? 0 : window(entry->words, at) >> (SW_WINDOW - bits) >> covers << covers;
}

/* The arena doesn't move while an entry is added: sw_trie_reserve has made room. */
static void add_below(struct lpm *, struct sw_trie *, sw_child_t *link, struct sw_node *,
                      uint32_t at);

static void add_to_node(struct lpm *lpm, struct sw_trie *trie, struct sw_slot *slots, uint32_t bits,
                        struct sw_node *entry, uint32_t at)
{
    uint32_t total = bits_of(lpm, entry), first = slot_of(lpm, entry, at, bits);
    if (total > at + bits) {
        add_below(lpm, trie, &slots[first].child, entry, at + bits);
        return;
    }
    for (uint32_t i = 0; i < 1u << (at + bits - total); i++) {
        uint32_t *best = &slots[first + i].best;
        if (*best == 0 || entry_of(lpm, *best)->prefix < entry->prefix)
            *best = entry->entry.handle + 1;
    }
}

/* Replaces a full list by a node for its prefixes and one more, behind a path for the bits that all
 * nine share. */
static sw_child_t burst(struct lpm *lpm, struct sw_trie *trie, sw_child_t list,
                        struct sw_node *entry, uint32_t at)
{
    struct sw_node *entries[SW_LONG + 1] = {entry};
    uint32_t mine = window(entry->words, at), shared = bits_of(lpm, entry) - at - 1;
    for (uint32_t i = 0; i < SW_LONG; i++) {
        struct sw_node *sibling = entry_of(lpm, sw_trie_list(trie, list)[SW_LONG + i]);
        uint32_t differ = mine ^ window(sibling->words, at);
        uint32_t same = differ == 0 ? SW_WINDOW : (uint32_t)__builtin_clz(differ),
                 most = bits_of(lpm, sibling) - at - 1;
        shared = shared < same ? shared : same;
        shared = shared < most ? shared : most;
        entries[i + 1] = sibling;
    }
    sw_trie_release(trie, list);
    sw_child_t node = sw_trie_alloc(trie, SW_NODE), top = node;
    uint32_t length = shared / SW_STRIDE * SW_STRIDE;
    if (length != 0) {
        top = sw_trie_alloc(trie, SW_PATH);
        *sw_trie_path(trie, top) = (struct sw_path){mine, length, node};
    }
    for (uint32_t i = 0; i <= SW_LONG; i++) {
        add_to_node(lpm, trie, sw_trie_slots(trie, node), SW_STRIDE, entries[i], at + length);
    }
    return top;
}

/* A new prefix leaves a path: its first SW_STRIDE bits become a node. */
static sw_child_t split_path(struct sw_trie *trie, sw_child_t child)
{
    struct sw_path path = *sw_trie_path(trie, child);
    sw_child_t node = sw_trie_alloc(trie, SW_NODE);
    sw_child_t *below = &sw_trie_slots(trie, node)[path.bits >> (SW_WINDOW - SW_STRIDE)].child;
    if (path.length == SW_STRIDE) {
        *below = path.child;
        sw_trie_release(trie, child);
    } else {
        *sw_trie_path(trie, child) =
            (struct sw_path){path.bits << SW_STRIDE, path.length - SW_STRIDE, path.child};
        *below = child;
    }
    return node;
}

/* Adds an entry of more than `at` bits below a slot or a path. */
static void add_below(struct lpm *lpm, struct sw_trie *trie, sw_child_t *link,
                      struct sw_node *entry, uint32_t at)
{
    sw_child_t child = *link;
    if (sw_trie_kind(child) == SW_PATH) {
        struct sw_path *path = sw_trie_path(trie, child);
        bool along = bits_of(lpm, entry) > at + path->length &&
                     (window(entry->words, at) ^ path->bits) >> (SW_WINDOW - path->length) == 0;
        if (along) {
            add_below(lpm, trie, &path->child, entry, at + path->length);
            return;
        }
        *link = child = split_path(trie, child);
    }
    if (sw_trie_kind(child) == SW_NODE) {
        add_to_node(lpm, trie, sw_trie_slots(trie, child), SW_STRIDE, entry, at);
        return;
    }
    uint32_t room = sw_list_room(child);
    if (child == 0) {
        *link = child = sw_trie_alloc(trie, SW_SHORT_LIST);
    } else if (sw_list_full(sw_trie_list(trie, child), room) && room == SW_SHORT) {
        *link = sw_trie_alloc(trie, SW_LONG_LIST);
        memcpy(sw_trie_list(trie, *link), sw_trie_list(trie, child), SW_SHORT * sizeof(uint32_t));
        memcpy(sw_trie_list(trie, *link) + SW_LONG, sw_trie_list(trie, child) + SW_SHORT,
               SW_SHORT * sizeof(uint32_t));
        sw_trie_release(trie, child);
        child = *link;
    } else if (sw_list_full(sw_trie_list(trie, child), room)) {
        *link = burst(lpm, trie, child, entry, at);
        return;
    }
    room = sw_list_room(child);
    sw_list_add(lpm->nodes, sw_trie_list(trie, child), room, entry, window(entry->words, at),
                bits_of(lpm, entry) - at);
}

static int add(struct lpm *lpm, struct sw_trie *trie, struct sw_node *entry)
{
    if (sw_trie_reserve(trie, lpm->key_bits) != 0) return -ENOMEM;
    add_to_node(lpm, trie, trie->root, trie->root_bits, entry, 0);
    return 0;
}

/* Doubles the root. Out of memory it stays as it is, and more lists become nodes. */
static void grow(struct lpm *lpm)
{
    struct sw_trie bigger = {.root_bits = lpm->trie.root_bits + 1};
    size_t size = ((size_t)1 << bigger.root_bits) * sizeof *bigger.root;
    bigger.root = sw_alloc_aligned(size);
    int status = bigger.root == NULL ? -ENOMEM : 0;
    if (status == 0) memset(bigger.root, 0, size);
    for (uint32_t i = 0; status == 0 && i < (lpm->map.mask + 1) * SW_BUCKET; i++) {
        uint32_t reference = lpm->map.buckets[i / SW_BUCKET].references[i % SW_BUCKET];
        if (reference != 0) status = add(lpm, &bigger, entry_of(lpm, reference));
    }
    if (status == 0) {
        sw_trie_free(&lpm->trie);
        lpm->trie = bigger;
    } else {
        sw_trie_free(&bigger);
    }
}

static int insert(void *index, struct sw_node *entry)
{
    struct lpm *lpm = index;
    if (sw_map_find(&lpm->map, lpm->nodes, entry->words, entry->hash) != NULL) return -EEXIST;
    uint32_t bits = lpm->trie.root_bits;
    if (lpm->map.count >= (uint32_t)ROOT_LOAD << bits && bits < MAX_ROOT_BITS &&
        bits < lpm->key_bits)
        grow(lpm);
    int status = sw_map_insert(&lpm->map, lpm->nodes, entry);
    if (status != 0) return status;
    status = add(lpm, &lpm->trie, entry);
    if (status != 0) sw_map_remove(&lpm->map, lpm->nodes, entry);
    return status;
}

/* ---- removal ---- */

/* The longest prefix in the table that covers a removed entry's and has at least `least` bits: a
 * reference, or 0. */
static uint32_t covering_prefix(const struct lpm *lpm, const struct sw_node *entry, uint32_t least)
{
    uint64_t shorter[SW_TABLE_MAX_KEY / 8 + 1];
    memcpy(shorter, entry->words, lpm->map.n_words * sizeof *shorter);
    for (int32_t prefix = entry->prefix - 1;
         prefix >= 0 && lpm->exact_bits + (uint32_t)prefix >= least; prefix--) {
        uint64_t hash = make_prefix(lpm, shorter, prefix);
        const struct sw_node *node = sw_map_find(&lpm->map, lpm->nodes, shorter, hash);
        if (node != NULL) return node->entry.handle + 1;
    }
    return 0;
}

static void remove_below(struct lpm *, sw_child_t *link, const struct sw_node *, uint32_t at);

static void remove_from_node(struct lpm *lpm, struct sw_slot *slots, uint32_t bits,
                             const struct sw_node *entry, uint32_t at)
{
    uint32_t total = bits_of(lpm, entry), first = slot_of(lpm, entry, at, bits);
    if (total > at + bits) {
        remove_below(lpm, &slots[first].child, entry, at + bits);
        return;
    }
    uint32_t instead = covering_prefix(lpm, entry, at == 0 && slots == lpm->trie.root ? 0 : at + 1);
    for (uint32_t i = 0; i < 1u << (at + bits - total); i++) {
        if (slots[first + i].best == entry->entry.handle + 1) slots[first + i].best = instead;
    }
}

/* Removes an entry below a slot or a path, and frees the child if it is empty then. */
static void remove_below(struct lpm *lpm, sw_child_t *link, const struct sw_node *entry,
                         uint32_t at)
{
    struct sw_trie *trie = &lpm->trie;
    sw_child_t child = *link;
    bool empty;
    if (sw_trie_kind(child) == SW_PATH) {
        struct sw_path *path = sw_trie_path(trie, child);
        remove_below(lpm, &path->child, entry, at + path->length);
        empty = path->child == 0;
    } else if (sw_trie_kind(child) == SW_NODE) {
        struct sw_slot *slots = sw_trie_slots(trie, child);
        remove_from_node(lpm, slots, SW_STRIDE, entry, at);
        empty = true;
        for (uint32_t i = 0; i < 1u << SW_STRIDE && empty; i++)
            empty = slots[i].best == 0 && slots[i].child == 0;
    } else {
        uint32_t *list = sw_trie_list(trie, child), room = sw_list_room(child);
        sw_list_remove(list, room, entry);
        empty = list[room] == 0;
    }
    if (!empty) return;
    sw_trie_release(trie, child);
    *link = 0;
}

static void remove_entry(void *index, struct sw_node *entry)
{
    struct lpm *lpm = index;
    sw_map_remove(&lpm->map, lpm->nodes, entry);
    remove_from_node(lpm, lpm->trie.root, lpm->trie.root_bits, entry, 0);
}

/* ---- lookup ---- */

/* Wide keys: a list has only 31 bits of a prefix, so longer ones are compared with the entry. */
static uint32_t longest_in_list(const struct lpm *lpm, sw_child_t child, const uint64_t *key,
                                uint32_t at, uint32_t best)
{
    const uint32_t *list = sw_trie_list(&lpm->trie, child), room = sw_list_room(child);
    for (uint32_t left = sw_list_matches(list, child, window(key, at)); left != 0;
         left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        if (i >= room || list[room + i] == 0) break;
        const struct sw_node *entry = entry_of(lpm, list[room + i]);
        if (!(list[i] & 1) || same_bits(entry->words, key, bits_of(lpm, entry)))
            return list[room + i];
    }
    return best;
}

/* Keys of 32 bits: a list has all bits of a prefix, and `bits` shifts the key in a register. */
static uint32_t find_narrow(const struct sw_trie *trie, uint32_t key)
{
    const struct sw_slot *slot = &trie->root[(uint64_t)key << trie->root_bits >> SW_WINDOW];
    uint64_t bits = (uint64_t)key << trie->root_bits; /* the lower 32 bits: the rest of the key */
    uint32_t best = slot->best;
    sw_child_t child = slot->child;
    while (sw_trie_kind(child) >= SW_NODE) {
        if (sw_trie_kind(child) == SW_PATH) {
            const struct sw_path *path = sw_trie_path(trie, child);
            if (((uint32_t)bits ^ path->bits) >> (SW_WINDOW - path->length) != 0) return best;
            bits <<= path->length;
            child = path->child;
        } else {
            slot = &sw_trie_slots(trie, child)[(uint32_t)bits >> (SW_WINDOW - SW_STRIDE)];
            bits <<= SW_STRIDE;
            best = slot->best != 0 ? slot->best : best;
            child = slot->child;
        }
    }
    const uint32_t *list = sw_trie_list(trie, child);
    uint32_t left = sw_list_matches(list, child, (uint32_t)bits), room = sw_list_room(child);
    uint32_t longest = left == 0 ? 0 : list[room + (uint32_t)__builtin_ctz(left)];
    return longest != 0 ? longest : best;
}

static uint32_t find_wide(const struct lpm *lpm, const uint8_t *key_bytes)
{
    uint64_t key[SW_TABLE_MAX_KEY / 8 + 1];
    reorder_key(lpm, key, key_bytes);
    const struct sw_trie *trie = &lpm->trie;
    uint32_t at = trie->root_bits;
    const struct sw_slot *slot = &trie->root[at == 0 ? 0 : window(key, 0) >> (SW_WINDOW - at)];
    uint32_t best = slot->best;
    sw_child_t child = slot->child;
    while (sw_trie_kind(child) >= SW_NODE) {
        if (sw_trie_kind(child) == SW_PATH) {
            const struct sw_path *path = sw_trie_path(trie, child);
            if ((window(key, at) ^ path->bits) >> (SW_WINDOW - path->length) != 0) return best;
            at += path->length;
            child = path->child;
        } else {
            slot = &sw_trie_slots(trie, child)[window(key, at) >> (SW_WINDOW - SW_STRIDE)];
            at += SW_STRIDE;
            best = slot->best != 0 ? slot->best : best;
            child = slot->child;
        }
    }
    if (child == 0) return best;
    return longest_in_list(lpm, child, key, at, best);
}

static struct sw_node *find(void *index, const uint8_t *key)
{
    return entry_of(index, find_wide(index, key));
}

static struct sw_node *find_u32(void *index, const uint8_t *key)
{
    const struct lpm *lpm = index;
    uint32_t bits;
    memcpy(&bits, key, sizeof bits);
    return entry_of(lpm, find_narrow(&lpm->trie, __builtin_bswap32(bits)));
}

static void close(void *index)
{
    struct lpm *lpm = index;
    sw_trie_free(&lpm->trie);
    sw_map_free(&lpm->map);
}

static bool open(void *index, const struct sw_table_spec *spec, const struct sw_nodes *nodes,
                 uint64_t seed)
{
    struct lpm *lpm = index;
    lpm->nodes = nodes;
    lpm->seed = seed;
    lpm->key_bytes = spec->key_bytes;
    lpm->key_bits = 8 * spec->key_bytes;
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
    sw_map_init(&lpm->map, spec->key_bytes, words(spec));
    lpm->trie.root_bits = 1; /* leaves 31 bits of a key of four bytes: what a list has room for */
    lpm->trie.root = calloc(2, sizeof *lpm->trie.root);
    if (lpm->trie.root != NULL && sw_trie_reserve(&lpm->trie, lpm->key_bits) == 0) return true;
    close(lpm);
    return false;
}

#define INDEX(find)                                                                                \
    {sizeof(struct lpm), open, close, words, prepare, insert, remove_entry, find, CACHE_LIMIT, NULL}

const struct sw_index *sw_index_lpm(const struct sw_table_spec *spec)
{
    static const struct sw_index any = INDEX(find), four = INDEX(find_u32);
    return spec->key_bytes == 4 && spec->n_fields == 1 ? &four : &any;
}
