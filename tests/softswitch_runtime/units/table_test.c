/* Keys as long as a table takes them. */
#include "table.h"

#include <errno.h>
#include <string.h>

#include "check.h"

enum { LONGEST = 512 };

static const struct sw_program program = {
    .abi = SW_ABI, .n_actions = 1, .actions = (const struct sw_action_spec[]){{"hit", 0, NULL}}};
static const char *why;

static struct sw_table *of_one_field(struct sw_table_spec *spec, struct sw_key_field *field, enum sw_match kind, uint32_t bytes)
{
    *field = (struct sw_key_field){kind, (uint16_t)(bytes * 8)};
    *spec = (struct sw_table_spec){.name = "long", .kind = kind, .n_fields = 1, .fields = field, .key_bytes = bytes, .size = 4};
    spec->default_action = UINT32_MAX;
    return sw_table_new(spec, &program, 1, &why);
}

static const struct sw_entry *look_up(const struct sw_table *table, const uint8_t *key)
{
    return sw_table_spec_of(table)->kind == SW_EXACT ? sw_lookup_exact(table, key, LONGEST) : sw_lookup(table, key, LONGEST);
}

/* Two entries that differ in the last bit. */
static void test_the_longest_key(enum sw_match kind)
{
    struct sw_table_spec spec;
    struct sw_key_field field;
    struct sw_table *table = of_one_field(&spec, &field, kind, LONGEST);
    CHECK(table != NULL);
    uint8_t keys[3][LONGEST];
    memset(keys, 0xff, sizeof keys);
    keys[1][LONGEST - 1] = 0xfe;
    keys[2][0] = 0x7f;
    for (int i = 0; i < 2; i++) CHECK(sw_table_insert(table, keys[i], NULL, LONGEST * 8, 0, 0, NULL, 0, &why) == i);
    for (uint32_t i = 0; i < 2; i++) CHECK(look_up(table, keys[i]) != NULL && look_up(table, keys[i])->handle == i);
    CHECK(look_up(table, keys[2]) == NULL);
    CHECK(sw_table_insert(table, keys[1], NULL, LONGEST * 8, 0, 0, NULL, 0, &why) == -EEXIST &&
          strstr(why, "there already") != NULL);
    sw_table_free(table);
}

static void test_a_longer_key_is_refused(enum sw_match kind)
{
    struct sw_table_spec spec;
    struct sw_key_field field;
    CHECK(of_one_field(&spec, &field, kind, LONGEST + 1) == NULL && strstr(why, "longer than 512 bytes") != NULL);
}

int main(void)
{
    for (enum sw_match kind = SW_EXACT; kind <= SW_TERNARY; kind++) {
        test_the_longest_key(kind);
        test_a_longer_key_is_refused(kind);
    }
    return 0;
}
