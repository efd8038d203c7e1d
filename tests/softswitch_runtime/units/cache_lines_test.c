/* Lines of tables and profiles: all that are needed, each once, all of them readable, none of what
 * is gone. */
#include "cache_lines.h"

#include <string.h>

#include "check.h"
#include "profile.h"
#include "state.h"
#include "table.h"

enum { PORTS, ROUTES, GROUPS, TABLES };

static const struct sw_action_spec actions[] = {{"set", 3, (const uint16_t[]){9, 48, 48}}};
static const struct sw_table_spec tables[] = {
    [PORTS] = {"ports", SW_EXACT, 1, (const struct sw_key_field[]){{SW_EXACT, 9}}, 2, 4096, 0,
               UINT32_MAX, NULL, 0, NULL},
    [ROUTES] = {"routes", SW_LPM, 1, (const struct sw_key_field[]){{SW_LPM, 32}}, 4, 4096, 0,
                UINT32_MAX, NULL, 0, NULL},
    [GROUPS] = {"groups", SW_EXACT, 1, (const struct sw_key_field[]){{SW_EXACT, 32}}, 4, 4096,
                SW_INDIRECT, UINT32_MAX, NULL, 0, NULL},
};
static const struct sw_program program = {
    .abi = SW_ABI,
    .n_tables = TABLES,
    .tables = tables,
    .n_actions = 1,
    .actions = actions,
    .n_profiles = 1,
};
static const uint64_t args[3] = {1, 2, 3};
static const char *why;

static int64_t insert(const struct sw_instance *instance, uint32_t table, uint32_t value)
{
    const uint8_t key[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
                            (uint8_t)value};
    bool group = table == GROUPS;
    uint64_t handle = value;
    return sw_table_insert(instance->tables[table], table == PORTS ? key + 2 : key, NULL, 32, 0,
                           group ? SW_GROUP : 0, group ? &handle : args, group ? 1 : 3, &why);
}

static uint32_t times(const struct sw_cache_lines *lines, const void *at)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < lines->n; i++)
        n += (uintptr_t)lines->at[i] / SW_LINE == (uintptr_t)at / SW_LINE;
    return n;
}

static bool has_entry(const struct sw_cache_lines *lines, const struct sw_instance *instance,
                      uint32_t table, int64_t handle)
{
    return times(lines, sw_table_node(instance->tables[table], handle)) == 1;
}

/* Lists them, and reads each. */
static void list(const struct sw_instance *instance, struct sw_cache_lines *lines)
{
    sw_instance_cache_lines(instance, lines);
    CHECK(lines->n <= SW_MAX_CACHE_LINES);
    for (uint32_t i = 0; i < lines->n; i++) {
        (void)*(const volatile char *)lines->at[i];
        CHECK(times(lines, lines->at[i]) == 1);
    }
}

int main(void)
{
    char error[256];
    struct sw_cache_lines lines = {0};
    struct sw_instance *instance = sw_instance_new(&program, 1, SW_DROP_PORT, error);
    CHECK(instance != NULL);
    list(instance, &lines);
    CHECK(times(&lines, instance) == 1 && times(&lines, instance->tables[ROUTES]) == 0);

    for (uint32_t i = 0; i < 20; i++)
        CHECK(insert(instance, PORTS, i) == i && insert(instance, ROUTES, i << 8) == i);
    for (uint32_t i = 0; i < 8; i++) {
        CHECK(sw_profile_put_member(instance->profiles[0], -1, 0, args, 3, &why) == i);
    }
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(sw_profile_put_group(instance->profiles[0], -1, (const uint32_t[]){2 * i, 2 * i + 1},
                                   2, &why) == i);
        CHECK(insert(instance, GROUPS, i) == i);
    }
    list(instance, &lines);
    for (uint32_t i = 0; i < TABLES; i++) CHECK(times(&lines, instance->tables[i]) == 1);
    for (uint32_t i = 0; i < 1u << SW_CACHE_BITS; i++) {
        CHECK(times(&lines, &sw_head_of(instance->tables[ROUTES])->cache[i]) == 1);
    }
    for (uint32_t i = 0; i < 20; i++)
        CHECK(times(&lines, &sw_head_of(instance->tables[PORTS])->array[i]) == 1);
    for (int64_t i = 0; i < 20; i++)
        CHECK(has_entry(&lines, instance, PORTS, i) && has_entry(&lines, instance, ROUTES, i));
    for (uint32_t i = 0; i < 4; i++) {
        const struct sw_node *node = sw_table_node(instance->tables[GROUPS], i);
        CHECK(times(&lines, node) == 1);
        struct sw_call reference = {node->entry.action, node->entry.args};
        CHECK(times(&lines, sw_resolve(instance->profiles[0], reference, i).args) == 1);
    }

    const struct sw_node *gone = sw_table_node(instance->tables[ROUTES], 7);
    CHECK(sw_table_remove(instance->tables[ROUTES], 7, &why) == 0);
    CHECK(sw_profile_remove_group(instance->profiles[0], 2, &why) == 0);
    CHECK(sw_profile_remove_member(instance->profiles[0], 5, &why) == 0);
    list(instance, &lines);
    CHECK(times(&lines, gone) == 0 && has_entry(&lines, instance, ROUTES, 6));

    for (uint32_t i = 0; i <= SW_CACHE_LINES_ENTRIES; i++) insert(instance, ROUTES, i << 16 | 1);
    list(instance, &lines);
    CHECK(times(&lines, instance->tables[ROUTES]) == 1 && !has_entry(&lines, instance, ROUTES, 6));

    free(lines.at);
    sw_instance_free(instance);
    return 0;
}
