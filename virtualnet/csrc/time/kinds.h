/* Kinds of events. What one does, and at which node, its part says in register.h. */
#ifndef VN_KINDS_H
#define VN_KINDS_H

#include "base.h"
#include "register.h"

struct vn_context;

enum vn_kind {
#define VN_KIND(name, happen, node_of, replaced) VN_EV_##name,
    VN_EVENT_KINDS(VN_KIND)
#undef VN_KIND
};

struct vn_event_kind {
    void (*happen)(struct vn_context *, uint32_t id);
    /* whose state it changes; VN_NONE: all nodes' */
    uint32_t (*node_of)(const struct vn_context *, uint32_t id);
    /* by another event; NULL: never */
    bool (*replaced)(const struct vn_context *, uint32_t id, uint64_t time);
};

#endif
