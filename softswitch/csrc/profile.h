/* Action profiles: what the entries of indirect tables refer to. A member is an action with its
 * arguments, a group a set of members. New ones get the lowest free handle, as in BMv2: a
 * group's members are sorted by handle, so handles decide which member a hash selects.
 *
 * Not thread-safe: the switch's lock, or, in virtual time, the single thread guards them. */
#ifndef SW_PROFILE_H
#define SW_PROFILE_H

#include "cache_lines.h"

/* NULL: out of memory. */
struct sw_profile *sw_profile_new(const struct sw_program *);
void sw_profile_free(struct sw_profile *);
/* adds the profile's lines */
void sw_profile_cache_lines(const struct sw_profile *, struct sw_cache_lines *);

/* handle -1: adds a member. Returns the handle, or -ENOENT, -EINVAL, -ENOMEM and why, a static
 * string. */
int64_t sw_profile_put_member(struct sw_profile *, int64_t handle, uint32_t action,
                              const uint64_t *args, uint32_t n_args, const char **why);
/* The same for a group. `members`: their handles in any order, each once. */
int64_t sw_profile_put_group(struct sw_profile *, int64_t handle, const uint32_t *members,
                             uint32_t n, const char **why);
/* The caller checks for references; a dangling one selects no action. */
int sw_profile_remove_member(struct sw_profile *, uint32_t handle, const char **why);
int sw_profile_remove_group(struct sw_profile *, uint32_t handle, const char **why);

#endif
