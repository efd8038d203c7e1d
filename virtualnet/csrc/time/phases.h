/* Phases of a round, in which nodes have their turns: no channel joins two nodes of one phase, so
 * that these may have them at once. And which context a node belongs to. A node stands for its
 * group. */
#ifndef VN_PHASES_H
#define VN_PHASES_H

#include "context.h"

/* Makes the order of turns. False: the run has failed. */
static bool vn_phases_init(struct vn_context *);
/* Fills in, by node, one of `n` owners. False: no memory. */
static bool vn_partition(const struct vn_context *, uint32_t n, uint32_t *owners);

#endif
