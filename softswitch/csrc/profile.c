/* Action profiles: members and groups by handle, and the choice of a member. */
#include "profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

struct member { uint32_t action, chosen_by; /* how many choices */ uint64_t args[]; };
/* A group's member; `member` is NULL while nothing has the handle. */
struct choice { struct member *member; uint32_t handle; };
struct group { uint32_t n; struct choice choices[]; }; /* handles ascending */

/* Things by handle. No handle below `first_free` is free. */
struct slots { void **items; uint32_t capacity, first_free; };

struct sw_profile {
    const struct sw_program *program;
    struct slots members, groups;
    uint32_t missing; /* choices without a member */
};

static void *at(const struct slots *slots, uint64_t handle)
{
    return handle < slots->capacity ? slots->items[handle] : NULL;
}

/* Takes the item, whatever comes of it. */
static int64_t put(struct slots *slots, int64_t handle, void *item, const char **why)
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
    while (slots->first_free < slots->capacity && slots->items[slots->first_free] != NULL) slots->first_free++;
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

static int take(struct slots *slots, uint32_t handle, const char **why)
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
    if (groups->capacity > SW_CACHE_LINES_ENTRIES || members->capacity > SW_CACHE_LINES_ENTRIES) return;
    for (uint32_t i = 0; i < groups->capacity; i++) {
        const struct group *group = groups->items[i];
        if (group == NULL) continue;
        sw_cache_lines_add(lines, &groups->items[i], sizeof *groups->items);
        sw_cache_lines_add(lines, group, sizeof *group + group->n * sizeof *group->choices);
    }
    for (uint32_t i = 0; i < members->capacity; i++) {
        const struct member *member = members->items[i];
        if (member != NULL) sw_cache_lines_add(lines, member, sizeof *member);
    }
}

/* Groups know their members themselves: a packet's choice doesn't wait for one more line. Sets the choices of this handle to what
 * has it now, which `n` of them had before. */
static void choose_anew(struct sw_profile *profile, uint32_t handle, uint32_t n)
{
    struct member *member = at(&profile->members, handle);
    if (n == 0 && (member == NULL || profile->missing == 0)) return;
    for (uint32_t i = 0; i < profile->groups.capacity; i++) {
        struct group *group = profile->groups.items[i];
        for (uint32_t k = 0; group != NULL && k < group->n; k++) {
            struct choice *choice = &group->choices[k];
            if (choice->handle != handle) continue;
            profile->missing -= choice->member == NULL;
            choice->member = member;
            if (member == NULL) profile->missing++;
            else member->chosen_by++;
        }
    }
}

static uint32_t chosen_by(const struct sw_profile *profile, int64_t handle)
{
    const struct member *member = handle < 0 ? NULL : at(&profile->members, (uint64_t)handle);
    return member == NULL ? 0 : member->chosen_by;
}

/* A group goes: its choices, too. */
static void forget_choices(struct sw_profile *profile, int64_t handle)
{
    const struct group *group = handle < 0 ? NULL : at(&profile->groups, (uint64_t)handle);
    for (uint32_t k = 0; group != NULL && k < group->n; k++) {
        if (group->choices[k].member == NULL) profile->missing--;
        else group->choices[k].member->chosen_by--;
    }
}

int64_t sw_profile_put_member(struct sw_profile *profile, int64_t handle, uint32_t action, const uint64_t *args,
                              uint32_t n_args, const char **why)
{
    int status = sw_check_action(profile->program, action, n_args, why);
    if (status != 0) return status;
    struct member *member = malloc(sizeof *member + n_args * sizeof *args);
    if (member != NULL) {
        member->action = action;
        member->chosen_by = 0;
        if (n_args != 0) memcpy(member->args, args, n_args * sizeof *args);
    }
    uint32_t n = chosen_by(profile, handle);
    handle = put(&profile->members, handle, member, why);
    if (handle >= 0) choose_anew(profile, (uint32_t)handle, n);
    return handle;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = ((const struct choice *)a)->handle, y = ((const struct choice *)b)->handle;
    return x < y ? -1 : x > y;
}

int64_t sw_profile_put_group(struct sw_profile *profile, int64_t handle, const uint32_t *members, uint32_t n,
                             const char **why)
{
    for (uint32_t i = 0; i < n; i++) {
        if (at(&profile->members, members[i]) == NULL) {
            *why = "no member has this handle";
            return -ENOENT;
        }
    }
    struct group *group = malloc(sizeof *group + n * sizeof *group->choices);
    if (group != NULL) {
        group->n = n;
        for (uint32_t i = 0; i < n; i++) {
            group->choices[i] = (struct choice){at(&profile->members, members[i]), members[i]};
        }
        if (n != 0) qsort(group->choices, n, sizeof *group->choices, ascending);
    }
    if (group != NULL) forget_choices(profile, handle);
    handle = put(&profile->groups, handle, group, why);
    for (uint32_t i = 0; handle >= 0 && i < n; i++) group->choices[i].member->chosen_by++;
    return handle;
}

int sw_profile_remove_member(struct sw_profile *profile, uint32_t handle, const char **why)
{
    uint32_t n = chosen_by(profile, handle);
    int status = take(&profile->members, handle, why);
    if (status == 0) choose_anew(profile, handle, n);
    return status;
}

int sw_profile_remove_group(struct sw_profile *profile, uint32_t handle, const char **why)
{
    forget_choices(profile, handle);
    return take(&profile->groups, handle, why);
}

struct sw_call sw_resolve(const struct sw_profile *profile, const struct sw_entry *entry, uint32_t hash)
{
    if (entry->action != SW_MEMBER && entry->action != SW_GROUP) return (struct sw_call){entry->action, entry->args};
    const struct member *member = NULL;
    if (entry->action == SW_GROUP) {
        const struct group *group = at(&profile->groups, entry->args[0]);
        if (group != NULL && group->n != 0) member = group->choices[hash % group->n].member;
    } else {
        member = at(&profile->members, entry->args[0]);
    }
    return member == NULL ? (struct sw_call){UINT32_MAX, NULL} : (struct sw_call){member->action, member->args};
}
