/* Owns the time that a switch takes itself, by input port: what is in its pipeline, and what is to
 * leave, but hasn't come in far enough. */
#ifndef VN_PIPELINE_H
#define VN_PIPELINE_H

#include "switches/switch.h"

static void vn_pipeline_take(struct vn_context *, struct vn_channel *, uint32_t packet);
static uint64_t vn_pipeline_latency(const struct vn_node *);
static void vn_pipeline_event(struct vn_context *, uint32_t in_link); /* VN_EV_PIPELINE */
/* Whether a packet that is to leave by the port has to wait for its last bits; then VN_EV_HELD
 * comes. */
static bool vn_pipeline_holds(struct vn_context *, struct vn_link *, uint32_t class,
                              uint32_t packet);
static void vn_pipeline_held(struct vn_context *, uint32_t in_link);

#endif
