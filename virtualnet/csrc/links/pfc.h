/* PFC's account of the ingress occupancy, in line; what it does beyond XOFF and below XON is in pfc.c. */
#ifndef VN_PFC_H
#define VN_PFC_H

#include "links/link.h"

static void vn_pfc_above_xoff(struct vn_context *, struct vn_link *in, uint32_t class);
static void vn_pfc_below_xon(struct vn_context *, struct vn_link *in, uint32_t class);
static void vn_pfc_expiry(struct vn_context *, uint32_t id);

VN_ALWAYS void vn_pfc_hold(struct vn_context *context, struct vn_link *link, uint32_t class, uint32_t bytes)
{
    struct vn_class *in = &link->classes[class];
    in->held_bytes += bytes;
    if (in->held_bytes > in->held_max) in->held_max = in->held_bytes;
    if (in->held_bytes > in->xoff) vn_pfc_above_xoff(context, link, class);
}

VN_ALWAYS void vn_pfc_release(struct vn_context *context, struct vn_link *link, uint32_t class, uint32_t bytes)
{
    struct vn_class *in = &link->classes[class];
    VN_ASSERT(in->held_bytes >= bytes);
    in->held_bytes -= bytes;
    /* Occupancy 0 resumes, too: it can't be below an XON of 0. */
    if (in->xoff_since != VN_NEVER && (in->held_bytes < in->xon || in->held_bytes == 0)) vn_pfc_below_xon(context, link, class);
}

#endif
