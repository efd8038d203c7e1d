/* Action profiles: handles, groups in order, references to what is gone. */
#include <errno.h>

#include "check.h"
#include "profile.h"

static const struct sw_action_spec actions[] = {{"set", 1, (const uint16_t[]){9}},
                                                {"keep", 0, NULL}};
static const struct sw_program program = {.n_actions = 2, .actions = actions};
static const char *why;

static int64_t member(struct sw_profile *profile, int64_t handle, uint64_t value)
{
    return sw_profile_put_member(profile, handle, 0, &value, 1, &why);
}

/* The argument of what a reference runs; -1: nothing. */
static int64_t chosen(const struct sw_profile *profile, uint32_t kind, uint64_t handle,
                      uint32_t hash)
{
    struct sw_call call = sw_resolve(profile, (struct sw_call){kind, &handle}, hash);
    return call.action == UINT32_MAX ? -1 : (int64_t)call.args[0];
}

int main(void)
{
    struct sw_profile *profile = sw_profile_new(&program);
    for (int64_t i = 0; i < 100; i++) CHECK(member(profile, -1, 1000 + (uint64_t)i) == i);
    CHECK(sw_profile_remove_member(profile, 40, &why) == 0 &&
          sw_profile_remove_member(profile, 7, &why) == 0);
    CHECK(sw_profile_remove_member(profile, 7, &why) == -ENOENT &&
          sw_profile_remove_member(profile, 500, &why) == -ENOENT);
    CHECK(member(profile, -1, 7) == 7 && member(profile, -1, 40) == 40 &&
          member(profile, -1, 100) == 100);
    CHECK(member(profile, 7, 77) == 7 && member(profile, 101, 1) == -ENOENT);
    CHECK(sw_profile_put_member(profile, -1, 2, NULL, 0, &why) == -EINVAL);
    CHECK(sw_profile_put_member(profile, -1, 0, NULL, 0, &why) == -EINVAL);
    CHECK(chosen(profile, SW_MEMBER, 7, 5) == 77 && chosen(profile, SW_MEMBER, 500, 0) == -1);

    CHECK(sw_profile_put_group(profile, -1, (const uint32_t[]){40, 7, 9}, 3, &why) == 0);
    CHECK(chosen(profile, SW_GROUP, 0, 0) == 77 && chosen(profile, SW_GROUP, 0, 4) == 1009);
    CHECK(chosen(profile, SW_GROUP, 0, UINT32_MAX - 1) == 40 &&
          chosen(profile, SW_GROUP, 1, 0) == -1);
    /* of one member, and of a power of two of them, without a division */
    for (uint32_t n = 1; n <= 8; n++) {
        const uint32_t members[] = {10, 11, 12, 13, 14, 15, 16, 17};
        CHECK(sw_profile_put_group(profile, n == 1 ? -1 : 1, members, n, &why) == 1);
        for (uint32_t hash = UINT32_MAX; hash > UINT32_MAX - 20; hash--)
            CHECK(chosen(profile, SW_GROUP, 1, hash) == 1010 + hash % n);
    }
    CHECK(sw_profile_remove_group(profile, 1, &why) == 0);
    CHECK(member(profile, 7, 78) == 7 && chosen(profile, SW_GROUP, 0, 0) == 78);
    CHECK(sw_profile_put_group(profile, 0, (const uint32_t[]){500}, 1, &why) == -ENOENT);
    CHECK(sw_profile_remove_member(profile, 9, &why) == 0 && chosen(profile, SW_GROUP, 0, 1) == -1);
    CHECK(member(profile, -1, 9) == 9 && chosen(profile, SW_GROUP, 0, 1) == 9);
    CHECK(sw_profile_put_group(profile, 0, NULL, 0, &why) == 0 &&
          chosen(profile, SW_GROUP, 0, 3) == -1);
    CHECK(sw_profile_remove_group(profile, 0, &why) == 0 &&
          sw_profile_remove_group(profile, 0, &why) == -ENOENT);
    uint64_t value = 3;
    struct sw_call direct = sw_resolve(profile, (struct sw_call){0, &value}, 0);
    CHECK(direct.action == 0 && direct.args == &value);
    sw_profile_free(profile);
    return 0;
}
