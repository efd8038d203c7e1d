/* Lists the cache lines of tables and profiles. */
#include "cache_lines.h"

#include <stdlib.h>

#include "profile.h"
#include "table.h"

static uintptr_t line_of(const void *at) { return (uintptr_t)at / SW_LINE; }

static void add(struct sw_cache_lines *lines, const void *at)
{
    if (lines->n == lines->capacity) {
        uint32_t capacity = lines->capacity == 0 ? 64 : 2 * lines->capacity;
        const void **larger = realloc(lines->at, capacity * sizeof *larger);
        if (larger == NULL) return;
        lines->at = larger;
        lines->capacity = capacity;
    }
    lines->at[lines->n++] = at;
}

void sw_cache_lines_add(struct sw_cache_lines *lines, const void *at, size_t bytes)
{
    const char *next = at, *end = next + bytes;
    for (; next < end; next += SW_LINE - (uintptr_t)next % SW_LINE) add(lines, next);
}

static int by_line(const void *a, const void *b)
{
    uintptr_t x = line_of(*(const void *const *)a), y = line_of(*(const void *const *)b);
    return x < y ? -1 : x > y;
}

void sw_instance_cache_lines(const struct sw_instance *instance, struct sw_cache_lines *lines)
{
    const struct sw_program *program = instance->program;
    lines->n = 0;
    sw_cache_lines_add(lines, instance, sizeof *instance);
    sw_cache_lines_add(lines, instance->registers,
                       program->n_registers * sizeof *instance->registers);
    for (uint32_t i = 0; i < program->n_tables; i++) {
        if (sw_table_count(instance->tables[i]) == 0) continue;
        sw_cache_lines_add(lines, &instance->tables[i], sizeof *instance->tables);
        sw_table_cache_lines(instance->tables[i], lines);
    }
    for (uint32_t i = 0; i < program->n_profiles; i++)
        sw_profile_cache_lines(instance->profiles[i], lines);
    if (lines->n == 0) return;
    qsort(lines->at, lines->n, sizeof *lines->at, by_line);
    uint32_t n = 1;
    for (uint32_t i = 1; i < lines->n; i++) {
        if (line_of(lines->at[i]) != line_of(lines->at[n - 1])) lines->at[n++] = lines->at[i];
    }
    lines->n = n < SW_MAX_CACHE_LINES ? n : SW_MAX_CACHE_LINES;
}
