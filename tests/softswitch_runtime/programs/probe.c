/* A program written by hand that does what a frame asks for, to test the runtime without the
 * compiler.
 *
 * Frame: 12 bytes that come back untouched, ethertype 0x88b5, opcode, argument, priority, six
 * bytes of what the egress saw (instance type, egress rid, enq_qdepth, deq_qdepth, egress port,
 * metadata), payload. Table `forward` (exact, ingress port) gives the egress port. The metadata
 * byte counts passes. */
#include <string.h>

#include "pipeline.h"

enum { HEADER = 23, OPCODE = 14, ARGUMENT, PRIORITY, SEEN };
enum {
    FORWARD,
    CLONE,
    RESUBMIT,
    RECIRCULATE,
    CLONE_EGRESS,
    DIGEST,
    TRUNCATE,
    DROP,
    MULTICAST,
    HOLD,
    CLONE_BARE,
    LOG
};

struct phv {
    uint8_t header[HEADER], valid;
    uint8_t passes;
};

static void parse(struct sw_instance *instance, struct sw_packet *packet)
{
    struct phv *phv = packet->phv;
    (void)instance;
    packet->ingress_length = packet->length;
    phv->valid = packet->length >= HEADER;
    if (!phv->valid) {
        packet->std.parser_error = 1;
        return;
    }
    memcpy(phv->header, packet->data, HEADER);
    packet->data += HEADER;
    packet->length -= HEADER;
}

static void ingress(struct sw_instance *instance, struct sw_packet *packet)
{
    struct phv *phv = packet->phv;
    parse(instance, packet);
    instance->counters[0][packet->std.ingress_port & 15].packets++;
    instance->counters[0][packet->std.ingress_port & 15].bytes += packet->ingress_length;
    uint8_t port = (uint8_t)packet->std.ingress_port;
    /* A packet that came round again lost its ingress port: the argument is its egress port
     * then. */
    const struct sw_entry *entry = sw_lookup_exact(instance->tables[0], (uint8_t[]){port}, 1);
    if (entry == NULL) entry = sw_default_entry(instance->tables[0]);
    packet->std.egress_spec = instance->drop_port;
    if (entry != NULL && entry->action == 0) packet->std.egress_spec = entry->args[0] & 511;
    if (!phv->valid) {
        packet->std.egress_spec = instance->drop_port;
        return;
    }
    packet->std.priority = phv->header[PRIORITY] & 7;
    switch (phv->header[OPCODE]) {
    case CLONE:
        packet->req.clone_session = phv->header[ARGUMENT];
        packet->req.clone_list = 1;
        phv->passes = 77;
        phv->header[0] = 0xee; /* must not show in the clone */
        break;
    case CLONE_BARE:
        packet->req.clone_session = phv->header[ARGUMENT];
        phv->passes = 77;
        break;
    case RESUBMIT:
        /* 255: without end */
        if (packet->std.instance_type == SW_RESUBMIT && phv->header[ARGUMENT] != 255) break;
        phv->header[0] = 0xee;
        phv->passes = 5;
        packet->req.resubmit_list = 1;
        break;
    case DIGEST: packet->req.digest_list = 3; break;
    case TRUNCATE: packet->req.truncate_to = phv->header[ARGUMENT]; break;
    case DROP: packet->std.egress_spec = instance->drop_port; break;
    case MULTICAST: packet->std.mcast_grp = phv->header[ARGUMENT]; break;
    case RECIRCULATE:
    case HOLD:
    case CLONE_EGRESS:
        if (phv->header[OPCODE] != CLONE_EGRESS && packet->std.instance_type == SW_RECIRC) {
            packet->std.egress_spec = ((uint16_t *)instance->registers[1].cells)[0] & 511;
        }
        break;
    case LOG:
        if (instance->log != NULL) instance->log(instance->log_context, "hello from P4");
        break;
    default: break;
    }
}

static void egress(struct sw_instance *instance, struct sw_packet *packet)
{
    struct phv *phv = packet->phv;
    const struct sw_std *std = &packet->std;
    uint8_t *seen = phv->header + SEEN;
    seen[0] = (uint8_t)std->instance_type;
    seen[1] = (uint8_t)std->egress_rid;
    seen[2] = (uint8_t)std->enq_qdepth;
    seen[3] = (uint8_t)std->deq_qdepth;
    seen[4] = (uint8_t)std->egress_port;
    seen[5] = phv->passes;
    uint8_t opcode = phv->header[OPCODE];
    if (opcode == RECIRCULATE && phv->passes < phv->header[ARGUMENT]) {
        phv->passes++;
        packet->req.recirculate_list = 1;
        ((uint16_t *)instance->registers[1].cells)[0] = std->egress_port;
    }
    if (opcode == HOLD && ((uint16_t *)instance->registers[0].cells)[0] != 0) {
        instance->counters[1][0].packets++;
        packet->req.recirculate_list = 1;
        ((uint16_t *)instance->registers[1].cells)[0] = std->egress_port;
    }
    if (opcode == CLONE_EGRESS && std->instance_type != SW_EGRESS_CLONE) {
        phv->header[0] = 0xcc; /* must show in the clone */
        phv->passes = 9;
        packet->req.clone_session = phv->header[ARGUMENT];
        packet->req.clone_list = 1;
    }
}

static void deparse(struct sw_instance *instance, struct sw_packet *packet)
{
    const struct phv *phv = packet->phv;
    (void)instance;
    if (!phv->valid) return;
    packet->data -= HEADER;
    packet->length += HEADER;
    memcpy(packet->data, phv->header, HEADER);
}

static void copy_list(int32_t list, const struct sw_packet *from, struct sw_packet *to)
{
    if (list == 1) ((struct phv *)to->phv)->passes = ((const struct phv *)from->phv)->passes;
}

static uint32_t pack_digest(int32_t list, const struct sw_packet *packet, uint8_t *out,
                            uint32_t capacity)
{
    (void)list;
    if (capacity < 6) return 0;
    memcpy(out, ((const struct phv *)packet->phv)->header, 6);
    return 6;
}

static const struct sw_action_spec actions[] = {
    {"forward", 1, (const uint16_t[]){9}},
    {"drop", 0, NULL},
    {"wide", 2, (const uint16_t[]){128, 8}},
};
static const struct sw_table_spec tables[] = {
    {"forward", SW_EXACT, 1, (const struct sw_key_field[]){{SW_EXACT, 8}}, 1, 16, SW_DIRECT_COUNTER,
     1, NULL, 0, NULL},
};
static const struct sw_counter_spec counters[] = {{"received", 16}, {"held", 1}};
static const struct sw_register_spec registers[] = {
    {"paused", 1, 16}, {"back_to", 1, 9}, {"cells", 100, 48}};
static const struct sw_meter_spec meters[] = {{"police", 4, true}};

const struct sw_program sw_program = {
    .abi = SW_ABI,
    .name = "probe",
    .phv_size = sizeof(struct phv),
    .metadata_offset = offsetof(struct phv, passes),
    .headroom = HEADER,
    .n_tables = 1,
    .n_actions = 3,
    .n_counters = 2,
    .n_registers = 3,
    .n_meters = 1,
    .n_lists = 3,
    .tables = tables,
    .actions = actions,
    .counters = counters,
    .registers = registers,
    .meters = meters,
    .ingress = ingress,
    .parse = parse,
    .egress = egress,
    .deparse = deparse,
    .copy_list = copy_list,
    .pack_digest = pack_digest,
};
