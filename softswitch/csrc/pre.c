/* Clone sessions and multicast groups. */
#include "pre.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void sw_pre_free(struct sw_pre *pre)
{
    for (uint32_t i = 0; i < pre->n; i++) free(pre->groups[i].replicas);
    free(pre->groups);
    *pre = (struct sw_pre){0};
}

static uint32_t place_of(const struct sw_pre *pre, uint32_t id)
{
    uint32_t low = 0, high = pre->n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (pre->groups[middle].id < id) low = middle + 1;
        else high = middle;
    }
    return low;
}

const struct sw_pre_group *sw_pre_find(const struct sw_pre *pre, uint32_t id)
{
    uint32_t at = place_of(pre, id);
    return at < pre->n && pre->groups[at].id == id ? &pre->groups[at] : NULL;
}

int sw_pre_set(struct sw_pre *pre, uint32_t id, const struct sw_replica *replicas, uint32_t n,
               uint32_t truncate_to)
{
    uint32_t at = place_of(pre, id);
    bool there = at < pre->n && pre->groups[at].id == id;
    if (n == 0) {
        if (!there) return -ENOENT;
        free(pre->groups[at].replicas);
        memmove(&pre->groups[at], &pre->groups[at + 1], (--pre->n - at) * sizeof *pre->groups);
        return 0;
    }
    struct sw_replica *copy = malloc(n * sizeof *copy);
    if (copy == NULL) return -ENOMEM;
    memcpy(copy, replicas, n * sizeof *copy);
    if (!there) {
        if (pre->n == pre->capacity) {
            uint32_t capacity = pre->capacity == 0 ? 8 : pre->capacity * 2;
            struct sw_pre_group *groups = realloc(pre->groups, capacity * sizeof *groups);
            if (groups == NULL) {
                free(copy);
                return -ENOMEM;
            }
            pre->groups = groups;
            pre->capacity = capacity;
        }
        memmove(&pre->groups[at + 1], &pre->groups[at], (pre->n++ - at) * sizeof *pre->groups);
        pre->groups[at].replicas = NULL;
    }
    free(pre->groups[at].replicas);
    pre->groups[at] = (struct sw_pre_group){id, n, truncate_to, copy};
    return 0;
}
