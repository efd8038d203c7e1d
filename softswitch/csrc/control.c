/* The control plane's calls: tables, action profiles, meters; arrays.c and control_ports.c have the
 * others. Each takes the lock, checks its arguments and calls the module in charge. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "profile.h"
#include "table.h"

int sw_say(char *error, int code, const char *why)
{
    snprintf(error, SW_ERROR_BYTES, "%s", why);
    return code;
}

/* With the lock held: the table, or NULL and why. */
static struct sw_table *table_of(struct sw_switch *sw, uint32_t table, const char **why)
{
    *why = sw->instance == NULL ? "no program is loaded" : "no such table";
    sw->table_generation++;
    if (sw->instance == NULL || table >= sw->instance->program->n_tables) return NULL;
    return sw->instance->tables[table];
}

/* With the lock held. */
static int64_t add(struct sw_switch *sw, uint32_t number, const uint8_t *key, const uint8_t *mask,
                   int32_t prefix, int32_t priority, uint32_t action, const uint64_t *args,
                   uint32_t n_args, const char **why)
{
    struct sw_table *table = table_of(sw, number, why);
    if (table == NULL) return -ENOENT;
    /* P4Runtime: the higher wins; ranks: the lower */
    int64_t rank = (int64_t)INT32_MAX - priority;
    enum sw_match kind = sw_table_spec_of(table)->kind;
    if (kind == SW_EXACT || kind == SW_LPM) rank = 0;
    int64_t status = sw_table_insert(table, key, mask, prefix, rank, action, args, n_args, why);
    if (status >= 0) sw_node_touch(table, sw_table_node(table, status), sw_call_us(sw));
    return status;
}

int64_t sw_table_add(struct sw_switch *sw, uint32_t number, const uint8_t *key, const uint8_t *mask,
                     int32_t prefix, int32_t priority, uint32_t action, const uint64_t *args,
                     uint32_t n_args, char error[SW_ERROR_BYTES])
{
    const char *why = "";
    sw_lock(sw);
    int64_t status = add(sw, number, key, mask, prefix, priority, action, args, n_args, &why);
    sw_unlock(sw);
    if (status >= 0) error[0] = 0;
    else sw_say(error, 0, why);
    return status;
}

enum { HEAD_WORDS = sizeof(struct sw_addition) / sizeof(uint64_t) };

static uint64_t words_of(const struct sw_addition *head)
{
    return HEAD_WORDS + (head->masked ? 2 : 1) * (uint64_t)head->n_key + head->n_args;
}

int sw_table_add_all(struct sw_switch *sw, const uint64_t *additions, uint64_t bytes, uint32_t n,
                     int64_t *results)
{
    uint64_t left = bytes / sizeof *additions;
    const uint64_t *at = additions;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t words = left < HEAD_WORDS ? 1 : words_of((const struct sw_addition *)at);
        if (words > left || left < HEAD_WORDS) return -EINVAL;
        at += words;
        left -= words;
    }
    if (left != 0 || bytes % sizeof *additions != 0) return -EINVAL;
    sw_lock(sw);
    at = additions;
    for (uint32_t i = 0; i < n; i++) {
        const struct sw_addition *head = (const struct sw_addition *)at;
        const uint64_t *key = at + HEAD_WORDS, *mask = key + head->n_key;
        const uint64_t *args = head->masked ? mask + head->n_key : mask;
        const char *why;
        struct sw_table *table = table_of(sw, head->table, &why);
        bool fits = table == NULL || (sw_table_spec_of(table)->key_bytes + 7u) / 8 == head->n_key;
        results[i] = !fits ? -EINVAL
                           : add(sw, head->table, (const uint8_t *)key,
                                 head->masked ? (const uint8_t *)mask : NULL, head->prefix,
                                 head->priority, head->action, args, head->n_args, &why);
        at += words_of(head);
    }
    sw_unlock(sw);
    return 0;
}

int sw_table_modify(struct sw_switch *sw, uint32_t number, uint32_t handle, uint32_t action,
                    const uint64_t *args, uint32_t n_args, char error[SW_ERROR_BYTES])
{
    const char *why = "";
    sw_lock(sw);
    struct sw_table *table = table_of(sw, number, &why);
    int status =
        table == NULL ? -ENOENT : sw_table_change(table, handle, action, args, n_args, &why);
    sw_unlock(sw);
    return sw_say(error, status, status == 0 ? "" : why);
}

int sw_table_delete(struct sw_switch *sw, uint32_t number, uint32_t handle,
                    char error[SW_ERROR_BYTES])
{
    const char *why = "";
    sw_lock(sw);
    struct sw_table *table = table_of(sw, number, &why);
    int status = table == NULL ? -ENOENT : sw_table_remove(table, handle, &why);
    sw_unlock(sw);
    return sw_say(error, status, status == 0 ? "" : why);
}

int sw_table_set_default(struct sw_switch *sw, uint32_t number, uint32_t action,
                         const uint64_t *args, uint32_t n_args, char error[SW_ERROR_BYTES])
{
    const char *why = "";
    sw_lock(sw);
    struct sw_table *table = table_of(sw, number, &why);
    int status = table == NULL ? -ENOENT : sw_table_default(table, action, args, n_args, &why);
    sw_unlock(sw);
    return sw_say(error, status, status == 0 ? "" : why);
}

/* With the lock held: an entry of a table that has this flag, or NULL. */
static struct sw_node *node_of(struct sw_switch *sw, uint32_t number, int64_t handle, uint32_t flag)
{
    const char *why;
    struct sw_table *table = table_of(sw, number, &why);
    return table == NULL || !(sw_table_spec_of(table)->flags & flag) ? NULL
                                                                     : sw_table_node(table, handle);
}

int sw_table_counter_read(struct sw_switch *sw, uint32_t number, int64_t handle,
                          struct sw_counter *out)
{
    sw_lock(sw);
    const struct sw_node *node = node_of(sw, number, handle, SW_DIRECT_COUNTER);
    if (node != NULL) *out = (struct sw_counter){node->entry.packets, node->entry.bytes};
    sw_unlock(sw);
    return node == NULL ? -ENOENT : 0;
}

int sw_table_idle(struct sw_switch *sw, uint32_t number, uint32_t handle, uint64_t *us)
{
    sw_lock(sw);
    const struct sw_node *node = node_of(sw, number, handle, SW_IDLE_TIMEOUT);
    uint64_t now = sw_call_us(sw);
    if (node != NULL) *us = now > node->entry.last_hit_us ? now - node->entry.last_hit_us : 0;
    sw_unlock(sw);
    return node == NULL ? -ENOENT : 0;
}

int sw_table_counter_write(struct sw_switch *sw, uint32_t number, int64_t handle,
                           const struct sw_counter *in)
{
    sw_lock(sw);
    struct sw_node *node = node_of(sw, number, handle, SW_DIRECT_COUNTER);
    if (node != NULL) {
        node->entry.packets = in->packets;
        node->entry.bytes = in->bytes;
    }
    sw_unlock(sw);
    return node == NULL ? -ENOENT : 0;
}

/* ---- action profiles ---- */

/* With the lock held: the profile, or NULL and why. */
static struct sw_profile *profile_of(struct sw_switch *sw, uint32_t number, const char **why)
{
    *why = sw->instance == NULL ? "no program is loaded" : "no such action profile";
    sw->table_generation++;
    if (sw->instance == NULL || number >= sw->instance->program->n_profiles) return NULL;
    return sw->instance->profiles[number];
}

int64_t sw_member_put(struct sw_switch *sw, uint32_t number, int64_t handle, uint32_t action,
                      const uint64_t *args, uint32_t n_args, char error[SW_ERROR_BYTES])
{
    const char *why = "";
    sw_lock(sw);
    struct sw_profile *profile = profile_of(sw, number, &why);
    int64_t status =
        profile ? sw_profile_put_member(profile, handle, action, args, n_args, &why) : -ENOENT;
    sw_unlock(sw);
    sw_say(error, 0, status < 0 ? why : "");
    return status;
}

int64_t sw_group_put(struct sw_switch *sw, uint32_t number, int64_t handle, const uint32_t *members,
                     uint32_t n, char error[SW_ERROR_BYTES])
{
    const char *why = "";
    sw_lock(sw);
    struct sw_profile *profile = profile_of(sw, number, &why);
    int64_t status = profile ? sw_profile_put_group(profile, handle, members, n, &why) : -ENOENT;
    sw_unlock(sw);
    sw_say(error, 0, status < 0 ? why : "");
    return status;
}

int sw_member_delete(struct sw_switch *sw, uint32_t number, uint32_t handle,
                     char error[SW_ERROR_BYTES])
{
    const char *why = "";
    sw_lock(sw);
    struct sw_profile *profile = profile_of(sw, number, &why);
    int status = profile ? sw_profile_remove_member(profile, handle, &why) : -ENOENT;
    sw_unlock(sw);
    return sw_say(error, status, status < 0 ? why : "");
}

int sw_group_delete(struct sw_switch *sw, uint32_t number, uint32_t handle,
                    char error[SW_ERROR_BYTES])
{
    const char *why = "";
    sw_lock(sw);
    struct sw_profile *profile = profile_of(sw, number, &why);
    int status = profile ? sw_profile_remove_group(profile, handle, &why) : -ENOENT;
    sw_unlock(sw);
    return sw_say(error, status, status < 0 ? why : "");
}

/* ---- meters ---- */

/* With the lock held. */
static struct sw_meter *meter_of(struct sw_switch *sw, uint32_t number, uint32_t index)
{
    const struct sw_instance *instance = sw->instance;
    if (instance == NULL || number >= instance->program->n_meters) return NULL;
    return index < instance->meters[number]->size ? &instance->meters[number]->cells[index] : NULL;
}

static struct sw_meter *direct_meter_of(struct sw_switch *sw, uint32_t number, uint32_t handle)
{
    struct sw_node *node = node_of(sw, number, handle, SW_DIRECT_METER);
    return node == NULL ? NULL : node->entry.meter;
}

static int read_meter(const struct sw_meter *meter, struct sw_meter_config *out)
{
    if (meter == NULL) return -ENOENT;
    *out = meter->configured ? (struct sw_meter_config){meter->cir, meter->cburst, meter->pir,
                                                        meter->pburst, meter->per_us}
                             : (struct sw_meter_config){UINT64_MAX, UINT64_MAX, UINT64_MAX,
                                                        UINT64_MAX, UINT64_MAX};
    return 0;
}

static int write_meter(const struct sw_switch *sw, struct sw_meter *meter,
                       const struct sw_meter_config *in)
{
    if (meter == NULL) return -ENOENT;
    if (in != NULL && (in->cir > in->pir || in->per_us == 0)) return -EINVAL;
    uint64_t rates[5] = {0};
    if (in != NULL)
        memcpy(rates, (uint64_t[]){in->cir, in->cburst, in->pir, in->pburst, in->per_us},
               sizeof rates);
    sw_meter_set(meter, in == NULL ? NULL : rates, sw_call_us(sw));
    return 0;
}

int sw_meter_read(struct sw_switch *sw, uint32_t meter, uint32_t index, struct sw_meter_config *out)
{
    sw_lock(sw);
    int status = read_meter(meter_of(sw, meter, index), out);
    sw_unlock(sw);
    return status;
}

int sw_meter_write(struct sw_switch *sw, uint32_t meter, uint32_t index,
                   const struct sw_meter_config *in)
{
    sw_lock(sw);
    struct sw_meter *cell = meter_of(sw, meter, index);
    /* here, so that unused cells take no memory */
    if (cell != NULL) cell->bytes = sw->instance->program->meters[meter].bytes;
    int status = write_meter(sw, cell, in);
    sw_unlock(sw);
    return status;
}

int sw_table_meter_read(struct sw_switch *sw, uint32_t table, uint32_t handle,
                        struct sw_meter_config *out)
{
    sw_lock(sw);
    int status = read_meter(direct_meter_of(sw, table, handle), out);
    sw_unlock(sw);
    return status;
}

int sw_table_meter_write(struct sw_switch *sw, uint32_t table, uint32_t handle,
                         const struct sw_meter_config *in)
{
    sw_lock(sw);
    int status = write_meter(sw, direct_meter_of(sw, table, handle), in);
    sw_unlock(sw);
    return status;
}
