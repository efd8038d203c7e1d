/* Where kinds are registered: a new kind of event, endpoint or flow control is one line here, and its
 * own file; a new scheduler is one of switches/schedulers.c. */
#ifndef VN_REGISTER_H
#define VN_REGISTER_H

/* Kinds of events: name; what happens; the node whose state it changes; whether an event of it
 * was replaced since (0: never).
 *
 * Events at the same time happen in this order: a decision comes before events that could change
 * it, but for the fabric's, which comes when all that arrives has. A frame starts before
 * feedback arrives; a window doesn't include a packet that arrives exactly at its end. The order
 * is part of the results, and of every digest. */
#define VN_EVENT_KINDS(X)                                                                          \
    X(GENERATE, vn_generate, vn_generate_node,                                                     \
      0) /* id: switch. Its packet generator makes a batch */                                      \
    X(START, vn_endpoint_start, vn_endpoint_start_node,                                            \
      0) /* id: endpoint kind and number. It begins to send */                                     \
    X(HOST, vn_host_event, vn_link_near,                                                           \
      vn_host_replaced) /* id: link. The host performs its next action */                          \
    X(PORT, vn_link_event, vn_link_near, 0) /* id: link. Its line is free, and packets wait */     \
    X(WINDOW, vn_endpoint_window, vn_endpoint_window_node,                                         \
      0) /* id: endpoint kind and number. What it counts is complete */                            \
    X(TIMER, vn_endpoint_timer, vn_endpoint_timer_node, 0) /* id: endpoint kind and number */      \
    X(ARRIVAL, vn_arrival_event, vn_arrival_node,                                                  \
      0) /* id: channel. Its first frame has arrived */                                            \
    X(CONTROL, vn_flow_control_effect, vn_link_far,                                                \
      0) /* id: link. A flow-control frame that arrived over it takes effect */                    \
    X(EXPIRY, vn_pfc_expiry, vn_class_near, 0) /* id: link and class. The PAUSE expires */         \
    X(REFRESH, vn_flow_control_refresh, vn_class_far,                                              \
      0) /* id: link and class. What it says to the sender is said again */                        \
    X(LATE, vn_fault_late, vn_link_far, 0) /* id: link. A late notification is delivered */        \
    X(READY, vn_port_ready, vn_link_near,                                                          \
      0) /* id: link. The fabric, or a class's rate, lets the next packet go */                    \
    X(CROSSED, vn_fabric_crossed, vn_link_near, 0) /* id: link. A packet has crossed the fabric */ \
    X(RETURN, vn_return_event, vn_no_node, 0) /* id: vn_return_at's number */                      \
    X(SAMPLE, vn_sample, vn_no_node, 0) /* id: sampler */                                          \
    X(WATCHDOG, vn_watchdog_poll, vn_link_near,                                                    \
      0) /* id: link. Is a class of the port in a PAUSE storm? */                                  \
    X(PIPELINE, vn_pipeline_event, vn_link_far,                                                    \
      0) /* id: link. A frame that came over it is through the switch's pipeline */                \
    X(HELD, vn_pipeline_held, vn_link_far,                                                         \
      0) /* id: link. A frame comes over it that may leave now */

/* Kinds of endpoints: NAME stands for `const struct vn_endpoint_kind vn_endpoint_NAME`
 * (hosts/endpoint.h). Those of other folders come first: whoever builds the engine with them says
 * which, as VN_MORE_... (virtualnet/native.py). */
#ifndef VN_MORE_ENDPOINTS
#define VN_MORE_ENDPOINTS(X)
#endif
#define VN_ENDPOINTS(X)                                                                            \
    VN_MORE_ENDPOINTS(X)                                                                           \
    X(source)

/* Flow controls: NAME stands for `const struct vn_flow_control vn_flow_control_NAME`
 * (links/flow_control.h). */
#ifndef VN_MORE_FLOW_CONTROLS
#define VN_MORE_FLOW_CONTROLS(X)
#endif
#define VN_FLOW_CONTROLS(X)                                                                        \
    X(pfc)                                                                                         \
    X(credits)                                                                                     \
    X(shared_buffer) /* of a class alone: its link has pfc */                                      \
    VN_MORE_FLOW_CONTROLS(X)

/* Observers: NAME stands for functions vn_NAME_... (links/observer.h). An engine without one has
 * none of their calls. */
#ifndef VN_MORE_OBSERVERS
#define VN_MORE_OBSERVERS(X)
#endif
#define VN_OBSERVERS(X) VN_MORE_OBSERVERS(X)

#endif
