/* Registers, counters, meters, random numbers, and the creation of an instance. */
#include "state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "profile.h"
#include "table.h"

/* ---- meters ---- */

void sw_meter_set(struct sw_meter *meter, const uint64_t rates[5], uint64_t now_us)
{
    bool bytes = meter->bytes;
    *meter = (struct sw_meter){.bytes = bytes};
    if (rates == NULL) return;
    meter->cir = rates[0];
    meter->committed = meter->cburst = rates[1];
    meter->pir = rates[2];
    meter->peak = meter->pburst = rates[3];
    meter->per_us = rates[4];
    meter->origin_us = now_us;
    meter->configured = true;
}

static void accrue(const struct sw_meter *meter, uint64_t rate, uint64_t burst, uint64_t elapsed_us,
                   uint64_t *accrued, uint64_t *tokens)
{
    uint64_t total = (uint64_t)((unsigned __int128)rate * elapsed_us / meter->per_us);
    uint64_t fresh = total - *accrued;
    *accrued = total;
    *tokens = fresh >= burst - *tokens ? burst : *tokens + fresh;
}

uint32_t sw_meter_run(struct sw_meter *meter, uint32_t bytes, uint64_t now_us)
{
    if (!meter->configured) return 0;
    uint64_t elapsed = now_us > meter->origin_us ? now_us - meter->origin_us : 0;
    uint64_t need = meter->bytes ? bytes : 1;
    accrue(meter, meter->pir, meter->pburst, elapsed, &meter->peak_accrued, &meter->peak);
    if (meter->peak < need) return 2;
    meter->peak -= need;
    accrue(meter, meter->cir, meter->cburst, elapsed, &meter->committed_accrued, &meter->committed);
    if (meter->committed < need) return 1;
    meter->committed -= need;
    return 0;
}

uint32_t sw_meter_execute(struct sw_meter_array *array, uint64_t index, uint32_t bytes,
                          uint64_t now_us)
{
    return index < array->size ? sw_meter_run(&array->cells[index], bytes, now_us) : 0;
}

uint32_t sw_meter_execute_direct(const struct sw_entry *entry, uint32_t bytes, uint64_t now_us)
{
    return entry->meter == NULL ? 0 : sw_meter_run(entry->meter, bytes, now_us);
}

/* ---- random numbers: xoroshiro128+, seeded by splitmix64 ---- */

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

static uint64_t next_random(uint64_t rng[2])
{
    uint64_t a = rng[0], b = rng[1], result = a + b;
    b ^= a;
    rng[0] = rotate(a, 24) ^ b ^ (b << 16);
    rng[1] = rotate(b, 37);
    return result;
}

uint64_t sw_random(struct sw_instance *instance, uint64_t low, uint64_t high)
{
    if (low >= high) return low; /* low > high: v1model leaves it open */
    uint64_t span = high - low + 1;
    if (span == 0) return next_random(instance->rng);
    /* rejected above it, for a uniform distribution */
    uint64_t limit = UINT64_MAX - UINT64_MAX % span, value;
    do value = next_random(instance->rng);
    while (value >= limit);
    return low + value % span;
}

/* ---- assertions ---- */

void sw_assert_failed(struct sw_instance *instance, uint32_t number)
{
    enum { PERIOD_US = 1000000 };
    struct sw_assert *site = &instance->asserts[number];
    site->failed++;
    if (instance->warn == NULL || sw_us(instance) < site->next_us) return;
    char line[512];
    int n = snprintf(line, sizeof line, "%s", instance->program->asserts[number]);
    if (site->failed > 1 && n > 0 && n < (int)sizeof line) {
        snprintf(line + n, sizeof line - (size_t)n,
                 ", %" PRIu64 " times since the last line about it", site->failed);
    }
    instance->warn(instance->log_context, line);
    *site = (struct sw_assert){0, sw_us(instance) + PERIOD_US};
}

/* ---- the instance ---- */

enum { CACHE_LINE = 64, PAGE = 4096, LEAST_MAPPED = 16 * PAGE };

static uint16_t cell_bytes(uint16_t width)
{
    if (width > 128) return (uint16_t)((width + 7) / 8);
    uint16_t bytes = 1;
    while (bytes * 8 < width) bytes *= 2;
    return bytes;
}

static void *array_of(size_t n, size_t size) { return calloc(n == 0 ? 1 : n, size); }

/* A block of memory; bytes 0: the heap's. */
struct sw_cells {
    void *memory;
    char *first;
    size_t bytes;
};

/* Zeroed, aligned to a cache line. A large block is mapped: a heap would write its zeros, and of
 * arrays by port a switch uses the lines of its ports. NULL: no memory, as of arrays that are
 * larger than all there is. */
static void *block_new(struct sw_cells *block, size_t bytes)
{
    bool mapped = bytes >= LEAST_MAPPED;
    block->bytes = mapped ? bytes + PAGE : 0;
    block->memory = mapped ? mmap(NULL, block->bytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                           : calloc(1, bytes + CACHE_LINE);
    if (block->memory == MAP_FAILED || block->memory == NULL) {
        *block = (struct sw_cells){0};
        return NULL;
    }
    /* Cache colouring: or the same port of all switches would have the same lines of a page. */
    size_t first = mapped ? (uintptr_t)block % PAGE / CACHE_LINE * CACHE_LINE
                          : CACHE_LINE - (uintptr_t)block->memory % CACHE_LINE;
    return block->first = (char *)block->memory + first;
}

static void block_free(struct sw_cells *block)
{
    if (block->bytes != 0) munmap(block->memory, block->bytes);
    else free(block->memory);
}

/* An array's cells; NULL: no memory. instance->blocks has an entry for each shared block, then one
 * for each array. */
static void *cells_at(struct sw_instance *instance, struct sw_place place, uint32_t size,
                      uint32_t own_stride)
{
    uint32_t shared = instance->program->n_counters + instance->program->n_registers;
    struct sw_cells *block = place.stride == 0 ? &instance->blocks[shared + instance->n_blocks++]
                                               : &instance->blocks[place.block];
    uint32_t stride = place.stride == 0 ? own_stride : place.stride;
    if (block->memory == NULL && block_new(block, (size_t)(size == 0 ? 1 : size) * stride) == NULL)
        return NULL;
    return block->first + place.offset;
}

static bool make_arrays(struct sw_instance *instance, const struct sw_program *program)
{
    instance->tables = array_of(program->n_tables, sizeof *instance->tables);
    instance->profiles = array_of(program->n_profiles, sizeof *instance->profiles);
    instance->counters = array_of(program->n_counters, sizeof *instance->counters);
    instance->counter_sizes = array_of(program->n_counters, sizeof *instance->counter_sizes);
    instance->counter_strides = array_of(program->n_counters, sizeof *instance->counter_strides);
    instance->registers = array_of(program->n_registers, sizeof *instance->registers);
    instance->blocks = array_of(2 * ((size_t)program->n_counters + program->n_registers),
                                sizeof *instance->blocks);
    instance->meters = array_of(program->n_meters, sizeof *instance->meters);
    instance->asserts = array_of(program->n_asserts, sizeof *instance->asserts);
    if (!instance->tables || !instance->profiles || !instance->counters ||
        !instance->counter_sizes || !instance->counter_strides || !instance->blocks ||
        !instance->registers || !instance->meters || !instance->asserts) {
        return false;
    }
    for (uint32_t i = 0; i < program->n_profiles; i++) {
        instance->profiles[i] = sw_profile_new(program);
        if (instance->profiles[i] == NULL) return false;
    }
    for (uint32_t i = 0; i < program->n_counters; i++) {
        const struct sw_counter_spec *spec = &program->counters[i];
        instance->counter_sizes[i] = spec->size;
        instance->counter_strides[i] =
            spec->place.stride != 0 ? spec->place.stride : sizeof(struct sw_counter);
        instance->counters[i] =
            cells_at(instance, spec->place, spec->size, sizeof(struct sw_counter));
        if (instance->counters[i] == NULL) return false;
    }
    for (uint32_t i = 0; i < program->n_registers; i++) {
        struct sw_register *reg = &instance->registers[i];
        const struct sw_register_spec *spec = &program->registers[i];
        *reg = (struct sw_register){
            .size = spec->size, .width = spec->width, .cell_bytes = cell_bytes(spec->width)};
        reg->stride = spec->place.stride != 0 ? spec->place.stride : reg->cell_bytes;
        reg->cells = cells_at(instance, spec->place, spec->size, reg->cell_bytes);
        if (reg->cells == NULL) return false;
    }
    for (uint32_t i = 0; i < program->n_meters; i++) {
        struct sw_meter_array *array = calloc(1, sizeof *array);
        instance->meters[i] = array;
        if (array == NULL) return false;
        array->size = program->meters[i].size;
        array->cells = array_of(array->size, sizeof *array->cells);
        if (array->cells == NULL) return false;
    }
    return true;
}

struct sw_instance *sw_instance_new(const struct sw_program *program, uint64_t seed,
                                    uint16_t drop_port, char *error)
{
    struct sw_instance *instance =
        calloc(1, sizeof *instance + program->n_coverage * sizeof *instance->coverage);
    snprintf(error, 256, "out of memory");
    if (instance == NULL) return NULL;
    instance->program = program;
    instance->tick_ns = 1000;
    instance->drop_port = drop_port;
    instance->rng[0] = splitmix(&seed);
    instance->rng[1] = splitmix(&seed);
    if (!make_arrays(instance, program)) goto fail;
    for (uint32_t i = 0; i < program->n_tables; i++) {
        const char *why;
        instance->tables[i] = sw_table_new(&program->tables[i], program, splitmix(&seed), &why);
        if (instance->tables[i] == NULL) {
            snprintf(error, 256, "table %s: %s", program->tables[i].name, why);
            goto fail;
        }
    }
    error[0] = 0;
    return instance;
fail:
    sw_instance_free(instance);
    return NULL;
}

void sw_instance_collect(struct sw_instance *instance)
{
    for (uint32_t i = 0; instance->collected != NULL && i < instance->program->n_coverage; i++) {
        instance->collected[i] += instance->coverage[i];
        instance->coverage[i] = 0;
    }
}

void sw_instance_free(struct sw_instance *instance)
{
    if (instance == NULL) return;
    sw_instance_collect(instance);
    const struct sw_program *program = instance->program;
    for (uint32_t i = 0; instance->tables && i < program->n_tables; i++)
        sw_table_free(instance->tables[i]);
    for (uint32_t i = 0; instance->profiles && i < program->n_profiles; i++)
        sw_profile_free(instance->profiles[i]);
    uint32_t most = 2 * (program->n_counters + program->n_registers);
    for (uint32_t i = 0; instance->blocks && i < most; i++) block_free(&instance->blocks[i]);
    for (uint32_t i = 0; instance->meters && i < program->n_meters; i++) {
        if (instance->meters[i] != NULL) free(instance->meters[i]->cells);
        free(instance->meters[i]);
    }
    free(instance->tables);
    free(instance->profiles);
    free(instance->counters);
    free(instance->counter_sizes);
    free(instance->counter_strides);
    free(instance->blocks);
    free(instance->registers);
    free(instance->meters);
    free(instance->asserts);
    free(instance);
}
