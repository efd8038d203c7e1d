/* Owns nothing: what RDMA's ends tell observers, beside what links do
 * (virtualnet/csrc/links/observer.h). Each function is that of one end of the flow, but for
 * vn_NAME_begins, which is also called where flows are added. */
#ifndef VN_FLOW_OBSERVER_H
#define VN_FLOW_OBSERVER_H

#include "links/observer.h"
#include "pacing.h"

#define VN_OBSERVER(name)                                                                          \
    static void vn_##name##_begins(const struct vn_context *, uint32_t flow);                      \
    static void vn_##name##_sends(const struct vn_context *, const struct vn_link *,               \
                                  const struct pacing_flow *, uint32_t packet);                    \
    static void vn_##name##_changes(const struct vn_context *, const struct vn_link *,             \
                                    const struct pacing_flow *);                                   \
    static void vn_##name##_closes(const struct vn_context *, uint32_t flow);                      \
    static void vn_##name##_lost(const struct vn_context *, uint32_t flow);                        \
    static void vn_##name##_completes(const struct vn_context *, uint32_t flow, uint32_t packet);  \
    static void vn_##name##_answers(const struct vn_context *, const struct vn_link *,             \
                                    uint32_t packet, uint32_t cause);                              \
    static void vn_##name##_answered(const struct vn_context *, uint32_t flow, uint32_t packet);   \
    static void vn_##name##_opens(const struct vn_context *, uint32_t flow);
VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER

/* The sender has the flow from now on. */
VN_ALWAYS void vn_observe_begins(const struct vn_context *context, uint32_t flow)
{
    (void)context, (void)flow;
#define VN_OBSERVER(name) vn_##name##_begins(context, flow);
    VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER
}

/* A flow's next packet is about to start. */
VN_ALWAYS void vn_observe_sends(const struct vn_context *context, const struct vn_link *link,
                                const struct pacing_flow *flow, uint32_t packet)
{
    (void)context, (void)link, (void)flow, (void)packet;
#define VN_OBSERVER(name) vn_##name##_sends(context, link, flow, packet);
    VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER
}

/* A flow's rate, whether its window is open, or the port by which it leaves is about to change. */
VN_ALWAYS void vn_observe_changes(const struct vn_context *context, const struct vn_link *link,
                                  const struct pacing_flow *flow)
{
    (void)context, (void)link, (void)flow;
#define VN_OBSERVER(name) vn_##name##_changes(context, link, flow);
    VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER
}

/* A flow's window is full. */
VN_ALWAYS void vn_observe_closes(const struct vn_context *context, uint32_t flow)
{
    (void)context, (void)flow;
#define VN_OBSERVER(name) vn_##name##_closes(context, flow);
    VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER
}

/* A flow's window isn't full any more. */
VN_ALWAYS void vn_observe_opens(const struct vn_context *context, uint32_t flow)
{
    (void)context, (void)flow;
#define VN_OBSERVER(name) vn_##name##_opens(context, flow);
    VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER
}

/* The flow's sender has got an ACK, which may open its window. */
VN_ALWAYS void vn_observe_answered(const struct vn_context *context, uint32_t flow, uint32_t packet)
{
    (void)context, (void)flow, (void)packet;
#define VN_OBSERVER(name) vn_##name##_answered(context, flow, packet);
    VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER
}

/* The sender learns that packets of the flow are lost, or takes them for lost. */
VN_ALWAYS void vn_observe_lost(const struct vn_context *context, uint32_t flow)
{
    (void)context, (void)flow;
#define VN_OBSERVER(name) vn_##name##_lost(context, flow);
    VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER
}

/* The packet is the last one that the flow's receiver waited for. */
VN_ALWAYS void vn_observe_completes(const struct vn_context *context, uint32_t flow,
                                    uint32_t packet)
{
    (void)context, (void)flow, (void)packet;
#define VN_OBSERVER(name) vn_##name##_completes(context, flow, packet);
    VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER
}

/* An ACK or CNP is made, to leave by the link: an ACK by the arrival of packet `cause`; VN_NONE: a
 * CNP. */
VN_ALWAYS void vn_observe_answers(const struct vn_context *context, const struct vn_link *link,
                                  uint32_t packet, uint32_t cause)
{
    (void)context, (void)link, (void)packet, (void)cause;
#define VN_OBSERVER(name) vn_##name##_answers(context, link, packet, cause);
    VN_OBSERVERS(VN_OBSERVER)
#undef VN_OBSERVER
}

#endif
