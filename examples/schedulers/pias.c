/* Multi-level feedback by what a flow has sent, as PIAS has it (Bai et al., NSDI'15): a flow's first
 * packets go first, and beyond each threshold it is demoted by a level; a level is a FIFO. Nobody
 * knows sizes in advance. PIAS counts and marks at senders, and has a queue of the switch for each
 * level; here the port itself counts, within one class, so that only what passes it is counted.
 *
 * It remembers the latest flow of each place of a table; one that is gone starts anew. */
#include "flows.h"

enum { LEVELS = 4, PLACES = 1 << 12 };
static const uint64_t PIAS_BYTES[LEVELS - 1] = {100000, 1000000, 10000000}; /* the thresholds */

struct pias {
    struct vn_fifo levels[LEVELS];
    struct {
        uint64_t key, bytes;
    } flows[PLACES];
};

static void *pias_make(const struct vn_node *node)
{
    (void)node;
    return calloc(VN_CLASSES, sizeof(struct pias));
}

static struct pias *pias_of(const struct vn_link *link, uint32_t class)
{
    return (struct pias *)vn_queues_of(link) + class;
}

static void pias_push(struct vn_context *context, struct vn_link *link, uint32_t class, uint32_t id)
{
    struct pias *pias = pias_of(link, class);
    struct vn_packet *packet = vn_packet_at(context, id);
    uint64_t key = flow_key(context, packet);
    uint32_t place = key % PLACES, level = 0;
    if (pias->flows[place].key != key) {
        pias->flows[place].key = key;
        pias->flows[place].bytes = 0;
    }
    while (level < LEVELS - 1 && pias->flows[place].bytes >= PIAS_BYTES[level]) level++;
    pias->flows[place].bytes += packet->bytes;
    vn_fifo_push(context, &pias->levels[level], id);
}

static uint32_t pias_pop(struct vn_context *context, struct vn_link *link, uint32_t class)
{
    struct vn_fifo *level = pias_of(link, class)->levels;
    while (level->packets == 0) level++;
    return vn_fifo_pop(context, level);
}

static void pias_each(const struct vn_context *context, const struct vn_link *link, uint32_t class,
                      void (*see)(void *to, const struct vn_packet *, uint32_t class), void *to)
{
    const struct pias *pias = pias_of(link, class);
    for (uint32_t level = 0; level < LEVELS; level++)
        vn_fifo_each(context, &pias->levels[level], class, see, to);
}

static const struct vn_scheduler vn_scheduler_pias = {
    .name = "pias",
    .make = pias_make,
    .push = pias_push,
    .pop = pias_pop,
    .for_each = pias_each,
};
