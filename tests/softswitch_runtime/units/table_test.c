/* Keys of any length, up to the longest that a table takes. */
#include "table.h"

#include <errno.h>
#include <string.h>

#include "check.h"

enum { LONGEST = 512 };

static const struct sw_program program = {
    .abi = SW_ABI, .n_actions = 1, .actions = (const struct sw_action_spec[]){{"hit", 0, NULL}}};
static const char *why;

static struct sw_table *of_one_field(struct sw_table_spec *spec, struct sw_key_field *field,
                                     enum sw_match kind, uint32_t bytes)
{
    *field = (struct sw_key_field){kind, (uint16_t)(bytes * 8)};
    *spec = (struct sw_table_spec){.name = "long",
                                   .kind = kind,
                                   .n_fields = 1,
                                   .fields = field,
                                   .key_bytes = bytes,
                                   .size = 4};
    spec->default_action = UINT32_MAX;
    return sw_table_new(spec, &program, 1, &why);
}

static const struct sw_entry *look_up(const struct sw_table *table, const uint8_t *key)
{
    const struct sw_table_spec *spec = sw_table_spec_of(table);
    return spec->kind == SW_EXACT ? sw_lookup_exact(table, key, spec->key_bytes)
                                  : sw_lookup(table, key, spec->key_bytes);
}

/* Two entries that differ in the last bit, and a key that differs in the first; asked for twice,
 * for caches. */
static void test_every_bit_counts(enum sw_match kind, uint32_t bytes)
{
    struct sw_table_spec spec;
    struct sw_key_field field;
    struct sw_table *table = of_one_field(&spec, &field, kind, bytes);
    CHECK(table != NULL);
    uint8_t keys[3][LONGEST];
    memset(keys, 0xff, sizeof keys);
    keys[1][bytes - 1] = 0xfe;
    keys[2][0] = 0x7f;
    int32_t all = (int32_t)bytes * 8;
    for (int i = 0; i < 2; i++)
        CHECK(sw_table_insert(table, keys[i], NULL, all, 0, 0, NULL, 0, &why) == i);
    for (int twice = 0; twice < 2; twice++) {
        for (uint32_t i = 0; i < 2; i++)
            CHECK(look_up(table, keys[i]) != NULL && look_up(table, keys[i])->handle == i);
        CHECK(look_up(table, keys[2]) == NULL);
    }
    CHECK(sw_table_insert(table, keys[1], NULL, all, 0, 0, NULL, 0, &why) == -EEXIST &&
          strstr(why, "there already") != NULL);
    sw_table_free(table);
}

static void test_a_longer_key_is_refused(enum sw_match kind)
{
    struct sw_table_spec spec;
    struct sw_key_field field;
    CHECK(of_one_field(&spec, &field, kind, LONGEST + 1) == NULL &&
          strstr(why, "longer than 512 bytes") != NULL);
}

int main(void)
{
    for (enum sw_match kind = SW_EXACT; kind <= SW_TERNARY; kind++) {
        for (uint32_t bytes = 1; bytes <= 20; bytes++) test_every_bit_counts(kind, bytes);
        test_every_bit_counts(kind, LONGEST);
        test_a_longer_key_is_refused(kind);
    }
    return 0;
}
