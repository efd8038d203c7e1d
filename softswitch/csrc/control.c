/* The control plane's calls: tables, state, replication, packet-out. Each, but for sw_next_event,
 * takes the lock, checks its arguments and calls the module in charge. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "profile.h"
#include "table.h"

static int report(char *error, int code, const char *why)
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
    else report(error, 0, why);
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
    return report(error, status, status == 0 ? "" : why);
}

int sw_table_delete(struct sw_switch *sw, uint32_t number, uint32_t handle,
                    char error[SW_ERROR_BYTES])
{
    const char *why = "";
    sw_lock(sw);
    struct sw_table *table = table_of(sw, number, &why);
    int status = table == NULL ? -ENOENT : sw_table_remove(table, handle, &why);
    sw_unlock(sw);
    return report(error, status, status == 0 ? "" : why);
}

int sw_table_set_default(struct sw_switch *sw, uint32_t number, uint32_t action,
                         const uint64_t *args, uint32_t n_args, char error[SW_ERROR_BYTES])
{
    const char *why = "";
    sw_lock(sw);
    struct sw_table *table = table_of(sw, number, &why);
    int status = table == NULL ? -ENOENT : sw_table_default(table, action, args, n_args, &why);
    sw_unlock(sw);
    return report(error, status, status == 0 ? "" : why);
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
    report(error, 0, status < 0 ? why : "");
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
    report(error, 0, status < 0 ? why : "");
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
    return report(error, status, status < 0 ? why : "");
}

int sw_group_delete(struct sw_switch *sw, uint32_t number, uint32_t handle,
                    char error[SW_ERROR_BYTES])
{
    const char *why = "";
    sw_lock(sw);
    struct sw_profile *profile = profile_of(sw, number, &why);
    int status = profile ? sw_profile_remove_group(profile, handle, &why) : -ENOENT;
    sw_unlock(sw);
    return report(error, status, status < 0 ? why : "");
}

/* ---- arrays ---- */

static bool within(uint32_t first, uint32_t n, uint32_t size)
{
    return first <= size && n <= size - first;
}

/* Copies n cells, `stride` bytes apart, to or from a dense array. */
static void copy_strided(char *cells, size_t stride, char *array, size_t size, uint32_t n, bool out)
{
    for (uint32_t i = 0; i < n; i++, cells += stride, array += size) {
        if (out) memcpy(array, cells, size);
        else memcpy(cells, array, size);
    }
}

static int copy_counters(struct sw_switch *sw, uint32_t number, uint32_t first, uint32_t n,
                         struct sw_counter *out, const struct sw_counter *in)
{
    sw_lock(sw);
    const struct sw_instance *instance = sw->instance;
    int status = instance == NULL || number >= instance->program->n_counters ? -ENOENT
                 : within(first, n, instance->counter_sizes[number])         ? 0
                                                                             : -ERANGE;
    if (status == 0 && n != 0) {
        size_t stride = instance->counter_strides[number];
        char *cells = (char *)instance->counters[number] + first * stride;
        copy_strided(cells, stride, out != NULL ? (char *)out : (char *)(uintptr_t)in, sizeof *out,
                     n, out != NULL);
    }
    sw_unlock(sw);
    return status;
}

int sw_counter_read(struct sw_switch *sw, uint32_t counter, uint32_t first, uint32_t n,
                    struct sw_counter *out)
{
    return copy_counters(sw, counter, first, n, out, NULL);
}

int sw_counter_write(struct sw_switch *sw, uint32_t counter, uint32_t first, uint32_t n,
                     const struct sw_counter *in)
{
    return copy_counters(sw, counter, first, n, NULL, in);
}

static int copy_cells(struct sw_switch *sw, uint32_t number, uint32_t first, uint32_t n, void *out,
                      const void *in)
{
    sw_lock(sw);
    const struct sw_instance *instance = sw->instance;
    int status = -ENOENT;
    if (instance != NULL && number < instance->program->n_registers) {
        const struct sw_register *reg = &instance->registers[number];
        status = within(first, n, reg->size) ? 0 : -ERANGE;
        if (status == 0 && n != 0) {
            char *cells = (char *)reg->cells + (size_t)first * reg->stride;
            char *array = out != NULL ? out : (char *)(uintptr_t)in;
            copy_strided(cells, reg->stride, array, reg->cell_bytes, n, out != NULL);
        }
    }
    sw_unlock(sw);
    return status;
}

int sw_register_read(struct sw_switch *sw, uint32_t reg, uint32_t first, uint32_t n, void *out)
{
    return copy_cells(sw, reg, first, n, out, NULL);
}

int sw_register_write(struct sw_switch *sw, uint32_t reg, uint32_t first, uint32_t n,
                      const void *in)
{
    return copy_cells(sw, reg, first, n, NULL, in);
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

/* ---- replication, ports, packet-out, events ---- */

static int set_group(struct sw_switch *sw, struct sw_pre *pre, uint32_t id,
                     const struct sw_replica *replicas, uint32_t n, uint32_t truncate_to,
                     char *error)
{
    for (uint32_t i = 0; i < n; i++) {
        if (replicas[i].port >= SW_MAX_PORTS) {
            snprintf(error, SW_ERROR_BYTES, "replica %u: port %u is beyond %d", i, replicas[i].port,
                     SW_MAX_PORTS - 1);
            return -EINVAL;
        }
    }
    sw_lock(sw);
    int status = sw_pre_set(pre, id, replicas, n, truncate_to);
    sw_unlock(sw);
    return report(error, status,
                  status == 0         ? ""
                  : status == -ENOENT ? "nothing to delete"
                                      : "out of memory");
}

int sw_clone_session(struct sw_switch *sw, uint32_t session, const struct sw_replica *replicas,
                     uint32_t n, uint32_t truncate_to, char error[SW_ERROR_BYTES])
{
    return set_group(sw, &sw->clones, session, replicas, n, truncate_to, error);
}

int sw_multicast_group(struct sw_switch *sw, uint32_t group, const struct sw_replica *replicas,
                       uint32_t n, char error[SW_ERROR_BYTES])
{
    return set_group(sw, &sw->groups, group, replicas, n, 0, error);
}

/* With the lock held, which it gives back: with a higher rate, packets may be due at once. */
static int shaped(struct sw_switch *sw, bool there, char *error)
{
    if (sw->manual) sw_run_due(sw);
    sw_unlock(sw);
    if (!sw->manual) sw_wake(sw);
    return there ? 0 : report(error, -EINVAL, "no such port number, or out of memory");
}

/* A port's queues, or those of all (number < 0), were set. */
static void set_engine_ports(struct sw_switch *sw, int number)
{
    for (uint32_t i = 0; sw->engine != NULL && i < sw->tm.n_active; i++) {
        if (number < 0 || sw->tm.active[i] == number) sw->engine->set(sw->engine, sw->tm.active[i]);
    }
}

int sw_port_shape(struct sw_switch *sw, uint16_t number, uint64_t rate_bps, uint64_t delay_ns,
                  char error[SW_ERROR_BYTES])
{
    error[0] = 0;
    sw_lock(sw);
    struct sw_tm_port *port = sw_tm_port(&sw->tm, number);
    if (port != NULL) sw_tm_shape(port, rate_bps, delay_ns);
    if (port != NULL) set_engine_ports(sw, number);
    return shaped(sw, port != NULL, error);
}

int sw_queue_set(struct sw_switch *sw, int number, int queue, uint64_t depth, uint64_t interval_ns,
                 char error[SW_ERROR_BYTES])
{
    error[0] = 0;
    if (queue >= (int)sw->tm.priorities)
        return report(error, -EINVAL, "the port has no such queue");
    if (depth != SW_AS_IT_IS && depth > UINT32_MAX)
        return report(error, -EINVAL, "a queue has no such depth");
    sw_lock(sw);
    struct sw_tm_port *port = number < 0 ? NULL : sw_tm_port(&sw->tm, (uint32_t)number);
    bool there = number < 0 || port != NULL;
    if (there)
        sw_tm_set_queue(&sw->tm, port, queue, sw->clock_ns,
                        &(struct sw_queue_setting){depth, interval_ns});
    set_engine_ports(sw, number);
    return shaped(sw, there, error);
}

int sw_set_trimming(struct sw_switch *sw, const struct sw_trimming *trimming)
{
    if (!sw_trimming_possible(trimming) || trimming->queue_index >= sw->tm.priorities)
        return -EINVAL;
    sw_lock(sw);
    sw_tm_trim(&sw->tm, trimming);
    set_engine_ports(sw, -1);
    sw_unlock(sw);
    return 0;
}

int sw_port_stats(struct sw_switch *sw, uint16_t number, struct sw_port_stats *out)
{
    *out = (struct sw_port_stats){0};
    if (number >= SW_MAX_PORTS) return -EINVAL;
    sw_lock(sw);
    const struct sw_port *port = sw->ports[number];
    const struct sw_tm_port *queues = sw->tm.ports[number];
    if (port != NULL) {
        *out = port->stats;
        if (port->channel_out != NULL)
            out->tx_dropped += __atomic_load_n(&port->channel_out->lost, __ATOMIC_RELAXED);
        out->up = port->open && port->running;
    }
    if (queues != NULL) {
        out->queue_dropped += queues->dropped;
        out->trimmed = queues->trimmed;
        out->in_flight = queues->delay_line.count;
        for (uint32_t q = 0; q < SW_PRIORITIES; q++)
            out->queue_packets[q] = queues->queues[q].packets.count;
        if (sw->engine != NULL) sw->engine->count(sw->engine, number, out);
    }
    sw_unlock(sw);
    return 0;
}

int sw_packet_out(struct sw_switch *sw, uint16_t port, const uint8_t *frame, uint32_t length)
{
    if (port >= SW_MAX_PORTS || length > SW_MAX_FRAME) return -EINVAL;
    int status = -ENOMEM;
    sw_lock(sw);
    struct sw_pkt *pkt = sw->instance == NULL ? NULL : sw_pkt_copy_bytes(&sw->pool, frame, length);
    if (sw->instance == NULL) status = -ENOENT;
    if (pkt != NULL && sw->manual) {
        status = 0;
        sw_receive(sw, pkt, port);
        sw_run_due(sw);
    } else if (pkt != NULL) {
        status = 0;
        pkt->p.std.ingress_port = port;
        pkt->p.std.packet_length = length;
        pkt->p.std.ingress_global_timestamp = sw_call_ns(sw) / sw->tick_ns;
        pkt->due_ns = 0;
        sw_fifo_push(&sw->input, pkt);
    }
    sw_unlock(sw);
    if (status == 0 && !sw->manual) sw_wake(sw);
    return status;
}

int sw_next_event(struct sw_switch *sw, int timeout_ms, struct sw_event *event, uint8_t *data,
                  uint32_t capacity)
{
    return sw_events_get(&sw->events, timeout_ms, event, data, capacity);
}

int sw_fence(struct sw_switch *sw, uint32_t id)
{
    sw_lock(sw);
    bool put = sw_events_put(&sw->events, SW_EVENT_FENCE, id, NULL, 0, sw_now_ns(sw));
    sw_unlock(sw);
    return put ? 0 : -ESHUTDOWN;
}
