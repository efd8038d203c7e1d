/* The functions of each file that the engine's other files call. */
#ifndef VN_PARTS_H
#define VN_PARTS_H

#include "schedule.h"

/* ---- order.c ---- */
/* Processes events until there is a reason to return to Python. */
static enum vn_reason vn_run_events(struct vn_net *);
static bool vn_order_init(struct vn_net *); /* false: the run has failed */

/* ---- link.c ---- */
/* Starts to send the packet now, and schedules its arrival. The link must be free. */
SW_ALWAYS void vn_transmit(struct vn_net *, struct vn_link *, uint32_t id);
SW_ALWAYS void vn_arrival(struct vn_net *, uint32_t rx, uint32_t id); /* of the port's first frame in flight */
/* Takes a flow-control frame in: it takes effect after the response time and `late`, in the order of arrival. */
static void vn_flow_control_arrived(struct vn_net *, uint32_t link, uint32_t id, uint64_t late);
static void vn_flow_control_effect(struct vn_net *, uint32_t link);
/* Gives a frame that isn't flow control to the host or the switch's program. */
SW_ALWAYS void vn_deliver(struct vn_net *, const struct vn_rx_port *, uint32_t link, uint32_t id);

/* ---- a packet's hop: hop.c through an in-place program, phv.c through a program with a PHV ---- */
/* Runs ingress for a packet that came in by `port`, and queues it. */
SW_ALWAYS void vn_hop_ingress(struct vn_net *, struct vn_node *, uint16_t port, uint32_t id);
static void vn_phv_ingress(struct vn_net *, struct vn_node *, uint16_t port, uint32_t id);
/* Egress. VN_SEND: the caller sends the packet. VN_DROPPED: it was freed. VN_RECIRCULATED: it is back at ingress. `deq_qdepth`: packets
 * left in the queue; behind a fabric those ahead, see fabric.c. */
enum vn_verdict { VN_SEND, VN_DROPPED, VN_RECIRCULATED };
static enum vn_verdict vn_hop_egress(struct vn_net *, struct vn_node *, uint16_t port, uint32_t id, uint32_t queue,
                                     uint32_t deq_qdepth);
static enum vn_verdict vn_phv_egress(struct vn_net *, struct vn_node *, uint16_t port, uint32_t id, uint32_t queue,
                                     uint32_t deq_qdepth, uint32_t passes);
static void vn_phv_init(struct vn_net *, struct vn_packet *); /* a packet's first use */

/* ---- generator.c: switches' packet generators ---- */
static void vn_generators_start(struct vn_net *);
static void vn_generate(struct vn_net *, uint32_t node); /* a batch */

/* ---- cpu.c: a switch's CPU port ---- */
/* Sends a frame to the controller. The packet holds its first bytes, at `data`. */
static void vn_packet_in(const struct vn_net *, const struct vn_node *, const struct vn_packet *, const uint8_t *data,
                         uint32_t length);
static void vn_digest(const struct vn_net *, const struct vn_node *, const struct sw_packet *); /* that the packet asks for */

/* ---- port.c: a switch's ports ---- */
static inline void vn_port_admit(struct vn_net *, uint32_t link, uint32_t id, uint32_t queue);
static void vn_port_serve(struct vn_net *, struct vn_link *, uint32_t number); /* sends, if the link is free */

/* ---- fabric.c: output buffers behind a fabric, of switches that have them ---- */
static struct vn_output *vn_output_new(const struct vn_fabric_config *, uint64_t rate_bps); /* NULL: out of memory */
static void vn_fabric_grant(struct vn_net *, struct vn_link *, uint32_t number); /* takes what waits, as far as there is room */
static void vn_fabric_ready(struct vn_net *, uint32_t link);
static void vn_fabric_crossed(struct vn_net *, uint32_t link);
static void vn_fabric_serve(struct vn_net *, struct vn_link *, uint32_t number); /* sends, if the link is free */
static uint64_t vn_output_bytes(const struct vn_link *, uint32_t class); /* in the buffer or on their way there */

/* ---- pfc.c ---- */
/* A packet enters the ingress occupancy. Not static: a test calls it without a packet. */
void vn_pfc_admitted(struct vn_net *, uint32_t in_link, uint32_t priority, uint32_t bytes);
static void vn_pfc_departed(struct vn_net *, uint32_t in_link, uint32_t priority, uint32_t bytes);
static void vn_pfc_effect(struct vn_net *, uint32_t link);
static void vn_pfc_expiry(struct vn_net *, uint32_t link, uint32_t priority);
static void vn_pfc_refresh(struct vn_net *, uint32_t link, uint32_t priority);
static void vn_pfc_limits(struct vn_net *, uint32_t link);

/* ---- credit.c ---- */
static bool vn_credit_has_room(const struct vn_net *, uint32_t bytes); /* any lane's buffer for such a frame, when empty */
static void vn_credit_limits(struct vn_net *, uint32_t link); /* frames have become longer */
static void vn_credit_sent(struct vn_net *, struct vn_link *, uint32_t class, uint32_t id); /* the frame has started */
static void vn_credit_admitted(struct vn_net *, uint32_t in_link, uint32_t class, uint32_t bytes);
static void vn_credit_departed(struct vn_net *, uint32_t in_link, uint32_t class, uint32_t bytes);
/* Any frame that arrives over a link with credits. `late`: as vn_flow_control_arrived. */
static void vn_credit_arrival(struct vn_net *, const struct vn_rx_port *, uint32_t link, uint32_t id, uint64_t late);
static bool vn_credit_is_flow_control(const uint8_t *frame);
static void vn_credit_effect(struct vn_net *, uint32_t link);
static void vn_credit_timer(struct vn_net *, uint32_t link, uint32_t class);
/* How long the class has been without credits for a frame by now, picoseconds. */
static uint64_t vn_credit_starved(const struct vn_net *, const struct vn_link *, uint32_t class);

static uint64_t vn_credit_closed_since(const struct vn_link *, uint32_t class); /* of a closed gate */
static uint32_t vn_credit_blocks(uint32_t bytes); /* that a frame takes */
/* With so many blocks held, the lane has room for any frame. */
static bool vn_credit_would_do(const struct vn_net *, const struct vn_link *, uint64_t held);

/* ---- faults.c: links with faults ---- */
static void vn_fault_arrival(struct vn_net *, const struct vn_rx_port *, uint32_t link, uint32_t id);
static void vn_fault_late(struct vn_net *, uint32_t link);
/* From now on what comes over the link may exceed its headroom. */
static void vn_fault_overruns(struct vn_net *, uint32_t link);
/* Whether there is no room for the packet, where a lost or late PAUSE let more come in than headroom is for. */
static bool vn_fault_overrun(struct vn_net *, uint32_t in_link, uint32_t class, uint32_t id);

/* ---- nic.c ---- */
/* Builds the flow's next packet; in receive.c. */
static void vn_stamp(const struct vn_net *, struct vn_packet *, const struct vn_flow *, bool last);
static void vn_nic_await(struct vn_net *, uint32_t flow); /* waits for the flow's start */
static void vn_nic_start(struct vn_net *, uint32_t flow);
static void vn_nic_add(struct vn_net *, uint32_t flow);
static void vn_nic_stop(struct vn_net *, uint32_t flow);
static void vn_nic_rate(struct vn_net *, uint32_t flow, double rate_bps);
static void vn_nic_control(struct vn_net *, struct vn_node *, uint32_t id);
static void vn_nic_event(struct vn_net *, uint32_t link);
static void vn_nic_changed(struct vn_net *, struct vn_node *); /* chooses the NIC's next action anew */

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
