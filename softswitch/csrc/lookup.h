/* How programs look keys up, without a call where they can: part of pipeline.h.
 *
 * Three ways, by what the compiler knows of the key. An exact one of up to 16 bits stands at its own place in an array of entries.
 * One of up to 32 bits stands in a hash map of buckets, each a cache line. For all others the table's index is called; but
 * traffic repeats its keys, so short ones are remembered with what they found. */
#ifndef SW_LOOKUP_H
#define SW_LOOKUP_H

enum {
    SW_PLACED_KEY = 2, /* bytes of a key that stands at its place */
    SW_NARROW_KEY = 4, /* of one in the map */
    SW_SHORT_KEY = 8,  /* of one that is remembered */
    SW_RECENT_BITS = 7,
    SW_BUCKET = 8,
};

#define SW_ALWAYS static inline __attribute__((always_inline))

/* `found`: the entry, with the lowest bit set; that alone for a key that isn't there; 0: empty. */
struct sw_recent { uint64_t key; uintptr_t found; };

/* Eight keys, or what stands for them (map.h), and the entries. A reference is a handle plus one; 0: free. */
struct sw_bucket { uint32_t tags[SW_BUCKET], references[SW_BUCKET]; };

/* The nodes of a table, by handle: one piece of address space, of which the system gives memory to what is used. So a node never
 * moves, and its place follows from its handle without a look at memory that isn't at hand. A node begins with its entry. */
struct sw_node;
struct sw_nodes { struct sw_node *first; size_t node_bytes; };

SW_ALWAYS struct sw_node *sw_node_at(const struct sw_nodes *nodes, uint32_t handle)
{
    return (struct sw_node *)(void *)((char *)nodes->first + handle * nodes->node_bytes);
}

/* What a table begins with. */
struct sw_table_head {
    union {
        struct sw_recent *recent;  /* one for each hash of a key, or where mask is 0 one that stays empty */
        struct sw_node **places;   /* by key */
        struct sw_bucket *buckets; /* by hash of a narrow key */
    };
    uint64_t mask; /* of hashes; of places: how many there are */
    /* Of a key that isn't remembered; of one that isn't in its bucket, NULL: then it is nowhere. */
    struct sw_node *(*find)(void *where, const uint8_t *key);
    void *where;
    uint64_t seed; /* of a narrow key's hash */
    struct sw_nodes nodes;
};

SW_ALWAYS const struct sw_table_head *sw_head_of(const struct sw_table *table)
{
    return (const struct sw_table_head *)(const void *)table;
}

/* Where a short key is remembered, and its word. */
SW_ALWAYS struct sw_recent *sw_recent_of(const struct sw_table *table, const uint8_t *key, uint32_t bytes, uint64_t *word)
{
    const struct sw_table_head *head = sw_head_of(table);
    *word = 0;
    __builtin_memcpy(word, key, bytes);
    return &head->recent[*word * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SW_RECENT_BITS) & head->mask];
}

typedef uint32_t sw_four __attribute__((vector_size(16)));

/* All lanes of two vectors in one, by or. */
SW_ALWAYS uint32_t sw_or(sw_four low, sw_four high)
{
    union { sw_four four; uint64_t two[2]; } all = {.four = low | high};
    uint64_t both = all.two[0] | all.two[1];
    return (uint32_t)(both | both >> 32);
}

/* A narrow key as a number, and its hash. */
SW_ALWAYS uint32_t sw_narrow_word(const uint8_t *key, uint32_t bytes)
{
    uint32_t word = 0;
    __builtin_memcpy(&word, key, bytes);
    return word;
}

SW_ALWAYS uint32_t sw_narrow_hash(uint64_t word, uint64_t seed) { return (word ^ seed) * UINT64_C(0x9e3779b97f4a7c15) >> 32; }

/* The reference of a narrow key in its bucket, or 0. At most one slot that isn't free has its tag, and a free one has no reference:
 * so it is the or of the slots' references, of which those with other tags count as none. */
SW_ALWAYS uint32_t sw_reference_in(const struct sw_bucket *bucket, uint32_t word)
{
    const sw_four *tags = (const sw_four *)bucket->tags, *references = (const sw_four *)bucket->references;
    return sw_or((sw_four)(tags[0] == word) & references[0], (sw_four)(tags[1] == word) & references[1]);
}

/* The entry that matches key, or NULL, of a table that isn't SW_EXACT. bytes: spec->key_bytes, which the compiler had better
 * know. */
SW_ALWAYS const struct sw_entry *sw_lookup(const struct sw_table *table, const uint8_t *key, uint32_t bytes)
{
    const struct sw_table_head *head = sw_head_of(table);
    if (bytes <= SW_SHORT_KEY) {
        uint64_t word;
        const struct sw_recent *recent = sw_recent_of(table, key, bytes, &word);
        if (recent->key == word && recent->found != 0) return (const struct sw_entry *)(recent->found - 1);
    }
    return (const struct sw_entry *)(const void *)head->find(head->where, key);
}

/* Of an SW_EXACT one. */
SW_ALWAYS const struct sw_entry *sw_lookup_exact(const struct sw_table *table, const uint8_t *key, uint32_t bytes)
{
    const struct sw_table_head *head = sw_head_of(table);
    if (bytes == 0 || bytes > SW_NARROW_KEY) return sw_lookup(table, key, bytes);
    if (bytes <= SW_PLACED_KEY) {
        uint32_t place = bytes == 1 ? key[0] : (uint32_t)key[0] << 8 | key[1];
        return place < head->mask ? (const struct sw_entry *)(const void *)head->places[place] : NULL;
    }
    uint32_t word = sw_narrow_word(key, bytes);
    uint32_t reference = sw_reference_in(&head->buckets[sw_narrow_hash(word, head->seed) & head->mask], word);
    if (__builtin_expect(reference == 0, 0)) {
        return head->find == NULL ? NULL : (const struct sw_entry *)(const void *)head->find(head->where, key);
    }
    return (const struct sw_entry *)(const void *)sw_node_at(&head->nodes, reference - 1);
}

#endif
