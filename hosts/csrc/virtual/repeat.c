/* Flows that repeat what is lost, by the rules of hosts/csrc/reliable.h: what both ends do with
 * their packets, and the timer. */
#include "virtual/flow.h"

bool vn_repeat_new(struct vn_flow *flow, const struct vn_flow_kind *kind)
{
    if (kind->reliability != LOSSLESS || kind->exact_marks) {
        flow->receiver = calloc(1, sizeof *flow->receiver);
        if (flow->receiver == NULL) return false;
        flow->receiver->kind = kind->reliability;
        flow->receiver->exact = kind->exact_marks;
    }
    if (!flow->repeats) return true;
    *vn_repeat_of(flow) = (struct vn_repeat){
        .reliable =
            {
                .flow = *flow->transport,
                .kind = kind->reliability,
                .reordering = kind->reordering_ps,
                .starts.element = sizeof(struct reliable_start),
            },
        .timeout = kind->timeout_ps,
    };
    return true;
}

void vn_repeat_free(struct vn_flow *flow)
{
    if (flow->repeats) reliable_free(&vn_repeat_of(flow)->reliable);
    if (flow->receiver != NULL) free(flow->receiver->came);
    free(flow->receiver);
    free(flow->paths);
    free(flow->transport);
}

/* ---- the sender ---- */

static void await_timeout(struct vn_context *context, struct vn_flow *flow, uint32_t number)
{
    struct vn_repeat *repeat = vn_repeat_of(flow);
    if (repeat->awaited) return;
    repeat->awaited = true;
    vn_endpoint_at(context, vn_sender_of(context, flow), repeat->at, VN_EV_TIMER, VN_ENDPOINT_rdma,
                   VN_REPEAT_TIMERS | number);
}

bool vn_repeat_stamp(struct vn_context *context, struct vn_packet *packet, uint32_t number)
{
    struct vn_flow *flow = vn_flow_at(context, number);
    struct vn_repeat *repeat = vn_repeat_of(flow);
    if (!reliable_room(&repeat->reliable)) {
        vn_fail(context, "out of memory for the packets of a flow");
        return false;
    }
    if (transport_in_flight(flow->transport) == 0) repeat->at = context->now + repeat->timeout;
    uint64_t next = reliable_next(&repeat->reliable);
    packet->bytes = (uint16_t)reliable_bytes(flow->transport, next);
    packet->stamp = context->now + vn_duration(vn_port_of_flow(context, flow), packet->bytes);
    bool asks;
    reliable_started(&repeat->reliable, packet->stamp, &asks);
    uint8_t *frame =
        vn_fill(context, packet, next + 1 == flow->packets ? flow->last_data : flow->data);
    wire_store32(frame + WIRE_PSN, (uint32_t)next % WIRE_PSN_RANGE);
    if (asks) frame[WIRE_PSN] |= WIRE_ACKREQ;
    vn_stamp_demand(frame, flow);
    await_timeout(context, flow, number);
    return true;
}

bool vn_repeat_answered(struct vn_context *context, uint32_t number, const struct vn_packet *packet,
                        const uint8_t *frame, uint64_t *acked, uint64_t *lost)
{
    struct vn_flow *flow = vn_flow_at(context, number);
    struct vn_repeat *repeat = vn_repeat_of(flow);
    uint32_t psn = wire_load24(frame + WIRE_PSN + 1), in_order = wire_load24(frame + WIRE_AETH + 1);
    struct reliable_news news;
    bool refused = wire_refuses(frame);
    if (refused ? !reliable_refused(&repeat->reliable, psn, packet->stamp, &news)
                : !reliable_acknowledged(&repeat->reliable, psn, in_order, packet->stamp, &news)) {
        return false;
    }
    if (news.lost != 0) vn_observe_lost(context, number);
    *acked = news.acked;
    *lost = news.lost;
    if (news.acked != 0 || news.lost != 0) repeat->at = context->now + repeat->timeout;
    if (reliable_complete(&repeat->reliable) && flow->ended == VN_NEVER) {
        vn_nic_end(context, number, context->now);
        if (flow->followers != VN_NONE) vn_wait_over(context, number, true);
    }
    return true;
}

void vn_repeat_timer(struct vn_context *context, uint32_t number)
{
    struct vn_flow *flow = vn_flow_at(context, number);
    struct vn_repeat *repeat = vn_repeat_of(flow);
    repeat->awaited = false;
    /* the next packet sets it anew */
    if (flow->ended != VN_NEVER || transport_in_flight(flow->transport) == 0) return;
    if (repeat->at > context->now) {
        await_timeout(context, flow, number);
        return;
    }
    struct reliable_news news;
    reliable_timeout(&repeat->reliable, &news);
    vn_observe_lost(context, number);
    vn_call_back(context,
                 &(struct vn_callback){
                     .method = VN_ON_LOSS, .flow = number, .bytes = news.lost, .timeout = true});
}

/* ---- the receiver ---- */

bool vn_repeat_take(struct vn_context *context, uint32_t number, uint32_t id, const uint8_t *frame,
                    bool *acks)
{
    const struct vn_packet *packet = vn_packet_at(context, id);
    struct reliable_receiver *receiver = vn_flow_at(context, number)->receiver;
    uint32_t psn = wire_load24(frame + WIRE_PSN + 1);
    uint16_t path = (uint16_t)wire_load16(frame + WIRE_UDP);
    bool ce = (frame[WIRE_TOS] & 3u) == WIRE_CE, fresh;
    if (receiver->exact && receiver->waits && ce != receiver->ce) {
        receiver->waits = false;
        struct vn_answered before = {
            .id = id,
            .psn = receiver->psn,
            .path = receiver->path,
            .stamp = receiver->left,
            .frame = frame,
        };
        vn_send_answer(context, number, &before, RELIABLE_ACK);
    }
    enum reliable_answer answer = reliable_take(receiver, psn, *acks, &fresh);
    *acks = answer == RELIABLE_ACK;
    if (fresh) {
        receiver->waits = !*acks;
        receiver->ce = ce;
        receiver->psn = psn;
        receiver->left = packet->stamp;
        receiver->path = path;
        return true;
    }
    struct vn_answered of = {
        .id = id,
        .psn = answer == RELIABLE_NAK ? (uint32_t)(receiver->next % WIRE_PSN_RANGE) : psn,
        .path = path,
        .stamp = packet->stamp,
        .frame = frame,
    };
    if (answer != RELIABLE_SILENT) vn_send_answer(context, number, &of, answer);
    return false;
}

void vn_repeat_trimmed(struct vn_context *context, uint32_t number, uint32_t id,
                       const uint8_t *frame)
{
    struct reliable_receiver *receiver = vn_flow_at(context, number)->receiver;
    struct vn_answered of = {id,
                             wire_load24(frame + WIRE_PSN + 1),
                             (uint16_t)wire_load16(frame + WIRE_UDP),
                             vn_packet_at(context, id)->stamp,
                             NULL,
                             frame[WIRE_TOS] >> 2 == WIRE_LAST_HOP_DSCP};
    enum reliable_answer answer = reliable_trimmed(receiver, of.psn);
    if (answer == RELIABLE_NAK && receiver->kind == GO_BACK_N)
        of.psn = (uint32_t)(receiver->next % WIRE_PSN_RANGE);
    if (answer != RELIABLE_SILENT) vn_send_answer(context, number, &of, answer);
}
