/* Action profiles: members and groups by handle, and the selection of a member. */
#include "profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

struct sw_profile {
    struct sw_choices choices; /* the first: lookup.h */
    const struct sw_program *program;
    uint32_t missing; /* references without a member */
};

/* Takes ownership of the item, also on failure. */
static int64_t put_item(struct sw_slots *slots, int64_t handle, void *item, const char **why)
{
    *why = "out of memory";
    if (item == NULL) return -ENOMEM;
    if (handle >= 0) {
        if (sw_slot_at(slots, (uint64_t)handle) == NULL) {
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

static int remove_item(struct sw_slots *slots, uint32_t handle, const char **why)
{
    if (sw_slot_at(slots, handle) == NULL) {
        *why = "nothing has this handle";
        return -ENOENT;
    }
    free(slots->items[handle]);
    slots->items[handle] = NULL;
    if (handle < slots->first_free) slots->first_free = handle;
    return 0;
}

static void clear(struct sw_slots *slots)
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
    clear(&profile->choices.members);
    clear(&profile->choices.groups);
    free(profile);
}

void sw_profile_cache_lines(const struct sw_profile *profile, struct sw_cache_lines *lines)
{
    const struct sw_slots *groups = &profile->choices.groups, *members = &profile->choices.members;
    sw_cache_lines_add(lines, profile, sizeof *profile);
    if (groups->capacity > SW_CACHE_LINES_ENTRIES || members->capacity > SW_CACHE_LINES_ENTRIES)
        return;
    for (uint32_t i = 0; i < groups->capacity; i++) {
        const struct sw_group *group = groups->items[i];
        if (group == NULL) continue;
        sw_cache_lines_add(lines, &groups->items[i], sizeof *groups->items);
        sw_cache_lines_add(lines, group, sizeof *group + group->n * sizeof *group->refs);
    }
    for (uint32_t i = 0; i < members->capacity; i++) {
        const struct sw_member *member = members->items[i];
        if (member != NULL) sw_cache_lines_add(lines, member, sizeof *member);
    }
}

/* Groups hold pointers to their members, which saves each packet a lookup by handle. Updates the
 * pointers to a handle's member; `n` of them were set before. */
static void update_refs(struct sw_profile *profile, uint32_t handle, uint32_t n)
{
    struct sw_member *member = sw_slot_at(&profile->choices.members, handle);
    if (n == 0 && (member == NULL || profile->missing == 0)) return;
    for (uint32_t i = 0; i < profile->choices.groups.capacity; i++) {
        struct sw_group *group = profile->choices.groups.items[i];
        for (uint32_t k = 0; group != NULL && k < group->n; k++) {
            struct sw_member_ref *ref = &group->refs[k];
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
    const struct sw_member *member =
        handle < 0 ? NULL : sw_slot_at(&profile->choices.members, (uint64_t)handle);
    return member == NULL ? 0 : member->ref_count;
}

/* Before a group is removed or replaced: drops its references. */
static void release_refs(struct sw_profile *profile, int64_t handle)
{
    const struct sw_group *group =
        handle < 0 ? NULL : sw_slot_at(&profile->choices.groups, (uint64_t)handle);
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
    struct sw_member *member = malloc(sizeof *member + n_args * sizeof *args);
    if (member != NULL) {
        member->action = action;
        member->ref_count = 0;
        if (n_args != 0) memcpy(member->args, args, n_args * sizeof *args);
    }
    uint32_t n = ref_count(profile, handle);
    handle = put_item(&profile->choices.members, handle, member, why);
    if (handle >= 0) update_refs(profile, (uint32_t)handle, n);
    return handle;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = ((const struct sw_member_ref *)a)->handle,
             y = ((const struct sw_member_ref *)b)->handle;
    return x < y ? -1 : x > y;
}

int64_t sw_profile_put_group(struct sw_profile *profile, int64_t handle, const uint32_t *members,
                             uint32_t n, const char **why)
{
    for (uint32_t i = 0; i < n; i++) {
        if (sw_slot_at(&profile->choices.members, members[i]) == NULL) {
            *why = "no member has this handle";
            return -ENOENT;
        }
    }
    struct sw_group *group = malloc(sizeof *group + n * sizeof *group->refs);
    if (group != NULL) {
        group->n = n;
        group->mask = (n & (n - 1)) == 0 ? n - 1 : 0;
        for (uint32_t i = 0; i < n; i++) {
            group->refs[i] = (struct sw_member_ref){
                sw_slot_at(&profile->choices.members, members[i]), members[i]};
        }
        if (n != 0) qsort(group->refs, n, sizeof *group->refs, ascending);
    }
    if (group != NULL) release_refs(profile, handle);
    handle = put_item(&profile->choices.groups, handle, group, why);
    for (uint32_t i = 0; handle >= 0 && i < n; i++) group->refs[i].member->ref_count++;
    return handle;
}

int sw_profile_remove_member(struct sw_profile *profile, uint32_t handle, const char **why)
{
    uint32_t n = ref_count(profile, handle);
    int status = remove_item(&profile->choices.members, handle, why);
    if (status == 0) update_refs(profile, handle, n);
    return status;
}

int sw_profile_remove_group(struct sw_profile *profile, uint32_t handle, const char **why)
{
    release_refs(profile, handle);
    return remove_item(&profile->choices.groups, handle, why);
}
