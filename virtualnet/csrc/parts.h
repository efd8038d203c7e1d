/* The functions that each file of the engine offers the others. */
#ifndef VN_PARTS_H
#define VN_PARTS_H

#include "schedule.h"

/* ---- order.c ---- */
/* Until there is a reason to return to Python. */
static enum vn_reason vn_run_events(struct vn_net *);
static bool vn_order_init(struct vn_net *); /* false: the run has failed */

/* ---- link.c ---- */
/* Starts to send the packet now; the link is free. Its arrival follows. */
SW_ALWAYS void vn_transmit(struct vn_net *, struct vn_link *, uint32_t id);
SW_ALWAYS void vn_arrival(struct vn_net *, uint32_t rx, uint32_t id); /* the first in flight */

/* ---- hop.c: through a program in place; plain.c: through one that isn't ---- */
/* A packet that came in by `port`: through ingress, into a queue. */
SW_ALWAYS void vn_hop_ingress(struct vn_net *, struct vn_node *, uint16_t port, uint32_t id);
static void vn_plain_ingress(struct vn_net *, struct vn_node *, uint16_t port, uint32_t id);
/* VN_SEND: the packet is to be sent. VN_GONE: egress dropped it. VN_RECIRCULATED: it is back at ingress. */
enum vn_verdict { VN_SEND, VN_GONE, VN_RECIRCULATED };
static enum vn_verdict vn_hop_egress(struct vn_net *, struct vn_node *, uint16_t port, uint32_t id, uint32_t queue,
                                     uint32_t left);
static enum vn_verdict vn_plain_egress(struct vn_net *, struct vn_node *, uint16_t port, uint32_t id, uint32_t queue,
                                       uint32_t left, uint32_t passes);
static void vn_plain_init(struct vn_net *, struct vn_packet *); /* a packet that was never used */

/* ---- port.c: a switch's ports ---- */
static inline void vn_port_admit(struct vn_net *, uint32_t link, uint32_t id, uint32_t queue);
static void vn_port_serve(struct vn_net *, struct vn_link *, uint32_t number); /* if it is free and something may leave */

/* ---- pfc.c ---- */
/* Not static: a test calls it for bytes that never came. */
void vn_pfc_admitted(struct vn_net *, uint32_t in_link, uint32_t priority, uint32_t bytes);
static void vn_pfc_departed(struct vn_net *, uint32_t in_link, uint32_t priority, uint32_t bytes);
static void vn_pfc_arrived(struct vn_net *, uint32_t link, uint32_t id);
static void vn_pfc_effect(struct vn_net *, uint32_t link);
static void vn_pfc_expiry(struct vn_net *, uint32_t link, uint32_t priority);
static void vn_pfc_refresh(struct vn_net *, uint32_t link, uint32_t priority);
static void vn_pfc_limits(struct vn_net *, uint32_t link);

/* ---- nic.c ---- */
/* Fills in the flow's next packet; in receive.c. */
static void vn_stamp(const struct vn_net *, struct vn_packet *, const struct vn_flow *, bool last);
static void vn_nic_await(struct vn_net *, uint32_t flow); /* until its start */
static void vn_nic_start(struct vn_net *, uint32_t flow);
static void vn_nic_add(struct vn_net *, uint32_t flow);
static void vn_nic_stop(struct vn_net *, uint32_t flow);
static void vn_nic_rate(struct vn_net *, uint32_t flow, double rate_bps);
static void vn_nic_control(struct vn_net *, struct vn_node *, uint32_t id);
static void vn_nic_event(struct vn_net *, uint32_t link);
static void vn_nic_changed(struct vn_net *, struct vn_node *); /* a frame may start earlier or later than was chosen */

/* ---- receive.c ---- */
static void vn_host_receive(struct vn_net *, struct vn_node *, uint32_t id);
static void vn_window_event(struct vn_net *, uint32_t flow);
static void vn_send_cnp(struct vn_net *, uint32_t flow, uint8_t mark, double rate_bps);

/* ---- callback.c ---- */
static bool vn_python_init(struct vn_python *);
static void vn_python_end(struct vn_python *);
/* The last step of an event: calls the method, and applies the algorithm's decision. */
static void vn_call_back(struct vn_net *, const struct vn_callback *);

/* ---- sample.c, capture.c ---- */
static void vn_sample(struct vn_net *, uint32_t sampler);
static void vn_capture_frame(const struct vn_net *, FILE *, struct vn_packet *, uint64_t at);

#endif
