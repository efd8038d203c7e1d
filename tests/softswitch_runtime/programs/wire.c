/* A program written by hand that is a wire: what comes in on a port leaves by the port of table
 * `forward`, each byte as it was. */
#include "pipeline.h"

static void parse(struct sw_instance *instance, struct sw_packet *packet)
{
    (void)instance;
    packet->ingress_length = packet->length;
}

static void ingress(struct sw_instance *instance, struct sw_packet *packet)
{
    parse(instance, packet);
    const struct sw_entry *entry =
        sw_lookup_exact(instance->tables[0], (uint8_t[]){(uint8_t)packet->std.ingress_port}, 1);
    packet->std.egress_spec = entry != NULL ? entry->args[0] & 511 : instance->drop_port;
}

static void nothing(struct sw_instance *instance, struct sw_packet *packet)
{
    (void)instance, (void)packet;
}

static void copy_list(int32_t list, const struct sw_packet *from, struct sw_packet *to)
{
    (void)list, (void)from, (void)to;
}

static uint32_t pack_digest(int32_t list, const struct sw_packet *packet, uint8_t *out,
                            uint32_t capacity)
{
    return (void)list, (void)packet, (void)out, (void)capacity, 0;
}

static const struct sw_action_spec actions[] = {{"forward", 1, (const uint16_t[]){9}}};
static const struct sw_table_spec tables[] = {
    {"forward", SW_EXACT, 1, (const struct sw_key_field[]){{SW_EXACT, 8}}, 1, 16, 0, UINT32_MAX,
     NULL, 0, NULL},
};

const struct sw_program sw_program = {
    .abi = SW_ABI,
    .name = "wire",
    .phv_size = 8,
    .metadata_offset = 8,
    .n_tables = 1,
    .n_actions = 1,
    .tables = tables,
    .actions = actions,
    .ingress = ingress,
    .parse = parse,
    .egress = nothing,
    .deparse = nothing,
    .copy_list = copy_list,
    .pack_digest = pack_digest,
};
