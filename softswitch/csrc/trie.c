/* The trie's arena, and its lists. */
#include "trie.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t UNITS[SW_KINDS] = {
    1, 2, (1u << SW_STRIDE) * sizeof(struct sw_slot) / sizeof(struct sw_unit), 1};

int sw_trie_reserve(struct sw_trie *trie, uint32_t key_bits)
{
    uint32_t levels = key_bits / SW_STRIDE + 3;
    uint64_t wanted = trie->used + levels * (UNITS[SW_NODE] + 4ull) + 8 * SW_LONG;
    if (wanted <= trie->capacity) return 0;
    uint64_t capacity = wanted + trie->capacity / 2;
    if (capacity >= UINT32_MAX / sizeof(struct sw_unit)) return -ENOMEM;
    struct sw_unit *arena = sw_alloc_aligned(capacity * sizeof *arena);
    if (arena == NULL) return -ENOMEM;
    if (trie->arena != NULL) memcpy(arena, trie->arena, trie->used * sizeof *arena);
    else memset(arena, 0, 2 * sizeof *arena); /* offset 0: the empty list, in its own cache line */
    if (trie->used == 0) trie->used = 2;
    free(trie->arena);
    trie->arena = arena;
    trie->capacity = (uint32_t)capacity;
    return 0;
}

sw_child_t sw_trie_alloc(struct sw_trie *trie, enum sw_kind kind)
{
    enum sw_kind size = kind == SW_PATH ? SW_SHORT_LIST : kind;
    uint32_t at = trie->free[size];
    if (at != 0) {
        trie->free[size] = trie->arena[at].list[0];
    } else {
        at = trie->used;
        trie->used += UNITS[size] + (UNITS[size] & 1);
        if (size == SW_SHORT_LIST) { /* the other half of the cache line is free */
            trie->arena[at + 1].list[0] = trie->free[SW_SHORT_LIST];
            trie->free[SW_SHORT_LIST] = at + 1;
        }
    }
    memset(&trie->arena[at], 0, UNITS[size] * sizeof(struct sw_unit));
    return at * (uint32_t)sizeof(struct sw_unit) | kind;
}

void sw_trie_release(struct sw_trie *trie, sw_child_t child)
{
    enum sw_kind size = sw_trie_kind(child) == SW_PATH ? SW_SHORT_LIST : sw_trie_kind(child);
    if (child == 0) return;
    sw_trie_at(trie, child)->list[0] = trie->free[size];
    trie->free[size] = child / sizeof(struct sw_unit);
}

void sw_trie_free(struct sw_trie *trie)
{
    free(trie->root);
    free(trie->arena);
}

void sw_list_add(const struct sw_nodes *nodes, uint32_t *list, uint32_t room,
                 const struct sw_node *entry, uint32_t bits, uint32_t length)
{
    uint32_t *references = list + room, i = room - 1;
    for (; i > 0 && (references[i - 1] == 0 ||
                     sw_node_at(nodes, references[i - 1] - 1)->prefix <= entry->prefix);
         i--) {
        list[i] = list[i - 1];
        references[i] = references[i - 1];
    }
    uint32_t end = 1u << (SW_LIST_BITS - (length < SW_LIST_BITS ? length : SW_LIST_BITS));
    list[i] = (bits & ~(2 * end - 1)) | end;
    references[i] = entry->entry.handle + 1;
}

void sw_list_remove(uint32_t *list, uint32_t room, const struct sw_node *entry)
{
    uint32_t *references = list + room, i = 0;
    while (references[i] != entry->entry.handle + 1) i++;
    for (; i + 1 < room; i++) {
        list[i] = list[i + 1];
        references[i] = references[i + 1];
    }
    list[i] = references[i] = 0;
}
