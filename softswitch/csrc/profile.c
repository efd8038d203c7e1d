/* Action profiles: members and groups by handle, and the selection of a member. */
#include "profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

struct member {
    uint32_t action, ref_count;
    uint64_t args[];
};
/* A group's reference to a member; `member` is NULL while no member has the handle. */
struct member_ref {
    struct member *member;
    uint32_t handle;
};
struct group {
    uint32_t n;
    struct member_ref refs[];
}; /* handles ascending */

/* Members or groups by handle. No handle below `first_free` is free. */
struct slots {
    void **items;
    uint32_t capacity, first_free;
};

struct sw_profile {
    const struct sw_program *program;
    struct slots members, groups;
    uint32_t missing; /* references without a member */
};

static void *at(const struct slots *slots, uint64_t handle)
{
    return handle < slots->capacity ? slots->items[handle] : NULL;
}

/* Takes ownership of the item, also on failure. */
static int64_t put_item(struct slots *slots, int64_t handle, void *item, const char **why)
{
    *why = "out of memory";
    if (item == NULL) return -ENOMEM;
    if (handle >= 0) {
        if (at(slots, (uint64_t)handle) == NULL) {
            *why = "nothing has this handle";
            free(item);
            return -ENOENT;
        }
        free(slots->items[handle]);
        slots->items[handle] = item;
        return handle;
    }
    while (slots->first_free < slots->capacity && slots->items[slots->first_free] != NULL)
        slots->first_free++;
    if (slots->first_free == slots->capacity) {
        uint32_t capacity = slots->capacity == 0 ? 16 : slots->capacity * 2;
        void **items = realloc(slots->items, capacity * sizeof *items);
        if (items == NULL) {
            free(item);
            return -ENOMEM;
        }
        memset(items + slots->capacity, 0, (capacity - slots->capacity) * sizeof *items);
        slots->items = items;
        slots->capacity = capacity;
    }
    slots->items[slots->first_free] = item;
    return slots->first_free++;
}

static int remove_item(struct slots *slots, uint32_t handle, const char **why)
{
    if (at(slots, handle) == NULL) {
        *why = "nothing has this handle";
        return -ENOENT;
    }
    free(slots->items[handle]);
    slots->items[handle] = NULL;
    if (handle < slots->first_free) slots->first_free = handle;
    return 0;
}

static void clear(struct slots *slots)
{
    for (uint32_t i = 0; i < slots->capacity; i++) free(slots->items[i]);
    free(slots->items);
}

struct sw_profile *sw_profile_new(const struct sw_program *program)
{
    struct sw_profile *profile = calloc(1, sizeof *profile);
    if (profile != NULL) profile->program = program;
    return profile;
}

void sw_profile_free(struct sw_profile *profile)
{
    if (profile == NULL) return;
    clear(&profile->members);
    clear(&profile->groups);
    free(profile);
}

void sw_profile_cache_lines(const struct sw_profile *profile, struct sw_cache_lines *lines)
{
    const struct slots *groups = &profile->groups, *members = &profile->members;
    sw_cache_lines_add(lines, profile, sizeof *profile);
    if (groups->capacity > SW_CACHE_LINES_ENTRIES || members->capacity > SW_CACHE_LINES_ENTRIES)
        return;
    for (uint32_t i = 0; i < groups->capacity; i++) {
        const struct group *group = groups->items[i];
        if (group == NULL) continue;
        sw_cache_lines_add(lines, &groups->items[i], sizeof *groups->items);
        sw_cache_lines_add(lines, group, sizeof *group + group->n * sizeof *group->refs);
    }
    for (uint32_t i = 0; i < members->capacity; i++) {
        const struct member *member = members->items[i];
        if (member != NULL) sw_cache_lines_add(lines, member, sizeof *member);
    }
}

/* Groups hold pointers to their members, which saves each packet a lookup by handle. Updates the
 * pointers to a handle's member; `n` of them were set before. */
static void update_refs(struct sw_profile *profile, uint32_t handle, uint32_t n)
{
    struct member *member = at(&profile->members, handle);
    if (n == 0 && (member == NULL || profile->missing == 0)) return;
    for (uint32_t i = 0; i < profile->groups.capacity; i++) {
        struct group *group = profile->groups.items[i];
        for (uint32_t k = 0; group != NULL && k < group->n; k++) {
            struct member_ref *ref = &group->refs[k];
            if (ref->handle != handle) continue;
            profile->missing -= ref->member == NULL;
            ref->member = member;
            if (member == NULL) profile->missing++;
            else member->ref_count++;
        }
    }
}

static uint32_t ref_count(const struct sw_profile *profile, int64_t handle)
{
    const struct member *member = handle < 0 ? NULL : at(&profile->members, (uint64_t)handle);
    return member == NULL ? 0 : member->ref_count;
}

/* Before a group is removed or replaced: drops its references. */
static void release_refs(struct sw_profile *profile, int64_t handle)
{
    const struct group *group = handle < 0 ? NULL : at(&profile->groups, (uint64_t)handle);
    for (uint32_t k = 0; group != NULL && k < group->n; k++) {
        if (group->refs[k].member == NULL) profile->missing--;
        else group->refs[k].member->ref_count--;
    }
}

int64_t sw_profile_put_member(struct sw_profile *profile, int64_t handle, uint32_t action,
                              const uint64_t *args, uint32_t n_args, const char **why)
{
    int status = sw_check_action(profile->program, action, n_args, why);
    if (status != 0) return status;
    struct member *member = malloc(sizeof *member + n_args * sizeof *args);
    if (member != NULL) {
        member->action = action;
        member->ref_count = 0;
        if (n_args != 0) memcpy(member->args, args, n_args * sizeof *args);
    }
    uint32_t n = ref_count(profile, handle);
    handle = put_item(&profile->members, handle, member, why);
    if (handle >= 0) update_refs(profile, (uint32_t)handle, n);
    return handle;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = ((const struct member_ref *)a)->handle, y = ((const struct member_ref *)b)->handle;
    return x < y ? -1 : x > y;
}

int64_t sw_profile_put_group(struct sw_profile *profile, int64_t handle, const uint32_t *members,
                             uint32_t n, const char **why)
{
    for (uint32_t i = 0; i < n; i++) {
        if (at(&profile->members, members[i]) == NULL) {
            *why = "no member has this handle";
            return -ENOENT;
        }
    }
    struct group *group = malloc(sizeof *group + n * sizeof *group->refs);
    if (group != NULL) {
        group->n = n;
        for (uint32_t i = 0; i < n; i++) {
            group->refs[i] = (struct member_ref){at(&profile->members, members[i]), members[i]};
        }
        if (n != 0) qsort(group->refs, n, sizeof *group->refs, ascending);
    }
    if (group != NULL) release_refs(profile, handle);
    handle = put_item(&profile->groups, handle, group, why);
    for (uint32_t i = 0; handle >= 0 && i < n; i++) group->refs[i].member->ref_count++;
    return handle;
}

int sw_profile_remove_member(struct sw_profile *profile, uint32_t handle, const char **why)
{
    uint32_t n = ref_count(profile, handle);
    int status = remove_item(&profile->members, handle, why);
    if (status == 0) update_refs(profile, handle, n);
    return status;
}

int sw_profile_remove_group(struct sw_profile *profile, uint32_t handle, const char **why)
{
    release_refs(profile, handle);
    return remove_item(&profile->groups, handle, why);
}

struct sw_call sw_resolve(const struct sw_profile *profile, const struct sw_entry *entry,
                          uint32_t hash)
{
    if (entry->action != SW_MEMBER && entry->action != SW_GROUP)
        return (struct sw_call){entry->action, entry->args};
    const struct member *member = NULL;
    if (entry->action == SW_GROUP) {
        const struct group *group = at(&profile->groups, entry->args[0]);
        if (group != NULL && group->n != 0) member = group->refs[hash % group->n].member;
    } else {
        member = at(&profile->members, entry->args[0]);
    }
    return member == NULL ? (struct sw_call){UINT32_MAX, NULL}
                          : (struct sw_call){member->action, member->args};
}
