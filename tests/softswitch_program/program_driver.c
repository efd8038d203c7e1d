/* Runs a generated program packet by packet, without a switch around it, on the runtime's own state
 * and tables. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline.h"
#include "state.h"
#include "table.h"

enum { ROOM = 1 << 15, LOG = 4096 };

struct driver {
    void *library;
    struct sw_instance *instance;
    struct sw_packet packet;
    uint8_t *buffer;
    char log[LOG];
};

static void append_log(void *context, const char *message)
{
    struct driver *d = context;
    size_t n = strlen(d->log);
    snprintf(d->log + n, LOG - n, "%s\n", message);
}

void driver_close(struct driver *d)
{
    if (d->instance) sw_instance_free(d->instance);
    if (d->library) dlclose(d->library);
    free(d->packet.phv);
    free(d->buffer);
    free(d);
}

struct driver *driver_open(const char *path, char *error)
{
    struct driver *d = calloc(1, sizeof *d);
    d->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct sw_program *program = d->library ? dlsym(d->library, "sw_program") : NULL;
    if (!program) {
        snprintf(error, 256, "%s", dlerror());
        driver_close(d);
        return NULL;
    }
    d->instance = sw_instance_new(program, 1, SW_DROP_PORT, error);
    d->buffer = malloc(ROOM);
    d->packet.phv = aligned_alloc(16, (program->phv_size + 15) / 16 * 16);
    if (!d->instance) {
        driver_close(d);
        return NULL;
    }
    d->instance->log = append_log;
    d->instance->warn = append_log;
    d->instance->log_context = d;
    return d;
}

/* A new packet: parser, checksums, ingress. The frame ends where readable memory that the
 * sanitizers watch ends. */
/* At `now`, us. */
void driver_ingress(struct driver *d, const uint8_t *frame, uint32_t length, uint16_t port,
                    uint64_t now)
{
    struct sw_packet *p = &d->packet;
    const struct sw_program *program = d->instance->program;
    void *phv = p->phv;
    free(d->buffer);
    d->buffer = malloc(program->headroom + length + !length);
    memset(p, 0, sizeof *p);
    memset(phv, 0, program->phv_size);
    memcpy(d->buffer + program->headroom, frame, length);
    p->phv = phv;
    p->data = d->buffer + program->headroom;
    p->length = p->length_register = length;
    p->std.ingress_port = port;
    p->std.ingress_global_timestamp = now;
    p->std.packet_length = length;
    p->req = SW_NO_REQUESTS;
    d->instance->now = now;
    d->log[0] = 0;
    program->ingress(d->instance, p);
}

/* What the traffic manager would tell egress, us. */
void driver_queued(struct driver *d, uint64_t enqueued_at, uint64_t now, uint32_t depth)
{
    d->packet.std.enq_timestamp = (uint32_t)enqueued_at;
    d->packet.std.deq_timedelta = (uint32_t)(now - enqueued_at);
    d->packet.std.enq_qdepth = depth;
    d->packet.std.egress_global_timestamp = now;
}

void driver_egress(struct driver *d, uint16_t port)
{
    d->packet.std.egress_port = port;
    d->packet.std.packet_length = d->packet.length_register;
    d->instance->program->egress(d->instance, &d->packet);
}

uint32_t driver_deparse(struct driver *d, uint8_t *out)
{
    d->instance->program->deparse(d->instance, &d->packet);
    memcpy(out, d->packet.data, d->packet.length);
    return d->packet.length;
}

uint32_t driver_digest(struct driver *d, int32_t list, uint8_t *out, uint32_t capacity)
{
    return d->instance->program->pack_digest(list, &d->packet, out, capacity);
}

/* Into a packet whose metadata was reset, as for a clone. */
void driver_preserve(struct driver *d, int32_t list)
{
    const struct sw_program *program = d->instance->program;
    struct sw_packet copy = d->packet;
    copy.phv = aligned_alloc(16, (program->phv_size + 15) / 16 * 16);
    memcpy(copy.phv, d->packet.phv, program->phv_size);
    memset((char *)copy.phv + program->metadata_offset, 0,
           program->phv_size - program->metadata_offset);
    memset(&copy.std, 0, sizeof copy.std);
    program->copy_list(list, &d->packet, &copy);
    free(d->packet.phv);
    d->packet = copy;
}

const char *driver_log(const struct driver *d) { return d->log; }

int64_t driver_get(const struct driver *d, const char *name)
{
#define FIELD(member)                                                                              \
    if (strcmp(name, #member) == 0) return (int64_t)d->packet.member
    FIELD(std.egress_spec);
    FIELD(std.mcast_grp);
    FIELD(std.parser_error);
    FIELD(std.checksum_error);
    FIELD(std.packet_length);
    FIELD(std.priority);
    FIELD(std.instance_type);
    FIELD(length_register);
    FIELD(ingress_length);
    FIELD(req.clone_session);
    FIELD(req.clone_list);
    FIELD(req.resubmit_list);
    FIELD(req.recirculate_list);
    FIELD(req.digest_list);
    FIELD(req.truncate_to);
    abort();
}

void *driver_cell(const struct driver *d, uint32_t reg, uint32_t index)
{
    const struct sw_register *r = &d->instance->registers[reg];
    return (char *)r->cells + (size_t)index * r->stride;
}

uint32_t driver_cell_bytes(const struct driver *d, uint32_t reg)
{
    return d->instance->registers[reg].cell_bytes;
}

const struct sw_counter *driver_counter(const struct driver *d, uint32_t counter, uint32_t index)
{
    char *cells = (char *)d->instance->counters[counter];
    return (struct sw_counter *)(void *)(cells +
                                         (size_t)index * d->instance->counter_strides[counter]);
}

int64_t driver_add(struct driver *d, uint32_t table, const uint8_t *key, const uint8_t *mask,
                   int32_t prefix, int64_t rank, uint32_t action, const uint64_t *args,
                   uint32_t n_args)
{
    const char *why = "";
    return sw_table_insert(d->instance->tables[table], key, mask, prefix, rank, action, args,
                           n_args, &why);
}

const struct sw_entry *driver_entry(struct driver *d, uint32_t table, int64_t handle)
{
    return &sw_table_node(d->instance->tables[table], handle)->entry;
}
