/* Owns the logs of PFC frames, one of each context. It may touch the clock alone. */
#ifndef VN_PFC_LOG_H
#define VN_PFC_LOG_H

#include "context.h"
#include "virtualnet.h"

struct vn_pfc_log {
    struct vn_pfc_event *events;
    uint64_t n, capacity;
};

/* The log exists. `port`: what sends the frame, or is stopped and goes on. */
static void vn_pfc_log_add(struct vn_context *, const struct vn_link *port, uint32_t class,
                           enum vn_pfc_kind);
static void vn_pfc_log_free(struct vn_context *);

static inline void vn_pfc_note(struct vn_context *context, const struct vn_link *port,
                               uint32_t class, enum vn_pfc_kind kind)
{
    if (__builtin_expect(context->pfc_log != NULL, 0)) vn_pfc_log_add(context, port, class, kind);
}

#endif
