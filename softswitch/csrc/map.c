/* The hash map below exact and ternary tables: open addressing, linear probing, at most half full. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

void sw_map_free(struct sw_map *map)
{
    free(map->slots);
    *map = (struct sw_map){0};
}

struct sw_map_slot *sw_map_find(const struct sw_map *map, const uint64_t *words, uint32_t n_words, uint64_t hash)
{
    if (map->slots == NULL) return NULL;
    for (uint32_t i = (uint32_t)hash & map->mask;; i = (i + 1) & map->mask) {
        struct sw_map_slot *slot = &map->slots[i];
        if (slot->node == NULL) return NULL;
        if (slot->hash != hash) continue;
        const uint64_t *other = slot->node->words;
        uint32_t k = 0;
        while (k < n_words && other[k] == words[k]) k++;
        if (k == n_words) return slot;
    }
}

static void place(struct sw_map *map, struct sw_map_slot entry)
{
    uint32_t i = (uint32_t)entry.hash & map->mask;
    while (map->slots[i].node != NULL) i = (i + 1) & map->mask;
    map->slots[i] = entry;
}

int sw_map_insert(struct sw_map *map, struct sw_node *node)
{
    if (map->slots == NULL || map->count * 2 >= map->mask) {
        struct sw_map bigger = {.mask = map->slots == NULL ? 7 : map->mask * 2 + 1, .count = map->count};
        bigger.slots = calloc((size_t)bigger.mask + 1, sizeof *bigger.slots);
        if (bigger.slots == NULL) return -ENOMEM;
        if (map->slots != NULL) {
            for (uint32_t i = 0; i <= map->mask; i++) {
                if (map->slots[i].node != NULL) place(&bigger, map->slots[i]);
            }
        }
        free(map->slots);
        *map = bigger;
    }
    place(map, (struct sw_map_slot){node->hash, node});
    map->count++;
    return 0;
}

/* Moves later members of the probe sequence up, so that no tombstones are needed. */
void sw_map_remove(struct sw_map *map, struct sw_map_slot *slot)
{
    uint32_t hole = (uint32_t)(slot - map->slots);
    for (uint32_t i = (hole + 1) & map->mask; map->slots[i].node != NULL; i = (i + 1) & map->mask) {
        uint32_t home = (uint32_t)map->slots[i].hash & map->mask;
        if (((i - home) & map->mask) >= ((i - hole) & map->mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole].node = NULL;
    map->count--;
}
