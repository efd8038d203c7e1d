/* Table lookups, inlined into programs: part of pipeline.h.
 *
 * The key's match kind and width, known at compile time, select the method. An exact key of up
 * to 16 bits indexes an array of entries. One of up to 32 bits is found in a hash map of
 * buckets, a cache line each. All others call the table's index; since traffic repeats its keys,
 * results for keys of up to 8 bytes are cached. */
#ifndef SW_LOOKUP_H
#define SW_LOOKUP_H

enum {
    SW_ARRAY_KEY = 2, /* most bytes of a key that indexes the array */
    SW_NARROW_KEY = 4, /* most bytes of a key in the hash map */
    SW_CACHED_KEY = 8, /* most bytes of a key whose result is cached */
    SW_CACHE_BITS = 7,
    SW_BUCKET = 8, /* slots */
};

#define SW_ALWAYS static inline __attribute__((always_inline))

/* A cached result. `found`: the entry's address | 1; 1 for a miss; 0: the slot is empty. */
struct sw_cache_slot {
    uint64_t key;
    uintptr_t result;
};

/* Eight tags, which are keys or their hashes (map.h), and the entries. A reference is a handle plus
 * one; 0: free. */
struct sw_bucket {
    uint32_t tags[SW_BUCKET], references[SW_BUCKET];
};

/* The nodes of a table, an array by handle. Its address space is reserved once, and the kernel adds
 * memory as it is used: so a node never moves, and its address follows from its handle without a
 * load. A node begins with its entry. */
struct sw_node;
struct sw_nodes {
    struct sw_node *first;
    size_t node_bytes;
};

SW_ALWAYS struct sw_node *sw_node_at(const struct sw_nodes *nodes, uint32_t handle)
{
    return (struct sw_node *)(void *)((char *)nodes->first + handle * nodes->node_bytes);
}

/* The first member of a table: all that a lookup reads. */
struct sw_table_head {
    union {
        /* by hash of the key; off: mask is 0, and the only slot stays empty */
        struct sw_cache_slot *cache;
        struct sw_node **array;   /* by key */
        struct sw_bucket *buckets; /* by hash of a narrow key */
    };
    uint64_t mask; /* of hashes; for `array`: the array's length */
    /* The index's lookup, after a cache miss or where the bucket lacks the key. NULL: no bucket has
     * overflowed: a miss. */
    struct sw_node *(*find)(void *where, const uint8_t *key);
    void *where;
    uint64_t seed; /* of a narrow key's hash */
    struct sw_nodes nodes;
};

SW_ALWAYS const struct sw_table_head *sw_head_of(const struct sw_table *table)
{
    return (const struct sw_table_head *)(const void *)table;
}

/* A key's slot in the cache; `*word` is the key as a number. */
SW_ALWAYS struct sw_cache_slot *sw_cache_slot_of(const struct sw_table *table, const uint8_t *key,
                                                 uint32_t bytes, uint64_t *word)
{
    const struct sw_table_head *head = sw_head_of(table);
    *word = 0;
    __builtin_memcpy(word, key, bytes);
    return &head->cache[*word * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SW_CACHE_BITS) & head->mask];
}

typedef uint32_t sw_u32x4 __attribute__((vector_size(16)));

/* The OR of all lanes of two vectors. */
SW_ALWAYS uint32_t sw_or(sw_u32x4 low, sw_u32x4 high)
{
    union {
        sw_u32x4 four;
        uint64_t two[2];
    } all = {.four = low | high};
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

SW_ALWAYS uint32_t sw_narrow_hash(uint64_t word, uint64_t seed)
{
    return (word ^ seed) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

/* The reference of a narrow key in its bucket, or 0. Branchless: at most one slot in use has the
 * key's tag, and free slots have reference 0, so it is the OR of the references of all slots with
 * that tag. */
SW_ALWAYS uint32_t sw_reference_in(const struct sw_bucket *bucket, uint32_t word)
{
    const sw_u32x4 *tags = (const sw_u32x4 *)bucket->tags,
                   *references = (const sw_u32x4 *)bucket->references;
    return sw_or((sw_u32x4)(tags[0] == word) & references[0],
                 (sw_u32x4)(tags[1] == word) & references[1]);
}

/* The entry that matches key, or NULL. For tables that aren't SW_EXACT. bytes: spec->key_bytes,
 * best a constant. */
SW_ALWAYS const struct sw_entry *sw_lookup(const struct sw_table *table, const uint8_t *key,
                                           uint32_t bytes)
{
    const struct sw_table_head *head = sw_head_of(table);
    if (bytes <= SW_CACHED_KEY) {
        uint64_t word;
        const struct sw_cache_slot *slot = sw_cache_slot_of(table, key, bytes, &word);
        if (slot->key == word && slot->result != 0)
            return (const struct sw_entry *)(slot->result - 1);
    }
    return (const struct sw_entry *)(const void *)head->find(head->where, key);
}

/* The same for SW_EXACT tables. */
SW_ALWAYS const struct sw_entry *sw_lookup_exact(const struct sw_table *table, const uint8_t *key,
                                                 uint32_t bytes)
{
    const struct sw_table_head *head = sw_head_of(table);
    if (bytes == 0 || bytes > SW_NARROW_KEY) return sw_lookup(table, key, bytes);
    if (bytes <= SW_ARRAY_KEY) {
        uint32_t number = bytes == 1 ? key[0] : (uint32_t)key[0] << 8 | key[1];
        return number < head->mask ? (const struct sw_entry *)(const void *)head->array[number]
                                   : NULL;
    }
    uint32_t word = sw_narrow_word(key, bytes);
    uint32_t reference =
        sw_reference_in(&head->buckets[sw_narrow_hash(word, head->seed) & head->mask], word);
    if (__builtin_expect(reference == 0, 0)) {
        return head->find == NULL
                   ? NULL
                   : (const struct sw_entry *)(const void *)head->find(head->where, key);
    }
    return (const struct sw_entry *)(const void *)sw_node_at(&head->nodes, reference - 1);
}

/* ---- action profiles: profile.c ---- */

struct sw_member {
    uint32_t action, ref_count;
    uint64_t args[];
};
/* A group's reference to a member; `member` is NULL while no member has the handle. */
struct sw_member_ref {
    struct sw_member *member;
    uint32_t handle;
};
struct sw_group {
    uint32_t n, mask; /* mask: n - 1, where n is a power of two, else 0 */
    struct sw_member_ref refs[]; /* handles ascending */
};

/* Members or groups by handle. No handle below `first_free` is free. */
struct sw_slots {
    void **items;
    uint32_t capacity, first_free;
};

/* The first member of a profile: all that resolving an entry reads. */
struct sw_choices {
    struct sw_slots members, groups;
};

SW_ALWAYS void *sw_slot_at(const struct sw_slots *slots, uint64_t handle)
{
    return handle < slots->capacity ? slots->items[handle] : NULL;
}

/* The action that an entry of an indirect table refers to: its member's, or that of the group's
 * member that the hash selects. Of an empty group, none. In line, since all that the packet does
 * next waits for it. */
SW_ALWAYS struct sw_call sw_resolve(const struct sw_profile *profile, struct sw_call reference,
                                    uint32_t hash)
{
    const struct sw_choices *choices = (const struct sw_choices *)(const void *)profile;
    const struct sw_member *member = NULL;
    if (__builtin_expect(reference.action == SW_GROUP, 1)) {
        const struct sw_group *group = sw_slot_at(&choices->groups, reference.args[0]);
        if (group != NULL && group->n != 0) {
            /* a division takes as long as three loads */
            uint32_t i = group->mask != 0 ? hash & group->mask : hash % group->n;
            member = group->refs[i].member;
        }
    } else if (reference.action == SW_MEMBER) {
        member = sw_slot_at(&choices->members, reference.args[0]);
    } else {
        return reference;
    }
    return member == NULL ? (struct sw_call){UINT32_MAX, NULL}
                          : (struct sw_call){member->action, member->args};
}

#endif
