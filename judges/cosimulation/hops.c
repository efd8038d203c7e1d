/* A program whose frames say themselves what each switch on their way does with them, and in which
 * each switch writes what its egress saw: depths, times, ports. Small as it is, it uses all that
 * moves a packet elsewhere than out.
 *
 * Frame: 42 bytes that come back untouched (of IPv4 and UDP, as queues cut no others), the number of
 * switches passed, how many there may be, for each an instruction (operation, argument, label,
 * class), for each a record, payload. Table `ways` (exact, label) gives the egress port. A frame
 * that has passed all is dropped. */
#include <string.h>

#include "pipeline.h"

enum {
    SWITCHES = 6, /* that a frame may pass */
    PLACE = 42,
    LAST,
    INSTRUCTIONS,
    INSTRUCTION_BYTES = 4,
    RECORDS = INSTRUCTIONS + SWITCHES * INSTRUCTION_BYTES,
    RECORD_BYTES = 16,
    HEADER = RECORDS + SWITCHES * RECORD_BYTES,
    GROWTH = 8 /* bytes, each time that an odd RECIRCULATE goes round */
};
enum operation {
    FORWARD,
    CLONE,
    CLONE_EGRESS,
    MULTICAST,
    RESUBMIT,
    RECIRCULATE,
    HOLD,
    TRUNCATE,
    DROP,
    DROP_EGRESS,
    DIGEST,
    LOG,
    DRAW
};

struct phv {
    uint8_t header[HEADER], valid;
    uint8_t passes, grows;
};

enum { WAYS };
enum { ARRIVED, SENT_ROUND };
enum { HELD, DRAWN };

static void parse(struct sw_instance *instance, struct sw_packet *packet)
{
    struct phv *phv = packet->phv;
    (void)instance;
    packet->ingress_length = packet->length;
    phv->valid = packet->length >= HEADER && packet->data[PLACE] < packet->data[LAST] &&
                 packet->data[LAST] <= SWITCHES;
    if (!phv->valid) {
        packet->std.parser_error = 1;
        return;
    }
    memcpy(phv->header, packet->data, HEADER);
    packet->data += HEADER;
    packet->length -= HEADER;
}

static const uint8_t *instruction(const struct phv *phv)
{
    return phv->header + INSTRUCTIONS + phv->header[PLACE] * INSTRUCTION_BYTES;
}

static void ingress(struct sw_instance *instance, struct sw_packet *packet)
{
    struct phv *phv = packet->phv;
    parse(instance, packet);
    struct sw_counter *arrived = &instance->counters[ARRIVED][packet->std.ingress_port & 15];
    arrived->packets++;
    arrived->bytes += packet->ingress_length;
    packet->std.egress_spec = instance->drop_port;
    if (!phv->valid) return;
    const uint8_t *now = instruction(phv);
    uint8_t argument = now[1];
    const struct sw_entry *entry = sw_lookup_exact(instance->tables[WAYS], (uint8_t[]){now[2]}, 1);
    if (entry != NULL && entry->action == 0) packet->std.egress_spec = entry->args[0] & 511;
    packet->std.priority = now[3] & 7;
    bool first = packet->std.instance_type == SW_NORMAL;
    switch ((enum operation)now[0]) {
    case CLONE:
        if (!first) break;
        packet->req.clone_session = argument;
        packet->req.clone_list = 1;
        phv->passes = 77;
        break;
    case MULTICAST: packet->std.mcast_grp = argument; break;
    case RESUBMIT:
        if (!first) break;
        phv->passes = 5;
        packet->req.resubmit_list = 1;
        break;
    case TRUNCATE: packet->req.truncate_to = HEADER + argument; break;
    case DROP: packet->std.egress_spec = instance->drop_port; break;
    case DIGEST: packet->req.digest_list = 3; break;
    case LOG:
        if (instance->log != NULL) instance->log(instance->log_context, "a packet passes");
        break;
    case FORWARD:
    case CLONE_EGRESS:
    case RECIRCULATE:
    case HOLD:
    case DROP_EGRESS:
    case DRAW:
    default: break;
    }
}

static void put(uint8_t *at, uint32_t bytes, uint64_t value)
{
    while (bytes-- > 0) {
        at[bytes] = (uint8_t)value;
        value >>= 8;
    }
}

static uint8_t *record(struct phv *phv, uint32_t place)
{
    return phv->header + RECORDS + place * RECORD_BYTES;
}

static bool goes_round(struct sw_instance *instance, struct sw_packet *packet)
{
    struct phv *phv = packet->phv;
    const uint8_t *now = instruction(phv);
    uint16_t port = packet->std.egress_port;
    const uint8_t *held = instance->registers[HELD].cells;
    bool again =
        (now[0] == RECIRCULATE && phv->passes < now[1]) || (now[0] == HOLD && held[port & 15] != 0);
    if (!again) return false;
    if (phv->passes < 255) phv->passes++;
    phv->grows = now[0] == RECIRCULATE && now[1] % 2 != 0;
    instance->counters[SENT_ROUND][port & 15].packets++;
    packet->req.recirculate_list = 1;
    return true;
}

static void egress(struct sw_instance *instance, struct sw_packet *packet)
{
    struct phv *phv = packet->phv;
    const struct sw_std *std = &packet->std;
    bool copy = std->instance_type == SW_EGRESS_CLONE; /* of one that has been counted */
    if (!copy && goes_round(instance, packet)) return;
    uint8_t *seen = record(phv, phv->header[PLACE] - copy);
    const uint8_t *now = instruction(phv);
    seen[0] = (uint8_t)std->instance_type;
    seen[1] = (uint8_t)std->egress_rid;
    put(seen + 2, 2, std->enq_qdepth);
    put(seen + 4, 2, std->deq_qdepth);
    seen[6] = (uint8_t)std->egress_port;
    seen[7] = phv->passes;
    put(seen + 8, 4, std->enq_timestamp);
    put(seen + 12, 4, std->deq_timedelta);
    if (copy) return;
    if (now[0] == DROP_EGRESS) packet->std.egress_spec = instance->drop_port;
    if (now[0] == CLONE_EGRESS) {
        phv->passes = 9;
        packet->req.clone_session = now[1];
        packet->req.clone_list = 1;
    }
    if (now[0] == DRAW) {
        uint8_t *drawn = instance->registers[DRAWN].cells;
        phv->header[0] = drawn[std->egress_port & 15] = (uint8_t)sw_random(instance, 0, 255);
    }
    phv->header[PLACE]++;
}

static void deparse(struct sw_instance *instance, struct sw_packet *packet)
{
    const struct phv *phv = packet->phv;
    (void)instance;
    if (!phv->valid) return;
    if (phv->grows) {
        packet->data -= GROWTH;
        packet->length += GROWTH;
        memset(packet->data, 0xee, GROWTH);
    }
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

static const struct sw_action_spec actions[] = {{"send", 1, (const uint16_t[]){9}}};
static const struct sw_table_spec tables[] = {
    {.name = "ways",
     .kind = SW_EXACT,
     .n_fields = 1,
     .fields = (const struct sw_key_field[]){{SW_EXACT, 8}},
     .key_bytes = 1,
     .size = 256,
     .default_action = UINT32_MAX},
};
static const struct sw_counter_spec counters[] = {{.name = "arrived", .size = 16},
                                                  {.name = "sent_round", .size = 16}};
static const struct sw_register_spec registers[] = {{.name = "held", .size = 16, .width = 8},
                                                    {.name = "drawn", .size = 16, .width = 8}};

const struct sw_program sw_program = {
    .abi = SW_ABI,
    .name = "hops",
    .phv_size = sizeof(struct phv),
    .metadata_offset = offsetof(struct phv, passes),
    .headroom = HEADER + GROWTH,
    .n_tables = 1,
    .n_actions = 1,
    .n_counters = 2,
    .n_registers = 2,
    .n_lists = 3,
    .tables = tables,
    .actions = actions,
    .counters = counters,
    .registers = registers,
    .ingress = ingress,
    .parse = parse,
    .egress = egress,
    .deparse = deparse,
    .copy_list = copy_list,
    .pack_digest = pack_digest,
};
