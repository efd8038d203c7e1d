/* Stochastic fair queueing (McKenney, INFOCOM'90) with deficit round robin (Shreedhar, Varghese; ToN
 * 1996): flows share queues by a hash of their addresses, and queues that have packets take turns, a
 * longest Ethernet frame of credit each. Flows that share a queue share its part; the more queues
 * there are, the fewer do. */
#include "flows.h"

enum { QUEUES = 1024, CREDIT = 1514 };

struct stochastic {
    struct vn_fifo queues[QUEUES];
    int64_t credit[QUEUES];
    uint16_t turns[QUEUES]; /* a ring of queues that have packets */
    uint32_t first, n;
};

static void *stochastic_make(const struct vn_node *node)
{
    (void)node;
    return calloc(VN_CLASSES, sizeof(struct stochastic));
}

static struct stochastic *stochastic_of(const struct vn_link *link, uint32_t class)
{
    return (struct stochastic *)vn_queues_of(link) + class;
}

static void stochastic_wait(struct stochastic *of, uint32_t queue)
{
    of->turns[(of->first + of->n++) % QUEUES] = (uint16_t)queue;
}

static void stochastic_push(struct vn_context *context, struct vn_link *link, uint32_t class,
                            uint32_t id)
{
    struct stochastic *of = stochastic_of(link, class);
    uint32_t queue = (uint32_t)(flow_key(context, vn_packet_at(context, id)) % QUEUES);
    if (of->queues[queue].packets == 0) {
        of->credit[queue] = 0;
        stochastic_wait(of, queue);
    }
    vn_fifo_push(context, &of->queues[queue], id);
}

static uint32_t stochastic_pop(struct vn_context *context, struct vn_link *link, uint32_t class)
{
    struct stochastic *of = stochastic_of(link, class);
    for (;;) {
        uint32_t queue = of->turns[of->first];
        if (of->credit[queue] > 0) {
            uint32_t id = vn_fifo_pop(context, &of->queues[queue]);
            of->credit[queue] -= vn_packet_at(context, id)->bytes;
            if (of->queues[queue].packets == 0) { /* its turn is over */
                of->first = (of->first + 1) % QUEUES;
                of->n--;
            }
            return id;
        }
        of->credit[queue] += CREDIT;
        of->first = (of->first + 1) % QUEUES;
        of->n--;
        stochastic_wait(of, queue);
    }
}

static void stochastic_each(const struct vn_context *context, const struct vn_link *link,
                            uint32_t class,
                            void (*see)(void *to, const struct vn_packet *, uint32_t class),
                            void *to)
{
    const struct stochastic *of = stochastic_of(link, class);
    for (uint32_t i = 0; i < of->n; i++)
        vn_fifo_each(context, &of->queues[of->turns[(of->first + i) % QUEUES]], class, see, to);
}

static const struct vn_scheduler vn_scheduler_stochastic = {
    .name = "stochastic",
    .make = stochastic_make,
    .push = stochastic_push,
    .pop = stochastic_pop,
    .for_each = stochastic_each,
};
