/* Owns what PFC keeps of a port. Its account of the ingress occupancy is in line; what it does
 * beyond XOFF and below XON is in pfc.c. */
#ifndef VN_PFC_H
#define VN_PFC_H

#include "links/link.h"

/* Of a class: link.h's `own`. */
struct vn_pfc_class {
    union {
        struct {
            uint32_t xoff, xon;
        };
        struct { /* of a shared buffer, which has thresholds of its own */
            uint32_t inside; /* up to this ingress occupancy nothing but that changes */
            uint32_t share; /* number of vn_context.shares */
        };
    };
    uint64_t passed; /* when XOFF was, plus 1; 0: a RESUME was queued since */
    uint64_t paused_until; /* by the latest PAUSE; when it was over, by its time or a RESUME */
};
_Static_assert(sizeof(struct vn_pfc_class) <= VN_CLASS_STATE, "a class has room for it");

/* Of a port that sends PAUSE: link.h's `controlled`. */
struct vn_pfc {
    uint64_t refresh; /* from a PAUSE to the next ... */
    uint64_t refresh_set, rate_set; /* ... at the rate at which it was set: quanta are bit times */
    uint64_t pause[VN_CLASSES], resume, paused_ps; /* sent; see vn_link_stats */
    uint64_t again_at[VN_CLASSES]; /* when the next PAUSE is due; VN_NEVER: none, since a RESUME */
    uint16_t quanta;
    uint8_t mac[6];
    uint8_t lossless; /* bit mask of the classes that it protects */
    uint8_t ignored; /* bit mask of the classes whose PAUSE it ignores; it keeps account of them */
};

static inline struct vn_pfc_class *vn_pfc_class(struct vn_class *class)
{
    return (struct vn_pfc_class *)(void *)class->state;
}

/* NULL: it sends none. */
static inline struct vn_pfc *vn_pfc_of(const struct vn_link *port)
{
    return port->flow_control == VN_FLOW_CONTROL_pfc ? port->controlled : NULL;
}

/* When XOFF was passed at a port; VN_NEVER: a RESUME was queued since. */
static inline uint64_t vn_pfc_stopped_since(const struct vn_link *end, uint32_t class)
{
    return vn_pfc_of(end) != NULL
               ? vn_pfc_class((struct vn_class *)&end->classes[class])->passed - 1
               : VN_NEVER;
}

static inline uint64_t vn_pfc_pauses(const struct vn_pfc *pfc)
{
    uint64_t sum = 0;
    for (uint32_t class = 0; class < VN_CLASSES; class ++) sum += pfc->pause[class];
    return sum;
}

/* Sends PAUSE until vn_pfc_go sends RESUME; neither is sent twice. */
static void vn_pfc_stop(struct vn_context *, struct vn_link *end, uint32_t class);
static void vn_pfc_go(struct vn_context *, struct vn_link *end, uint32_t class);
static void vn_pfc_above_xoff(struct vn_context *, struct vn_link *end, uint32_t class);
static void vn_pfc_below_xon(struct vn_context *, struct vn_link *end, uint32_t class);
/* A frame comes in where the link ends, now. */
static void vn_pfc_receive(struct vn_context *, uint32_t link, const uint8_t mac[6], uint32_t class,
                           uint16_t quanta);
static void vn_pfc_expiry(struct vn_context *, uint32_t id);
/* adds its own of a port */
static void vn_pfc_stats(const struct vn_context *, const struct vn_link *, struct vn_link_stats *);

VN_ALWAYS void vn_pfc_hold(struct vn_context *context, struct vn_link *end, uint32_t class,
                           uint32_t bytes)
{
    struct vn_class *in = &end->classes[class];
    VN_ASSERT(bytes != 0 && in->held_bytes <= in->held_max && in->lossless == VN_FLOW_CONTROL_pfc);
    in->held_bytes += bytes;
    if (in->held_bytes > in->held_max) in->held_max = in->held_bytes;
    if (in->held_bytes > vn_pfc_class(in)->xoff) vn_pfc_above_xoff(context, end, class);
}

VN_ALWAYS void vn_pfc_release(struct vn_context *context, struct vn_link *end, uint32_t class,
                              uint32_t bytes)
{
    struct vn_class *in = &end->classes[class];
    const struct vn_pfc_class *pfc = vn_pfc_class(in);
    VN_ASSERT(in->held_bytes >= bytes);
    in->held_bytes -= bytes;
    /* Occupancy 0 resumes, too: it can't be below an XON of 0. */
    if (pfc->passed != 0 && (in->held_bytes < pfc->xon || in->held_bytes == 0))
        vn_pfc_below_xon(context, end, class);
}

#endif
