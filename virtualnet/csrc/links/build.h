/* Nodes, and links between them: how a network is built of them, before its first event. */
#ifndef VN_BUILD_H
#define VN_BUILD_H

#include "links/link.h"

/* Adds a node of this kind, whose `own` is zeros. It may move until the network runs. NULL: out of
 * memory. */
static struct vn_node *vn_node_new(struct vn_context *, const struct vn_node_kind *);
/* All nodes and links are there: makes the channels, starts the nodes. False: the run has
 * failed. */
static bool vn_links_init(struct vn_context *);
static void vn_links_free(struct vn_context *);
/* Frames may be so long from now on: limits grow with the longest. 0, or a negative errno. */
static int vn_allow_frame(struct vn_context *, uint32_t bytes);

#endif
