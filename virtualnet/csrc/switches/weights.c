/* Deficit round robin (Shreedhar, Varghese; ToN 1996) among classes. A class is served while its
 * credit is above 0, so that its last packet may overdraw it, and the next turn pays: a packet's
 * length needn't be known before it leaves its queue. In the long run the classes that always have
 * packets get bytes in proportion to their weights. A class whose queue is empty in its turn loses
 * its credit; one that flow control stops keeps it. */
#include "switches/weights.h"

#include <errno.h>
#include <stdlib.h>

enum { TURN_BYTES = 256 }; /* that a turn gives for each unit of weight */

struct vn_weights {
    uint16_t weight[VN_CLASSES]; /* 0: strict */
    int64_t credit[VN_CLASSES];
    uint8_t strict; /* bit mask of classes */
    uint8_t turn; /* the class */
};

uint32_t vn_weights_choose(const struct vn_link *link, uint32_t classes)
{
    struct vn_weights *weights = vn_port_more(link)->weights;
    if ((classes & weights->strict) != 0)
        return 31u - (uint32_t)__builtin_clz(classes & weights->strict);
    VN_ASSERT(classes != 0);
    while (!(classes >> weights->turn & 1) || weights->credit[weights->turn] <= 0) {
        if (!(link->waiting >> weights->turn & 1) && weights->credit[weights->turn] > 0)
            weights->credit[weights->turn] = 0;
        weights->turn = (weights->turn + 1) % VN_CLASSES;
        if (classes >> weights->turn & 1)
            weights->credit[weights->turn] += weights->weight[weights->turn] * TURN_BYTES;
    }
    return weights->turn;
}

void vn_weights_charge(const struct vn_link *link, uint32_t class, uint32_t bytes)
{
    struct vn_weights *weights = vn_port_more(link)->weights;
    if (!(weights->strict >> class & 1)) weights->credit[class] -= bytes;
}

int vn_weights_set(struct vn_context *context, struct vn_link *link, const uint16_t of[VN_CLASSES])
{
    struct vn_port_more *more = vn_port_more(link);
    if (more->output != NULL)
        return vn_refuse(context, -EINVAL, "output buffers have strict priorities");
    if (vn_port_of(link)->trims)
        return vn_refuse(context, -EINVAL, "a port that trims packets has no weights");
    if (more->weights == NULL) more->weights = calloc(1, sizeof *more->weights);
    if (more->weights == NULL) return vn_refuse(context, -ENOMEM, "out of memory for weights");
    *more->weights = (struct vn_weights){.turn = VN_CLASSES - 1};
    memcpy(more->weights->weight, of, sizeof more->weights->weight);
    for (uint32_t class = 0; class < VN_CLASSES; class++)
        more->weights->strict |= (uint8_t)((of[class] == 0) << class);
    vn_port_of(link)->weighted = true;
    return 0;
}
