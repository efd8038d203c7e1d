/* Owns PFC watchdogs of ports: they end what a PAUSE storm stops, and start it again behind the
 * storm. */
#ifndef VN_WATCHDOG_H
#define VN_WATCHDOG_H

#include "switches/switch.h"

struct vn_watchdog;
static int vn_watchdog_set(struct vn_context *, struct vn_link *,
                           const struct vn_watchdog_config *);
static void vn_watchdog_poll(struct vn_context *, uint32_t link); /* VN_EV_WATCHDOG */
/* Whether a packet that is to leave by the port is dropped; its class is in a storm. */
static bool vn_watchdog_drops(struct vn_context *, struct vn_link *, uint32_t packet);
static void vn_watchdog_count(const struct vn_link *, struct vn_watchdog_stats *);

#endif
