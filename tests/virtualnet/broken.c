/* The RDMA endpoint, and a function that breaks an invariant of the engine's parts
 * (test_virtual_assertions.py) in a network of h0, s0, s1 and r0. */
#include "switches/scheduler.h"
#include "virtual/rdma.c"

int vn_break(struct vn_context *context, uint32_t number)
{
    struct vn_link *end = vn_end_of(context, 0);
    uint32_t id = vn_packet_new(context);
    vn_packet_at(context, id)->bytes = 64;
    switch (number) {
    case 0:
        context->now = 5;
        vn_at(context, 0, 4, VN_EV_RETURN, 0);
        break;
    case 1: vn_pop(&(struct vn_event_queue){0}); break;
    case 2:
        vn_channel_push(context, 0, 9, id);
        vn_channel_push(context, 0, 8, id);
        break;
    case 3: vn_fifo_pop(context, &(struct vn_fifo){0}); break;
    case 4:
        vn_packet_free(context, id);
        vn_packet_free(context, id);
        break;
    case 5: vn_gate_departed(context, VN_FLOW_CONTROL_pfc, end, 3, 1); break;
    case 6: vn_pfc_hold(context, end, 5, 1); break;
    case 7: vn_pfc_below_xon(context, end, 3); break;
    case 8:
        context->links[0].free_at = context->now + 1;
        vn_transmit(context, &context->links[0], id);
        break;
    case 9: vn_scheduler_next(context, end, 3); break;
    case 10:
        vn_packet_at(context, id)->in_link = 1;
        vn_hop_ingress(context, vn_near(context, end), 1, id);
        break;
    case 11:
        vn_endpoint_at(context, 0, context->now, VN_EV_TIMER, VN_ENDPOINT_source, 1u << 24);
        break;
    case 12: vn_host_event(context, 0); break;
    case 13:
        vn_sample(context, 0);
        vn_sample(context, 0);
        break;
    }
    return 0;
}
