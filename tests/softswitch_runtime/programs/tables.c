/* Tables of every kind for the model tests, and a program around them that is never run. */
#include "table.h"

static const struct sw_action_spec actions[] = {
    {"set", 2, (const uint16_t[]){9, 70}},
    {"nothing", 0, NULL},
};

#define FIELDS(...) (const struct sw_key_field[]){__VA_ARGS__}

static const struct sw_table_spec specs[] = {
    {"exact", SW_EXACT, 2, FIELDS({SW_EXACT, 12}, {SW_EXACT, 48}), 8, 200000, 0, 1, NULL, 0, NULL},
    {"lpm", SW_LPM, 1, FIELDS({SW_LPM, 32}), 4, 200000, 0, 1, NULL, 0, NULL},
    {"lpm_after_exact", SW_LPM, 3, FIELDS({SW_EXACT, 3}, {SW_LPM, 13}, {SW_EXACT, 8}), 4, 1000, 0, 1, NULL, 0, NULL},
    {"ternary", SW_TERNARY, 3, FIELDS({SW_TERNARY, 16}, {SW_EXACT, 4}, {SW_LPM, 8}), 4, 200000, 0, 1, NULL, 0, NULL},
    {"range", SW_RANGE, 3, FIELDS({SW_RANGE, 16}, {SW_TERNARY, 8}, {SW_RANGE, 72}), 12, 200000, 0, 1, NULL, 0, NULL},
    {"optional", SW_TERNARY, 2, FIELDS({SW_OPTIONAL, 16}, {SW_OPTIONAL, 9}), 4, 1000, 0, 1, NULL, 0, NULL},
    {"lpm6", SW_LPM, 1, FIELDS({SW_LPM, 128}), 16, 200000, 0, 1, NULL, 0, NULL},
    {"small", SW_EXACT, 1, FIELDS({SW_EXACT, 8}), 1, 3, SW_DIRECT_METER, UINT32_MAX, NULL, 0, NULL},
    {"keyless", SW_EXACT, 0, NULL, 0, 1, 0, 1, NULL, 0, NULL},
    {"exact1", SW_EXACT, 1, FIELDS({SW_EXACT, 8}), 1, 200, 0, 1, NULL, 0, NULL},
    {"exact2", SW_EXACT, 1, FIELDS({SW_EXACT, 9}), 2, 200000, 0, 1, NULL, 0, NULL},
    {"exact3", SW_EXACT, 2, FIELDS({SW_EXACT, 1}, {SW_EXACT, 16}), 3, 200000, 0, 1, NULL, 0, NULL},
    {"exact4", SW_EXACT, 1, FIELDS({SW_EXACT, 32}), 4, 200000, 0, 1, NULL, 0, NULL},
    {"exact6", SW_EXACT, 1, FIELDS({SW_EXACT, 48}), 6, 200000, 0, 1, NULL, 0, NULL},
    {"ternary18", SW_TERNARY, 2, FIELDS({SW_OPTIONAL, 16}, {SW_TERNARY, 128}), 18, 200000, 0, 1, NULL, 0, NULL},
    {"ternary46", SW_TERNARY, 1, FIELDS({SW_TERNARY, 368}), 46, 200000, 0, 1, NULL, 0, NULL},
    {"range51", SW_RANGE, 3, FIELDS({SW_TERNARY, 300}, {SW_RANGE, 40}, {SW_TERNARY, 64}), 51, 200000, 0, 1, NULL, 0, NULL},
};

const struct sw_program sw_program = {.abi = SW_ABI, .name = "tables", .n_actions = 2, .actions = actions};

struct sw_table *table_make(uint32_t number)
{
    const char *why;
    return sw_table_new(&specs[number], &sw_program, 42, &why);
}

static const struct sw_entry *look_up(const struct sw_table *table, const uint8_t *key, uint32_t bytes)
{
    return sw_table_spec_of(table)->kind == SW_EXACT ? sw_lookup_exact(table, key, bytes) : sw_lookup(table, key, bytes);
}

/* The handle of the entry that matches, or -1. The lookup is announced before, which changes nothing. */
int64_t table_find(struct sw_table *table, const uint8_t *key)
{
    uint32_t bytes = sw_table_spec_of(table)->key_bytes;
    if (sw_table_spec_of(table)->kind == SW_EXACT) {
        sw_prepare_lookup_exact(table, key, bytes);
    } else {
        sw_prepare_lookup(table, key, bytes);
    }
    const struct sw_entry *entry = look_up(table, key, bytes);
    return entry == NULL ? -1 : (int64_t)entry->handle;
}

/* Finds each of n keys in turn, `rounds` times; returns how many matched. */
uint64_t table_sweep(struct sw_table *table, const uint8_t *keys, uint32_t key_bytes, uint32_t n, uint32_t rounds)
{
    uint64_t hits = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < n; i++) hits += look_up(table, keys + (size_t)i * key_bytes, key_bytes) != NULL;
    }
    return hits;
}
