/* Match-action tables: entries by handle, default entries, const entries. The index finds keys. */
#include "table.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, CACHE_BYTES = sizeof(struct sw_cache_slot) << SW_CACHE_BITS };

_Static_assert(sizeof(struct sw_entry) == SW_LINE && sizeof(struct sw_bucket) == SW_LINE,
               "a cache line each");
_Static_assert(sizeof(struct sw_table_head) <= SW_LINE, "a lookup reads one line of its table");

struct sw_table {
    /* One cache line: all that a lookup reads. */
    _Alignas(SW_LINE) struct sw_table_head head; /* first: programs read it */
    uint32_t key_bytes;
    bool has_default;

    struct sw_node *miss;
    struct sw_cache_slot *cache; /* NULL: the table has no key cache */
    const struct sw_index *ops;
    const struct sw_table_spec *spec;
    const struct sw_program *program;
    void *reserved; /* address space of the nodes; NULL until the first one */
    size_t reserved_bytes;
    struct sw_node *free; /* list of free nodes, by `next`; their handle is NO_HANDLE */
    uint32_t count, used; /* used: the highest handle so far, plus one */
    bool open;            /* the index is initialized */
    _Alignas(SW_LINE) uint8_t index[];
};

static uint32_t arg_words(const struct sw_action_spec *action)
{
    uint32_t words = 0;
    for (uint16_t i = 0; i < action->n_params; i++) words += (action->param_widths[i] + 63u) / 64;
    return words;
}

int sw_check_action(const struct sw_program *program, uint32_t action, uint32_t n_args,
                    const char **why)
{
    if (action >= program->n_actions) {
        *why = "no such action";
        return -EINVAL;
    }
    if (n_args != arg_words(&program->actions[action])) {
        *why = "the action takes another number of argument words";
        return -EINVAL;
    }
    return 0;
}

enum { HAS_STATE = SW_DIRECT_COUNTER | SW_IDLE_TIMEOUT | SW_DIRECT_METER, NO_HANDLE = UINT32_MAX };

static uint64_t *inline_args(const struct sw_table *table, struct sw_node *node)
{
    return table->spec->flags & HAS_STATE ? node->entry.few_words : node->entry.words;
}

static void free_args(const struct sw_table *table, struct sw_node *node)
{
    if (node->entry.args != inline_args(table, node)) free((void *)node->entry.args);
}

static int set_action(struct sw_table *table, struct sw_node *node, uint32_t action,
                      const uint64_t *args, uint32_t n_args, const char **why)
{
    bool refers = table->spec->flags & SW_INDIRECT && (action == SW_MEMBER || action == SW_GROUP) &&
                  n_args == 1;
    bool nothing = table->spec->flags & SW_VALUE_SET && action == UINT32_MAX && n_args == 0;
    int status = refers || nothing ? 0 : sw_check_action(table->program, action, n_args, why);
    if (status != 0) return status;
    if (n_args > node->args_capacity) {
        uint64_t *bigger = malloc(n_args * sizeof *bigger);
        if (bigger == NULL) {
            *why = "out of memory";
            return -ENOMEM;
        }
        free_args(table, node);
        node->entry.args = bigger;
        node->args_capacity = n_args;
    }
    if (n_args != 0) memcpy((void *)node->entry.args, args, n_args * sizeof *args);
    node->n_args = n_args;
    node->entry.action = action;
    return 0;
}

/* 0 or -ENOMEM. */
static int open_node(const struct sw_table *table, struct sw_node *node, uint32_t handle)
{
    memset(node, 0, sizeof *node); /* the index fills the words */
    node->entry.handle = NO_HANDLE;
    if (table->spec->flags & SW_DIRECT_METER) {
        struct sw_meter *meter = calloc(1, sizeof *meter);
        if (meter == NULL) return -ENOMEM;
        meter->bytes = (table->spec->flags & SW_DIRECT_METER_BYTES) != 0;
        node->entry.meter = meter;
    }
    node->entry.handle = handle;
    node->entry.args = inline_args(table, node);
    node->args_capacity = table->spec->flags & HAS_STATE ? SW_FEW_WORDS : SW_ENTRY_WORDS;
    return 0;
}

static void close_node(const struct sw_table *table, struct sw_node *node)
{
    free_args(table, node);
    if (table->spec->flags & SW_DIRECT_METER) free(node->entry.meter);
    node->entry.handle = NO_HANDLE;
}

static const char *spec_error(const struct sw_table_spec *spec)
{
    uint32_t bytes = 0, lpms = 0;
    bool only_exact = true;
    for (uint16_t i = 0; i < spec->n_fields; i++) {
        bytes += (spec->fields[i].width + 7u) / 8;
        lpms += spec->fields[i].match == SW_LPM;
        only_exact &= spec->fields[i].match == SW_EXACT;
    }
    if (bytes != spec->key_bytes) return "key_bytes is not the sum of its fields";
    if (bytes > SW_TABLE_MAX_KEY) return "the key is longer than 512 bytes";
    if (spec->kind == SW_EXACT && !only_exact)
        return "an exact table has a field that is not exact";
    if (spec->kind == SW_LPM && lpms != 1) return "an lpm table needs exactly one lpm field";
    return NULL;
}

static struct sw_cache_slot *cache_slot_of(const struct sw_table *table, const uint8_t *key,
                                           uint64_t *word)
{
    switch (table->key_bytes) {
    case 2: return sw_cache_slot_of(table, key, 2, word);
    case 4: return sw_cache_slot_of(table, key, 4, word);
    default: return sw_cache_slot_of(table, key, table->key_bytes, word);
    }
}

static struct sw_node *find_and_cache(void *where, const uint8_t *key)
{
    struct sw_table *table = where;
    uint64_t word;
    struct sw_cache_slot *slot = cache_slot_of(table, key, &word);
    struct sw_node *node = table->ops->find(table->index, key);
    *slot = (struct sw_cache_slot){word, (uintptr_t)node | 1};
    return node;
}

/* After entries were added or removed: updates the head and empties the key cache. */
static void update_head(struct sw_table *table)
{
    static struct sw_cache_slot nothing;
    struct sw_table_head *head = &table->head;
    if (table->ops->publish != NULL) {
        head->where = table->index;
        table->ops->publish(table->index, head);
    } else if (table->cache == NULL || table->count > table->ops->cache_limit) {
        head->cache = &nothing;
        head->mask = 0;
        head->find = table->ops->find;
        head->where = table->index;
    } else {
        head->cache = table->cache;
        head->mask = UINT64_MAX;
        head->find = find_and_cache;
        head->where = table;
        memset(table->cache, 0, CACHE_BYTES);
    }
}

struct sw_table *sw_table_new(const struct sw_table_spec *spec, const struct sw_program *program,
                              uint64_t seed, const char **why)
{
    *why = spec_error(spec);
    if (*why != NULL) return NULL;
    const struct sw_index *ops =
        spec->kind == SW_EXACT ? sw_index_exact(spec) : sw_index_ternary(spec);
    if (spec->kind == SW_LPM) ops = sw_index_lpm(spec);
    size_t bytes = (sizeof(struct sw_table) + ops->bytes + SW_LINE - 1) / SW_LINE * SW_LINE;
    struct sw_table *table = aligned_alloc(SW_LINE, bytes);
    *why = "out of memory";
    if (table == NULL) return NULL;
    memset(table, 0, bytes);
    table->spec = spec;
    table->program = program;
    table->ops = ops;
    table->open = ops->open(table->index, spec, &table->head.nodes, seed);
    size_t node_bytes = sizeof(struct sw_node) + 8 * (size_t)table->ops->words(spec);
    table->head.nodes.node_bytes = (uint32_t)((node_bytes + SW_LINE - 1) / SW_LINE * SW_LINE);
    table->miss = aligned_alloc(SW_LINE, table->head.nodes.node_bytes);
    if (table->miss != NULL && open_node(table, table->miss, NO_HANDLE) != 0) {
        free(table->miss);
        table->miss = NULL;
    }
    table->key_bytes = spec->key_bytes;
    bool caches = spec->key_bytes != 0 && spec->key_bytes <= SW_CACHED_KEY && ops->publish == NULL;
    if (caches) table->cache = aligned_alloc(SW_LINE, CACHE_BYTES);
    if (!table->open || table->miss == NULL || (caches && table->cache == NULL)) goto fail;
    update_head(table);
    if (sw_table_default(table, UINT32_MAX, NULL, 0, why) != 0) goto fail;
    /* P4Runtime: const entries have priorities down to 1, and clients' entries rank among them */
    int64_t last = 0;
    for (uint32_t i = 0; i < spec->n_const_entries; i++) {
        if (spec->const_entries[i].priority > last) last = spec->const_entries[i].priority;
    }
    for (uint32_t i = 0; i < spec->n_const_entries; i++) {
        const struct sw_const_entry *entry = &spec->const_entries[i];
        int64_t rank = (int64_t)INT32_MAX - (last + 1 - entry->priority);
        if (entry->action >= program->n_actions) {
            *why = "a const entry has no such action";
            goto fail;
        }
        if (sw_table_insert(table, entry->key, entry->mask, entry->prefix, rank, entry->action,
                            entry->args, arg_words(&program->actions[entry->action]), why) < 0) {
            goto fail;
        }
    }
    return table;
fail:
    sw_table_free(table);
    return NULL;
}

void sw_table_free(struct sw_table *table)
{
    if (table == NULL) return;
    for (uint32_t i = 0; i < table->used; i++) {
        if (sw_table_node(table, i) != NULL) close_node(table, sw_table_node(table, i));
    }
    if (table->reserved != NULL) munmap(table->reserved, table->reserved_bytes);
    if (table->open) table->ops->close(table->index);
    if (table->miss != NULL) close_node(table, table->miss);
    free(table->miss);
    free(table->cache);
    free(table);
}

const struct sw_table_spec *sw_table_spec_of(const struct sw_table *table) { return table->spec; }
uint32_t sw_table_count(const struct sw_table *table) { return table->count; }

void sw_table_cache_lines(const struct sw_table *table, struct sw_cache_lines *lines)
{
    sw_cache_lines_add(lines, &table->head, sizeof table->head);
    bool caches = table->cache != NULL && table->head.cache == table->cache;
    if (caches) sw_cache_lines_add(lines, table->cache, CACHE_BYTES);
    if (table->used > SW_CACHE_LINES_ENTRIES) return;
    for (uint32_t i = 0; i < table->used; i++) {
        const struct sw_node *node = sw_node_at(&table->head.nodes, i);
        if (node->entry.handle != NO_HANDLE)
            sw_cache_lines_add(lines, &node->entry, sizeof node->entry);
    }
    bool array = table->spec->kind == SW_EXACT && table->key_bytes <= SW_ARRAY_KEY;
    uint64_t n = array ? table->head.mask : 0;
    if (n <= SW_CACHE_LINES_ENTRIES)
        sw_cache_lines_add(lines, table->head.array, n * sizeof *table->head.array);
}

/* Reserves address space for the table's full size; the kernel adds memory as it is used. The first
 * pages are small, so that few entries take little memory; the others may be huge. NULL: no
 * memory. */
static struct sw_node *reserve(struct sw_table *table)
{
    const struct sw_table_spec *spec = table->spec;
    size_t most = spec->size > spec->n_const_entries ? spec->size : spec->n_const_entries;
    size_t bytes = most * table->head.nodes.node_bytes + PAGE;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    char *huge = memory + SW_HUGE_PAGE + (-(uintptr_t)memory & (SW_HUGE_PAGE - 1));
    /* may fail: small pages do */
    if (huge < memory + bytes) madvise(huge, (size_t)(memory + bytes - huge), MADV_HUGEPAGE);
    table->reserved = memory;
    table->reserved_bytes = bytes;
    /* Cache colouring: tables begin at different lines of a page, or their first entries would
     * evict each other. */
    return (struct sw_node *)(memory + (uintptr_t)table / SW_LINE * SW_LINE % PAGE);
}

/* A free node. NULL: no memory. */
static struct sw_node *new_node(struct sw_table *table)
{
    struct sw_node *node = table->free;
    if (node != NULL) {
        table->free = node->next;
        return node;
    }
    if (table->head.nodes.first == NULL) table->head.nodes.first = reserve(table);
    return table->head.nodes.first == NULL ? NULL : sw_node_at(&table->head.nodes, table->used++);
}

static void free_node(struct sw_table *table, struct sw_node *node)
{
    close_node(table, node);
    node->next = table->free;
    table->free = node;
}

int64_t sw_table_insert(struct sw_table *table, const uint8_t *key, const uint8_t *mask,
                        int32_t prefix, int64_t rank, uint32_t action, const uint64_t *args,
                        uint32_t n_args, const char **why)
{
    const struct sw_table_spec *spec = table->spec;
    if (table->count >= spec->size && table->count >= spec->n_const_entries) {
        *why = "the table is full";
        return -ENOSPC;
    }
    if (spec->kind == SW_LPM) {
        uint16_t i = 0;
        while (spec->fields[i].match != SW_LPM) i++;
        if (prefix < 0 || prefix > spec->fields[i].width) {
            *why = "the prefix is longer than its field";
            return -EINVAL;
        }
    }
    *why = "out of memory";
    struct sw_node *node = new_node(table);
    if (node == NULL) return -ENOMEM;
    uint32_t handle =
        (uint32_t)(((char *)node - (char *)table->head.nodes.first) / table->head.nodes.node_bytes);
    int status = open_node(table, node, handle);
    if (status == 0) status = set_action(table, node, action, args, n_args, why);
    if (status == 0) {
        node->prefix = prefix;
        node->rank = rank;
        table->ops->prepare(table->index, node, key, mask);
        status = table->ops->insert(table->index, node);
        if (status == -EEXIST) *why = "an entry with this key is there already";
    }
    if (status != 0) {
        free_node(table, node);
        return status;
    }
    table->count++;
    update_head(table);
    return handle;
}

struct sw_node *sw_table_node(struct sw_table *table, int64_t handle)
{
    if (handle == -1) return table->miss;
    if (handle < 0 || handle >= table->used) return NULL;
    struct sw_node *node = sw_node_at(&table->head.nodes, (uint32_t)handle);
    return node->entry.handle == handle ? node : NULL;
}

void sw_node_touch(const struct sw_table *table, struct sw_node *node, uint64_t now_us)
{
    if (table->spec->flags & SW_IDLE_TIMEOUT) node->entry.last_hit_us = now_us;
}

int sw_table_change(struct sw_table *table, uint32_t handle, uint32_t action, const uint64_t *args,
                    uint32_t n_args, const char **why)
{
    struct sw_node *node = sw_table_node(table, handle);
    if (node == NULL) {
        *why = "no entry has this handle";
        return -ENOENT;
    }
    return set_action(table, node, action, args, n_args, why);
}

int sw_table_remove(struct sw_table *table, uint32_t handle, const char **why)
{
    struct sw_node *node = sw_table_node(table, handle);
    if (node == NULL) {
        *why = "no entry has this handle";
        return -ENOENT;
    }
    table->ops->remove(table->index, node);
    table->count--;
    free_node(table, node);
    update_head(table);
    return 0;
}

int sw_table_default(struct sw_table *table, uint32_t action, const uint64_t *args, uint32_t n_args,
                     const char **why)
{
    if (action == UINT32_MAX) {
        action = table->spec->default_action;
        table->has_default = action != UINT32_MAX;
        if (!table->has_default) return 0;
        if (action >= table->program->n_actions) {
            *why = "the default action doesn't exist";
            return -EINVAL;
        }
        args = table->spec->default_args;
        n_args = arg_words(&table->program->actions[action]);
    }
    int status = set_action(table, table->miss, action, args, n_args, why);
    if (status == 0) table->has_default = true;
    return status;
}

const struct sw_entry *sw_default_entry(const struct sw_table *table)
{
    return table->has_default ? &table->miss->entry : NULL;
}
