/* Tables of every kind for the model tests, and a program around them that is never run. */
#include "table.h"

/* Action n takes n words. */
static const uint16_t words[] = {64, 64, 64, 64, 64, 64, 64, 64};
static const struct sw_action_spec actions[] = {
    {"0", 0, NULL},  {"1", 1, words}, {"2", 2, words}, {"3", 2, (const uint16_t[]){9, 70}},
    {"4", 4, words}, {"5", 5, words}, {"6", 6, words}, {"7", 7, words},
    {"8", 8, words},
};
enum { ACTIONS = sizeof actions / sizeof actions[0] };

#define FIELDS(...)                                                                                \
    (const struct sw_key_field[]) { __VA_ARGS__ }

/* Const entries with a key of up to four bytes, whose first is the action. */
static const uint64_t counted_up[] = {1, 2, 3, 4, 5, 6, 7, 8};
#define CONST(n) {(const uint8_t[]){n, 0xf0, 0xff, 0xff}, NULL, 0, 0, n, counted_up}
static const struct sw_const_entry consts[] = {CONST(0), CONST(1), CONST(2),
                                               CONST(3), CONST(6), CONST(7)};
#define CONSTS 8, counted_up, sizeof consts / sizeof consts[0], consts

static const struct sw_table_spec specs[] = {
    {"exact", SW_EXACT, 2, FIELDS({SW_EXACT, 12}, {SW_EXACT, 48}), 8, 200000, 0, 0, NULL, 0, NULL},
    {"lpm", SW_LPM, 1, FIELDS({SW_LPM, 32}), 4, 200000, 0, 0, NULL, 0, NULL},
    {"lpm_after_exact", SW_LPM, 3, FIELDS({SW_EXACT, 3}, {SW_LPM, 13}, {SW_EXACT, 8}), 4, 1000, 0,
     0, NULL, 0, NULL},
    {"ternary", SW_TERNARY, 3, FIELDS({SW_TERNARY, 16}, {SW_EXACT, 4}, {SW_LPM, 8}), 4, 200000, 0,
     0, NULL, 0, NULL},
    {"range", SW_RANGE, 3, FIELDS({SW_RANGE, 16}, {SW_TERNARY, 8}, {SW_RANGE, 72}), 12, 200000, 0,
     0, NULL, 0, NULL},
    {"optional", SW_TERNARY, 2, FIELDS({SW_OPTIONAL, 16}, {SW_OPTIONAL, 9}), 4, 1000, 0, 0, NULL, 0,
     NULL},
    {"lpm6", SW_LPM, 1, FIELDS({SW_LPM, 128}), 16, 200000, 0, 0, NULL, 0, NULL},
    {"small", SW_EXACT, 1, FIELDS({SW_EXACT, 8}), 1, 3, SW_DIRECT_METER, UINT32_MAX, NULL, 0, NULL},
    {"keyless", SW_EXACT, 0, NULL, 0, 1, 0, 0, NULL, 0, NULL},
    {"exact1", SW_EXACT, 1, FIELDS({SW_EXACT, 8}), 1, 200, 0, 0, NULL, 0, NULL},
    {"exact2", SW_EXACT, 1, FIELDS({SW_EXACT, 9}), 2, 200000, 0, 0, NULL, 0, NULL},
    {"exact3", SW_EXACT, 2, FIELDS({SW_EXACT, 1}, {SW_EXACT, 16}), 3, 200000, 0, 0, NULL, 0, NULL},
    {"exact4", SW_EXACT, 1, FIELDS({SW_EXACT, 32}), 4, 200000, 0, 0, NULL, 0, NULL},
    {"exact6", SW_EXACT, 1, FIELDS({SW_EXACT, 48}), 6, 200000, 0, 0, NULL, 0, NULL},
    {"ternary18", SW_TERNARY, 2, FIELDS({SW_OPTIONAL, 16}, {SW_TERNARY, 128}), 18, 200000, 0, 0,
     NULL, 0, NULL},
    {"ternary46", SW_TERNARY, 1, FIELDS({SW_TERNARY, 368}), 46, 200000, 0, 0, NULL, 0, NULL},
    {"range51", SW_RANGE, 3, FIELDS({SW_TERNARY, 300}, {SW_RANGE, 40}, {SW_TERNARY, 64}), 51,
     200000, 0, 0, NULL, 0, NULL},
    {"exact20", SW_EXACT, 1, FIELDS({SW_EXACT, 160}), 20, 200000, 0, 0, NULL, 0, NULL},
    {"const1", SW_EXACT, 1, FIELDS({SW_EXACT, 8}), 1, 1, 0, CONSTS},
    {"const2", SW_EXACT, 1, FIELDS({SW_EXACT, 16}), 2, 1, 0, CONSTS},
    {"const3", SW_EXACT, 1, FIELDS({SW_EXACT, 24}), 3, 1, 0, CONSTS},
    {"const4", SW_EXACT, 1, FIELDS({SW_EXACT, 32}), 4, 1, 0, CONSTS},
};

enum {
    SPECS = sizeof specs / sizeof specs[0],
    FLAGS = SW_DIRECT_COUNTER | SW_IDLE_TIMEOUT | SW_DIRECT_METER
};

const struct sw_program sw_program = {
    .abi = SW_ABI, .name = "tables", .n_actions = ACTIONS, .actions = actions};

struct sw_table *table_make(uint32_t number, uint32_t flags)
{
    static struct sw_table_spec with[FLAGS + 1][SPECS];
    struct sw_table_spec *spec = &with[flags][number];
    const char *why;
    *spec = specs[number];
    spec->flags |= flags;
    return sw_table_new(spec, &sw_program, 42, &why);
}

static const struct sw_entry *look_up(const struct sw_table *table, const uint8_t *key,
                                      uint32_t bytes)
{
    return sw_table_spec_of(table)->kind == SW_EXACT ? sw_lookup_exact(table, key, bytes)
                                                     : sw_lookup(table, key, bytes);
}

/* The handle of the entry that matches, or -1. */
int64_t table_find(struct sw_table *table, const uint8_t *key)
{
    const struct sw_entry *entry = look_up(table, key, sw_table_spec_of(table)->key_bytes);
    return entry == NULL ? -1 : (int64_t)entry->handle;
}

/* What generated code does with a packet of `length` bytes at `now_us`. The action that runs,
 * UINT32_MAX where none does, and its arguments. */
uint32_t table_apply(struct sw_table *table, const uint8_t *key, uint32_t length, uint64_t now_us,
                     uint64_t args[8])
{
    const struct sw_table_spec *spec = sw_table_spec_of(table);
    struct sw_entry *entry = (struct sw_entry *)look_up(table, key, spec->key_bytes);
    if (entry != NULL && spec->flags & SW_DIRECT_COUNTER) {
        entry->packets++;
        entry->bytes += length;
    }
    if (entry != NULL && spec->flags & SW_IDLE_TIMEOUT) entry->last_hit_us = now_us;
    if (entry != NULL && spec->flags & SW_DIRECT_METER &&
        sw_meter_execute_direct(entry, length, now_us) != 0)
        return UINT32_MAX;
    const struct sw_entry *runs = entry != NULL ? entry : sw_default_entry(table);
    if (runs == NULL) return UINT32_MAX;
    for (uint32_t i = 0; i < runs->action; i++) args[i] = runs->args[i];
    return runs->action;
}

/* What the table keeps of an entry: packets, bytes, when it was used; 0 what it doesn't keep. */
void table_kept(struct sw_table *table, int64_t handle, uint64_t counts[3])
{
    uint32_t flags = sw_table_spec_of(table)->flags;
    const struct sw_entry *entry = &sw_table_node(table, handle)->entry;
    counts[0] = flags & SW_DIRECT_COUNTER ? entry->packets : 0;
    counts[1] = flags & SW_DIRECT_COUNTER ? entry->bytes : 0;
    counts[2] = flags & SW_IDLE_TIMEOUT ? entry->last_hit_us : 0;
}
