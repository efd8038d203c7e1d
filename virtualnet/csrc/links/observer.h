/* Owns nothing: the calls of observers (VN_OBSERVERS in register.h). An observer sees what
 * happens and changes nothing, so that no result depends on it. An engine without one has no
 * trace of these calls.
 *
 * Each call is of the node whose event it is: an observer that keeps what it learns by port,
 * packet or end of a flow needs no lock. A new one is a file with the functions vn_NAME_queued,
 * _starts, _gate, _pauses and _free, its state in context->observed and, of a packet, in the
 * line that vn_observed returns. */
#ifndef VN_OBSERVER_H
#define VN_OBSERVER_H

#include "frames/packets.h"

struct vn_link;

#define VN_OBSERVER(name)                                                                          \
    static void vn_##name##_queued(const struct vn_context *, const struct vn_link *,              \
                                   uint32_t class, uint32_t packet);                               \
    static void vn_##name##_starts(const struct vn_context *, const struct vn_link *,              \
                                   uint32_t packet);                                               \
    static void vn_##name##_gate(const struct vn_context *, const struct vn_link *,                \
                                 uint32_t class, bool closes);                                     \
    static void vn_##name##_pauses(const struct vn_context *, const struct vn_link *end,           \
                                   uint32_t class, bool pauses);                                   \
    static void vn_##name##_free(struct vn_context *);
VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER

/* The cache line of an observer in a packet. What it holds of a new packet is undefined. */
#define vn_observed(context, name, id)                                                             \
    ((void *)vn_packet_at(context,                                                                 \
                          (id) + (context)->pool.lines - VN_OBSERVED_LINES + VN_LINE_OF_##name))

/* A packet is about to be queued at a switch's port: neither counts it yet. */
VN_ALWAYS void vn_observe_queued(const struct vn_context *context, const struct vn_link *link,
                                 uint32_t class, uint32_t packet)
{
    (void)context, (void)link, (void)class, (void)packet;
#define VN_OBSERVER(name) vn_##name##_queued(context, link, class, packet);
    VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER
}

/* A frame is about to start on the link. */
VN_ALWAYS void vn_observe_starts(const struct vn_context *context, const struct vn_link *link,
                                 uint32_t packet)
{
    (void)context, (void)link, (void)packet;
#define VN_OBSERVER(name) vn_##name##_starts(context, link, packet);
    VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER
}

/* A class's gate is about to close or to open; it may be closed, or open, already. */
VN_ALWAYS void vn_observe_gate(const struct vn_context *context, const struct vn_link *link,
                               uint32_t class, bool closes)
{
    (void)context, (void)link, (void)class, (void)closes;
#define VN_OBSERVER(name) vn_##name##_gate(context, link, class, closes);
    VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER
}

/* A class's PAUSE falls due at the port where a link ends, or its RESUME does. */
VN_ALWAYS void vn_observe_pauses(const struct vn_context *context, const struct vn_link *end,
                                 uint32_t class, bool pauses)
{
    (void)context, (void)end, (void)class, (void)pauses;
#define VN_OBSERVER(name) vn_##name##_pauses(context, end, class, pauses);
    VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER
}

/* The network ends. */
VN_ALWAYS void vn_observers_free(struct vn_context *context)
{
    (void)context;
#define VN_OBSERVER(name) vn_##name##_free(context);
    VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER
}

#endif
