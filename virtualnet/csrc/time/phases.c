/* Phases are the colours of a graph, which is nearly bipartite where networks are trees of
 * switches: then at a node's turn its neighbours are a link's delay ahead of it, and it advances
 * by two delays.
 *
 * Owners share each phase, as they wait for each other at its end, by what their links can
 * carry, in an order in which neighbours are near: by tiers from hosts up, each node at the mean
 * of its neighbours below. So a rack and a pod are of one owner, as far as shares allow it. */
#include "time/phases.h"

#include <stdlib.h>

#include "time/parts.h"
#include "time/shared.h"

/* The node that the turn of another waits for by channel i; VN_NONE: it has no more than i. */
static uint32_t neighbour(const struct vn_context *context, uint32_t number, uint32_t i)
{
    const struct vn_group *group = vn_group_of(context, number);
    const struct vn_node *node = &context->nodes[number];
    if (group != NULL) return i < group->n_in ? context->channels[group->in[i]].from : VN_NONE;
    return i < node->n_in ? node->in[i].from : VN_NONE;
}

enum { NO_PHASE = UINT8_MAX, MOST_PHASES = NO_PHASE };

/* The first of all phases that no neighbour has; one of `phase` itself, if none has it.
 * MOST_PHASES: there are too few. */
static uint32_t free_phase(const struct vn_context *context, const uint8_t *phase, uint32_t node)
{
    bool taken[MOST_PHASES + 1] = {false};
    uint32_t beside, first = 0;
    for (uint32_t i = 0; (beside = neighbour(context, node, i)) != VN_NONE; i++) {
        if (beside != node) taken[phase[beside]] = true;
    }
    if (!taken[phase[node]]) return phase[node];
    while (first < MOST_PHASES && taken[first]) first++;
    return first;
}

/* Two phases in turn, from each node that has none yet; `queue` has room for all nodes. */
static void alternate(const struct vn_context *context, uint32_t *queue, uint8_t *phase)
{
    for (uint32_t root = 0; root < context->n_nodes; root++) {
        uint32_t head = 0, tail = 0;
        if (phase[root] != NO_PHASE || vn_first_of(context, root) != root) continue;
        phase[root] = 0;
        queue[tail++] = root;
        while (head < tail) {
            uint32_t node = queue[head++], beside;
            for (uint32_t i = 0; (beside = neighbour(context, node, i)) != VN_NONE; i++) {
                if (phase[beside] != NO_PHASE) continue;
                phase[beside] = phase[node] ^ 1;
                queue[tail++] = beside;
            }
        }
    }
}

bool vn_phases_init(struct vn_context *context)
{
    struct vn_order *order = &context->order;
    uint32_t n = context->n_nodes;
    order->turns = calloc(n + 1, sizeof *order->turns);
    order->phase = malloc(n + 1);
    if (order->turns == NULL || order->phase == NULL) {
        vn_fail(context, "out of memory for nodes");
        return false;
    }
    memset(order->phase, NO_PHASE, n + 1);
    alternate(context, order->turns, order->phase);
    for (uint32_t i = 0; i < n; i++) {
        if (order->phase[i] == NO_PHASE) continue;
        uint32_t phase = free_phase(context, order->phase, i);
        if (phase == MOST_PHASES)
            vn_fail(context, "node %u has links to all others, and these to all others", i);
        order->phase[i] = (uint8_t)phase;
        if (phase >= order->n_phases) order->n_phases = phase + 1;
    }
    for (uint32_t phase = 0; phase < order->n_phases; phase++) {
        for (uint32_t i = 0; i < n; i++) {
            if (order->phase[i] == phase && vn_here(context, i)) order->turns[order->n_turns++] = i;
        }
    }
    return !context->failed;
}

/* ---- owners ---- */

enum { NO_TIER = UINT8_MAX };

/* What stands for a node's group, or itself. */
struct place {
    double at, load, sum; /* sum: over neighbours of the tier below, of which there are `n` */
    uint32_t n, node;
    uint8_t phase, tier; /* tier: links to the next host */
};

static bool is_host(const struct vn_node *node) { return !node->kind->holds && node->n_in <= 1; }

/* What a node's links carry, each way, in frames of no matter which length; a host has less to do
 * for one than a switch. */
static double load_of(const struct vn_node *node)
{
    double load = 0;
    for (const struct vn_channel *in = node->in; in < node->in + node->n_in; in++) load += in->rate;
    return is_host(node) ? 0.6 * load : load;
}

/* Places of the next tier: at the mean of what is below. True: there are any. */
static bool place_next(const struct vn_context *context, struct place *places, uint8_t tier)
{
    bool any = false;
    for (uint32_t i = 0; i < context->n_links; i++) {
        const struct vn_channel *channel = &context->channels[i];
        const struct place *below = &places[channel->from];
        struct place *place = &places[vn_first_of(context, channel->to)];
        if (below->tier != tier || place->tier != NO_TIER) continue;
        place->sum += below->at;
        place->n++;
    }
    for (uint32_t i = 0; i < context->n_nodes; i++) {
        struct place *place = &places[i];
        if (place->tier != NO_TIER || place->n == 0) continue;
        place->at = place->sum / place->n;
        place->tier = (uint8_t)(tier + 1);
        any = true;
    }
    return any;
}

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->phase != y->phase) return x->phase < y->phase ? -1 : 1;
    if (x->tier != y->tier) return x->tier < y->tier ? -1 : 1;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static void place_all(const struct vn_context *context, struct place *places)
{
    uint32_t hosts = 0;
    for (uint32_t i = 0; i < context->n_nodes; i++) {
        struct place *place = &places[i];
        *place = (struct place){.node = i, .phase = context->order.phase[i], .tier = NO_TIER};
    }
    for (uint32_t i = 0; i < context->n_nodes; i++) {
        struct place *place = &places[vn_first_of(context, i)];
        if (vn_here(context, i)) place->load += load_of(&context->nodes[i]);
        if (!is_host(&context->nodes[i])) continue;
        place->sum += hosts++;
        place->n++;
        place->at = place->sum / place->n;
        place->tier = 0;
    }
    for (uint8_t tier = 0; tier < NO_TIER - 1 && place_next(context, places, tier);) tier++;
    qsort(places, context->n_nodes, sizeof *places, by_place);
}

bool vn_partition(const struct vn_context *context, uint32_t n, uint32_t *owners)
{
    struct place *places = calloc(context->n_nodes + 1, sizeof *places);
    if (places == NULL) return false;
    place_all(context, places);
    for (uint32_t from = 0, to; from < context->n_nodes; from = to) {
        double total = 0, done = 0;
        for (to = from; to < context->n_nodes && places[to].tier == places[from].tier &&
                        places[to].phase == places[from].phase;
             to++) {
            total += places[to].load;
        }
        for (uint32_t i = from; i < to; i++) {
            uint32_t share = total > 0 ? (uint32_t)((done + places[i].load / 2) * n / total) : 0;
            owners[places[i].node] = share < n ? share : n - 1;
            done += places[i].load;
        }
    }
    free(places);
    return true;
}
