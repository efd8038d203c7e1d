/* What the rest of the engine calls of faults.c. */
#ifndef VN_FAULTS_H
#define VN_FAULTS_H

#include "links/link.h"

/* Takes the frames of a channel with faults. */
static void vn_fault_arrival(struct vn_context *, struct vn_channel *, uint32_t packet);
static void vn_fault_late(struct vn_context *, uint32_t link);
/* From now on what comes in by the port may exceed its headroom. */
static void vn_fault_overruns(struct vn_link *port);
/* Whether there is no room for the packet, where a lost or late PAUSE let more come in than
 * headroom is for. */
static bool vn_fault_overrun(struct vn_context *, struct vn_link *end, uint32_t class,
                             uint32_t packet);

#endif
