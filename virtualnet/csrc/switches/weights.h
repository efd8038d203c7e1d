/* Owns weighted classes of a port: deficit round robin among them, behind the classes that have no
 * weight, which are strict. */
#ifndef VN_WEIGHTS_H
#define VN_WEIGHTS_H

#include "switches/switch.h"

/* The class that is served next, of these, which have packets that may start. The port has
 * weights. */
static uint32_t vn_weights_choose(const struct vn_link *, uint32_t classes);
/* 0, or a negative errno; weight 0: strict. */
static int vn_weights_set(struct vn_context *, struct vn_link *, const uint16_t of[VN_CLASSES]);
/* A packet of the class has left. */
static void vn_weights_charge(const struct vn_link *, uint32_t class, uint32_t bytes);

#endif
