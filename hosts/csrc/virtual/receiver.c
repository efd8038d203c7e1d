/* The receive side of a host: counts data, keeps the NP's windows, acknowledges, passes CNPs, CNMs
 * and ACKs to the RP. */
#include <math.h>
#include <string.h>

#include "virtual/flow.h"

/* That it has a demand, or says what is left, is in its template, which is being copied. */
static inline void vn_stamp_demand(uint8_t *frame, const struct vn_flow *flow)
{
    if (__builtin_expect(frame[WIRE_BECN] & WIRE_HAS_CREDIT, 0))
        wire_store32(frame + WIRE_DEMAND,
                     flow->granted ? flow->demand : vn_grants_demand(vn_grants_left(flow)));
}

void vn_stamp(const struct vn_context *context, struct vn_packet *packet,
              const struct vn_flow *flow, bool last)
{
    uint8_t *frame = vn_fill(context, packet, last ? flow->last_data : flow->data);
    uint32_t psn = (uint32_t)flow->sent & 0xffffff;
    wire_store32(frame + WIRE_PSN, psn);
    packet->bytes = (uint16_t)(last ? flow->last_frame_bytes : flow->frame_bytes);
    vn_stamp_demand(frame, flow);
    if (flow->transport == NULL && vn_rdma_of(context)->latency == NULL) return;
    if (flow->transport != NULL) {
        VN_ASSERT(flow->transport->sent == flow->sent);
        if (transport_sent(flow->transport)) frame[WIRE_PSN] |= WIRE_ACKREQ;
    }
    packet->stamp = context->now + vn_duration(vn_port_of_flow(context, flow), packet->bytes);
}

/* Opens the window that contains now, on the flow's grid. */
static void open_window(struct vn_context *context, struct vn_flow *flow, uint32_t number)
{
    uint64_t period = flow->period;
    flow->window_end = flow->grid + ((context->now - flow->grid) / period + 1) * period;
    vn_endpoint_at(context, vn_receiver_of(context, flow), flow->window_end, VN_EV_WINDOW,
                   VN_ENDPOINT_rdma, number);
}

/* Writes a mark into the ECN field of a frame, which is ECT(0), and updates the IP checksum (RFC
 * 1624, eq. 3). */
static void set_mark(uint8_t *frame, uint8_t mark)
{
    uint32_t old = wire_load16(frame + WIRE_IP), checksum = wire_load16(frame + WIRE_IP_CHECKSUM);
    frame[WIRE_TOS] = (uint8_t)((frame[WIRE_TOS] & ~3u) | mark);
    uint32_t sum = (~checksum & 0xffff) + (~old & 0xffff) + wire_load16(frame + WIRE_IP);
    sum = (sum & 0xffff) + (sum >> 16);
    wire_store16(frame + WIRE_IP_CHECKSUM, (uint16_t)~(sum + (sum >> 16)));
}

/* It takes the packet's path back, by its UDP source port, which the sender finds there. */
void vn_send_answer(struct vn_context *context, uint32_t number, const struct vn_answered *of,
                    enum reliable_answer answer)
{
    struct vn_flow *flow = vn_flow_at(context, number);
    uint32_t id = vn_packet_new(context);
    if (id == VN_NONE) return;
    struct vn_packet *packet = vn_packet_at(context, id);
    uint8_t *frame = vn_fill(context, packet, flow->ack);
    wire_store32(frame + WIRE_PSN, of->psn);
    wire_store16(frame + WIRE_UDP, of->path);
    if (flow->receiver != NULL) {
        uint32_t nak = of->last_hop ? WIRE_NAK_LAST_HOP : WIRE_NAK,
                 syndrome = answer == RELIABLE_NAK ? nak : frame[WIRE_AETH];
        wire_store32(frame + WIRE_AETH,
                     syndrome << 24 | (uint32_t)(flow->receiver->next % WIRE_PSN_RANGE));
    }
    bool telemetry = of->frame != NULL && of->frame[WIRE_BECN] & WIRE_HAS_TELEMETRY;
    if (telemetry && flow->ack_bytes > WIRE_ACK_TELEMETRY + WIRE_ICRC_BYTES) {
        memcpy(frame + WIRE_ACK_TELEMETRY, of->frame + WIRE_TELEMETRY, WIRE_TELEMETRY_BYTES);
    }
    if (flow->mark != 0 && answer == RELIABLE_ACK) set_mark(frame, transport_echo(&flow->mark));
    packet->bytes = flow->ack_bytes;
    packet->stamp = of->stamp;
    packet->flow = number;
    packet->data = false;
    vn_nic_notify(context, flow->back_port, id, of->id);
}

/* The bucket of a latency in ns: see vn_latency. */
static uint32_t latency_bucket(uint64_t ns)
{
    if (ns < VN_LATENCY_STEPS) return (uint32_t)ns;
    uint32_t octave =
        63 - (uint32_t)__builtin_clzll(ns) - (uint32_t)__builtin_ctz(VN_LATENCY_STEPS);
    uint32_t bucket = (octave + 1) * VN_LATENCY_STEPS + (uint32_t)(ns >> octave) % VN_LATENCY_STEPS;
    return bucket < VN_LATENCY_BUCKETS ? bucket : VN_LATENCY_BUCKETS - 1;
}

static void note_latency(const struct vn_context *context, const struct vn_flow *flow,
                         const struct vn_packet *packet)
{
    uint64_t latency_ps =
        context->now - packet->stamp + vn_duration(vn_port_of_flow(context, flow), packet->bytes);
    vn_rdma_of(context)
        ->latency[context->number][flow->priority][latency_bucket(latency_ps / 1000)]++;
}

static void on_data(struct vn_context *context, struct vn_node *node, uint32_t id,
                    const uint8_t *frame, struct vn_callback *callback)
{
    const struct vn_packet *packet = vn_packet_at(context, id);
    uint32_t number = packet->flow;
    struct vn_flow *flow = vn_flow_at(context, number);
    uint32_t psn = wire_load32(frame + WIRE_PSN) & 0xffffff, ecn = frame[WIRE_TOS] & 3u;
    if (flow->received == 0) {
        if (__builtin_expect(!vn_sends_here(context, flow), 0) && flow->first == VN_NEVER &&
            !vn_flow_group_arrives(context, number))
            return;
        flow->first = context->now;
        /* The window may have begun before time 0: one period is added, so that the grid
         * doesn't. */
        flow->grid = context->now + flow->period - flow->phase;
        flow->window_end = flow->period != 0 ? 0 : VN_NEVER;
    }
    VN_ASSERT(vn_receiver_of(context, flow) == node->number && flow->expected <= 0xffffff);
    bool acks = frame[WIRE_PSN] & WIRE_ACKREQ;
    bool last = flow->missing != VN_NEVER && (frame[WIRE_BTH + 1] & WIRE_LAST);
    uint32_t payload = last ? flow->last_payload_bytes : flow->payload_bytes;
    bool trimmed = packet->bytes < wire_data_bytes(frame, payload),
         grants = (frame[WIRE_BECN] & WIRE_HAS_CREDIT) && flow->granted;
    if (__builtin_expect(grants, 0)) {
        callback->method = VN_ON_DEMAND;
        callback->flow = number;
        callback->bytes = (uint64_t)wire_load32(frame + WIRE_DEMAND) * WIRE_CREDIT_BYTES;
        callback->timeout = trimmed;
    }
    if (__builtin_expect(trimmed, 0)) {
        vn_count_lost(context, number);
        if (frame[WIRE_BTH] == WIRE_RC_SEND_ONLY) vn_repeat_trimmed(context, number, id, frame);
        return;
    }
    if (frame[WIRE_BTH] == WIRE_RC_SEND_ONLY && !vn_repeat_take(context, number, id, frame, &acks))
        return;
    if (psn != flow->expected) flow->out_of_order++;
    flow->expected = (psn + 1) & 0xffffff;
    if (context->now >= flow->window_end) {
        if (flow->grid > context->now) { /* the first window */
            flow->window_end = flow->grid;
            vn_endpoint_at(context, vn_receiver_of(context, flow), flow->window_end, VN_EV_WINDOW,
                           VN_ENDPOINT_rdma, number);
        } else {
            open_window(context, flow, number);
        }
    }
    if (flow->window_first == VN_NEVER) flow->window_first = context->now;
    flow->received++;
    VN_ASSERT(flow->missing == VN_NEVER || flow->received <= flow->packets);
    flow->received_bytes += packet->bytes;
    flow->received_payload += payload;
    flow->last = context->now;
    if (ecn == WIRE_CE) {
        flow->marked_ce++;
        transport_marked(&flow->mark, WIRE_CE);
    } else if (ecn == WIRE_ECT1) {
        flow->marked_ue++;
        transport_marked(&flow->mark, WIRE_ECT1);
    }
    vn_digest_note(node, (uint64_t)psn << 34 ^ (uint64_t)ecn << 32 ^ number);
    if (flow->missing != VN_NEVER && --flow->missing == 0) {
        flow->complete = context->now;
        context->turns.unfinished--;
        if (flow->followers != VN_NONE) vn_wait_over(context, number, false);
        vn_observe_completes(context, number, id);
    }
    if (acks) {
        struct vn_answered of = {
            .id = id,
            .psn = psn,
            .path = (uint16_t)wire_load16(frame + WIRE_UDP),
            .stamp = packet->stamp,
            .frame = frame,
        };
        vn_send_answer(context, number, &of, RELIABLE_ACK);
    }
    if (__builtin_expect(vn_rdma_of(context)->latency != NULL, 0))
        note_latency(context, flow, packet);
    callback->flow = number;
    if (ecn == WIRE_CE && context->now >= flow->marked_from && !grants)
        callback->method = VN_ON_MARKED;
}

/* False: the ACK is no NP's, as a controller can send one, which has no stamp; or no packet of the
 * flow requests any. */
static bool acknowledged(struct vn_context *context, const struct vn_packet *packet,
                         const uint8_t *frame, uint32_t number, struct vn_callback *callback)
{
    const struct vn_flow *flow = vn_flow_at(context, number);
    if (flow->transport == NULL || packet->flow != number) return false;
    if (flow->repeats)
        return vn_repeat_answered(context, number, packet, frame, &callback->bytes,
                                  &callback->lost_bytes);
    bool sent = transport_acknowledged(flow->transport, wire_load24(frame + WIRE_PSN + 1),
                                       &callback->bytes);
    VN_ASSERT(flow->transport->acked <= flow->transport->sent &&
              callback->bytes <= flow->sent_bytes);
    if (callback->bytes != 0 && flow->transport->acked == flow->packets &&
        flow->followers != VN_NONE)
        vn_wait_over(context, number, true);
    return sent;
}

/* CNP, CNM or ACK: for the flow of its QP; packet->flow may be another one, of a packet that the
 * switch cloned. */
static void on_notification(struct vn_context *context, const struct vn_node *node, uint32_t id,
                            const uint8_t *frame, struct vn_callback *callback)
{
    const struct vn_packet *packet = vn_packet_at(context, id);
    bool cnm = wire_load16(frame + WIRE_DST_PORT) == WIRE_CNM_PORT,
         ack = !cnm && frame[WIRE_BTH] == WIRE_ACKNOWLEDGE;
    uint32_t number =
        vn_flow_of_qp(vn_rdma_of(context), wire_load24(frame + (cnm ? WIRE_CNM_QP : WIRE_QP)));
    if (number == VN_NONE || vn_sender_of(context, vn_flow_at(context, number)) != node->number) {
        context->totals.stray_frames++;
        return;
    }
    struct vn_flow *flow = vn_flow_at(context, number);
    if (ack && !acknowledged(context, packet, frame, number, callback)) {
        context->totals.stray_frames++;
        return;
    }
    if (!ack) flow->cnps_received++;
    if (flow->ended != VN_NEVER) return;
    callback->flow = number;
    callback->mark = frame[WIRE_TOS] & 3;
    if (cnm) {
        callback->method = VN_ON_CNM;
        callback->feedback = frame[WIRE_CNM_FEEDBACK + 1] & WIRE_MAX_FEEDBACK;
    } else if (ack) {
        vn_observe_answered(context, number, id);
        bool last_hop = frame[WIRE_AETH] == WIRE_NAK_LAST_HOP,
             refused = flow->repeats && wire_refuses(frame);
        callback->method = VN_ON_ACK;
        callback->feedback = vn_seconds(context->now - packet->stamp);
        callback->psn = wire_load24(frame + WIRE_PSN + 1);
        callback->path = (uint16_t)wire_load16(frame + WIRE_UDP);
        callback->has_telemetry =
            packet->bytes >= WIRE_ACK_TELEMETRY + WIRE_TELEMETRY_BYTES + WIRE_ICRC_BYTES;
        if (callback->has_telemetry)
            memcpy(callback->telemetry, frame + WIRE_ACK_TELEMETRY, WIRE_TELEMETRY_BYTES);
        /* what the receiver's own port has trimmed is no path's, but all senders' */
        if (flow->sprays && refused && !last_hop)
            paths_avoid(flow->paths, callback->path, PATHS_NACK);
        else if (flow->sprays && callback->mark == WIRE_CE)
            paths_avoid(flow->paths, callback->path, PATHS_MARK);
        if (refused && callback->bytes == 0) { /* it acknowledges nothing */
            callback->method = callback->lost_bytes != 0 ? VN_ON_LOSS : VN_NO_METHOD;
            callback->timeout = false;
            callback->bytes = callback->lost_bytes;
            callback->lost_bytes = 0;
        }
    } else if (frame[WIRE_BECN] & WIRE_HAS_CREDIT) {
        callback->method = VN_ON_GRANT;
        callback->bytes = (uint64_t)wire_load32(frame + WIRE_GRANT) * WIRE_CREDIT_BYTES;
    } else {
        uint32_t rec_rate = wire_load32(frame + WIRE_REC_RATE);
        if (rec_rate == 0 && flow->needs_rec_rate) {
            context->totals.unusable_cnps++;
            return;
        }
        callback->method = VN_ON_CNP;
        callback->feedback = rec_rate * 1e6;
    }
}

bool vn_rdma_take(struct vn_context *context, struct vn_node *node, uint32_t port, uint32_t id)
{
    (void)port;
    struct vn_packet *packet = vn_packet_at(context, id);
    const uint8_t *frame = vn_frame(context, packet);
    if (memcmp(frame + WIRE_DST_IP, vn_host_of(node)->ip, 4) != 0) return false;
    struct vn_callback callback;
    callback.method = VN_NO_METHOD;
    callback.lost_bytes = 0;
    callback.decided = false;
    if (!wire_checksum_right(frame + WIRE_IP)) context->totals.bad_frames++;
    else if (packet->data && packet->flow != VN_NONE) on_data(context, node, id, frame, &callback);
    else on_notification(context, node, id, frame, &callback);
    vn_packet_free(context, id);
    if (callback.method == VN_NO_METHOD) return true;
    vn_call_back(context, &callback);
    return true;
}

void vn_window_event(struct vn_context *context, uint32_t number)
{
    struct vn_flow *flow = vn_flow_at(context, number);
    if (flow->window_end != context->now) return;
    VN_ASSERT(flow->window_packets <= flow->received && flow->window_ce <= flow->marked_ce &&
              flow->window_ue <= flow->marked_ue);
    uint64_t packets = flow->received - flow->window_packets;
    if (packets == 0) { /* no packets: the next one opens a window, on the same grid */
        flow->window_end = 0;
        return;
    }
    struct vn_callback callback = {
        .method = VN_ON_WINDOW,
        .flow = number,
        .packets = (uint32_t)packets,
        .marked_ce = (uint32_t)(flow->marked_ce - flow->window_ce),
        .marked_ue = (uint32_t)(flow->marked_ue - flow->window_ue),
        .bytes = flow->received_bytes - flow->window_bytes,
        .first_s = vn_seconds(flow->window_first),
        .last_s = vn_seconds(flow->last),
    };
    flow->window_packets = flow->received;
    flow->window_bytes = flow->received_bytes;
    flow->window_ce = flow->marked_ce;
    flow->window_ue = flow->marked_ue;
    flow->window_first = VN_NEVER;
    if (flow->missing == 0) flow->window_end = 0;
    else open_window(context, flow, number);
    vn_call_back(context, &callback);
}

/* `value`: RecRate or grant, as on the wire. */
static void send_cnp_with(struct vn_context *context, uint32_t number, uint8_t mark, uint32_t value)
{
    struct vn_flow *flow = vn_flow_at(context, number);
    uint32_t id = vn_packet_new(context);
    if (id == VN_NONE) return;
    struct vn_packet *packet = vn_packet_at(context, id);
    uint8_t *frame = vn_fill(context, packet, flow->cnp);
    if (mark != WIRE_ECT0) set_mark(frame, mark);
    wire_store32(frame + WIRE_REC_RATE, value);
    packet->bytes = flow->cnp_bytes;
    packet->stamp = context->now;
    packet->flow = number;
    packet->data = false;
    flow->cnps_sent++;
    uint64_t delay = vn_rdma_of(context)->cnp_delay;
    if (delay == 0) {
        vn_nic_notify(context, flow->back_port, id, VN_NONE);
        return;
    }
    vn_fifo_push(context, &vn_first_nic(&context->nodes[vn_receiver_of(context, flow)])->cnps, id);
    vn_endpoint_at(context, vn_receiver_of(context, flow), context->now + delay, VN_EV_TIMER,
                   VN_ENDPOINT_rdma, VN_CNP_TIMERS | number);
}

void vn_send_cnp(struct vn_context *context, uint32_t number, uint8_t mark, double rate_bps)
{
    double units = rint(rate_bps / 1e6);
    if (rate_bps != 0) units = units < 1 ? 1 : units > UINT32_MAX ? UINT32_MAX : units;
    send_cnp_with(context, number, mark, (uint32_t)units);
}

void vn_send_grant(struct vn_context *context, uint32_t number, uint64_t granted_bytes)
{
    send_cnp_with(context, number, WIRE_ECT0, (uint32_t)(granted_bytes / WIRE_CREDIT_BYTES));
}

/* One of those that are due now, of whichever flow of the host. */
void vn_cnp_made(struct vn_context *context, uint32_t number)
{
    uint32_t id = vn_fifo_pop(
        context,
        &vn_first_nic(&context->nodes[vn_receiver_of(context, vn_flow_at(context, number))])->cnps);
    vn_nic_notify(context, vn_flow_at(context, vn_packet_at(context, id)->flow)->back_port, id,
                  VN_NONE);
}
