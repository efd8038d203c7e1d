/* Output buffers behind a fabric: a switch with combined input and output queueing, seen from an
 * output.
 *
 * What the scheduler holds waits at the inputs: with round robin in a queue for each, with FIFO
 * in one for all. The fabric takes the next packet of an output, speed_up times as fast as its
 * line was at the start of the run, while the packet's class has room in the output's buffer for
 * the longest frame. The program's egress runs then: on the way out of the inputs, as deq_qdepth
 * it finds the packets of its class that are ahead of it in the buffer or on their way there. A
 * latency later the packet is in the buffer, from which the port sends, subject to the gate.
 *
 * Outputs take independently of each other: what inputs can send into the fabric isn't limited.
 *
 * Room is reserved when the fabric takes a packet, by the bytes that it has after egress, and
 * released when its transmission starts. The ingress occupancy ends where the fabric takes it,
 * or, with reliable delivery, where its transmission starts. */
#include <stdlib.h>

#include "switches/scheduler.h"

struct vn_output {
    struct vn_fabric_config config;
    uint64_t rate_bps, free_at; /* of the fabric to this output; when it can take the next packet */
    bool pending, granting; /* a VN_EV_READY is scheduled; vn_fabric_grant is running */
    uint8_t filled; /* bit mask of classes with packets in the buffer */
    uint64_t reserved[VN_CLASSES];
    struct vn_fifo crossing, buffer[VN_CLASSES];
    uint32_t packets[VN_CLASSES]; /* in the buffer or crossing */
};

struct vn_output *vn_output_new(const struct vn_fabric_config *config, uint64_t rate_bps)
{
    struct vn_output *output = calloc(1, sizeof *output);
    if (output == NULL) return NULL;
    output->config = *config;
    double rate = (double)rate_bps * config->speed_up;
    output->rate_bps = rate < 1 ? 1 : rate < 0x1p63 ? (uint64_t)rate : UINT64_C(1) << 63;
    return output;
}

uint64_t vn_output_bytes(const struct vn_context *context, const struct vn_link *link,
                         uint32_t class)
{
    bool has = vn_is_switch(vn_near(context, link)) && vn_port_of(link)->fabric;
    return has ? vn_port_more(link)->output->reserved[class] : 0;
}

static uint32_t with_room(const struct vn_context *context, const struct vn_link *link)
{
    const struct vn_output *output = vn_port_more(link)->output;
    uint32_t classes = link->waiting;
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        if (output->reserved[class] + context->longest_frame > output->config.buffer_bytes)
            classes &= ~(1u << class);
    }
    return classes;
}

/* A packet starts to cross. */
static void cross(struct vn_context *context, struct vn_link *link, uint32_t number, uint32_t class,
                  const struct vn_departure *departure)
{
    struct vn_output *output = vn_port_more(link)->output;
    struct vn_packet *packet = vn_packet_at(context, departure->packet);
    packet->class = class;
    packet->ingress_bytes = departure->bytes;
    if (!output->config.reliable) vn_scheduler_release(context, class, departure);
    VN_ASSERT(output->reserved[class] + packet->bytes <= output->config.buffer_bytes);
    output->reserved[class] += packet->bytes;
    output->packets[class]++;
    output->free_at = context->now + (uint64_t)((unsigned __int128)packet->bytes * 8000000000000u /
                                                output->rate_bps);
    vn_fifo_push(context, &output->crossing, departure->packet);
    vn_at(context, link->node, output->free_at + output->config.latency_ps, VN_EV_CROSSED, number);
}

void vn_fabric_grant(struct vn_context *context, struct vn_link *link, uint32_t number)
{
    struct vn_output *output = vn_port_more(link)->output;
    /* granting: a nested call, e.g. a clone was admitted */
    if (output->granting || output->pending) return;
    output->granting = true;
    while (!context->failed) {
        uint32_t classes = with_room(context, link);
        if (classes == 0) break;
        if (context->now < output->free_at) {
            output->pending = true;
            vn_at(context, link->node, output->free_at, VN_EV_READY, number);
            break;
        }
        uint32_t class = 31u - (uint32_t)__builtin_clz(classes);
        vn_port_of(link)->last_class = (uint8_t)class;
        struct vn_departure departure = vn_scheduler_next(context, link, class);
        enum vn_verdict verdict = vn_hop_egress(context, vn_near(context, link), link->port,
                                                departure.packet, class, output->packets[class]);
        if (verdict == VN_SEND) cross(context, link, number, class, &departure);
        else if (verdict == VN_DROPPED) vn_scheduler_release(context, class, &departure);
        else
            vn_fail(context,
                    "a program that recirculates what departs can't be used with output buffers");
    }
    output->granting = false;
}

void vn_fabric_ready(struct vn_context *context, uint32_t number)
{
    struct vn_link *link = vn_link_of(context, number);
    VN_ASSERT(vn_port_more(link)->output->pending &&
              vn_port_more(link)->output->free_at <= context->now);
    vn_port_more(link)->output->pending = false;
    vn_fabric_grant(context, link, number);
}

void vn_fabric_crossed(struct vn_context *context, uint32_t number)
{
    struct vn_link *link = vn_link_of(context, number);
    struct vn_output *output = vn_port_more(link)->output;
    uint32_t id = vn_fifo_pop(context, &output->crossing), class = vn_packet_at(context, id)->class;
    VN_ASSERT(class < VN_CLASSES && output->packets[class] > output->buffer[class].packets);
    vn_fifo_push(context, &output->buffer[class], id);
    output->filled |= (uint8_t)(1u << class);
    if (!link->pending) vn_port_serve(context, link, number);
}

/* Sends the packet, and releases what it has reserved. */
static void send_buffered(struct vn_context *context, struct vn_link *link, uint32_t class)
{
    struct vn_output *output = vn_port_more(link)->output;
    VN_ASSERT(output->filled >> class & 1 &&
              output->packets[class] >= output->buffer[class].packets);
    uint32_t id = vn_fifo_pop(context, &output->buffer[class]);
    if (output->buffer[class].packets == 0) output->filled &= (uint8_t)~(1u << class);
    const struct vn_packet *packet = vn_packet_at(context, id);
    VN_ASSERT(output->reserved[class] >= packet->bytes && output->packets[class] != 0);
    output->reserved[class] -= packet->bytes;
    output->packets[class]--;
    vn_transmit(context, link, id);
    vn_gate_sent(context, link, class, id);
    if (output->config.reliable && packet->counted) {
        vn_gate_departed(context, packet->counted, vn_end_of(context, packet->in_link), class,
                         packet->ingress_bytes);
    }
}

void vn_fabric_serve(struct vn_context *context, struct vn_link *link, uint32_t number)
{
    while (link->up && !context->failed) {
        uint32_t classes = vn_gate_passes(link, vn_port_more(link)->output->filled);
        if (classes == 0 && !link->has_control) return;
        if (context->now < link->free_at) {
            vn_link_await(context, link, link->free_at, number);
            return;
        }
        if (link->has_control) {
            vn_transmit(context, link, vn_control_pop(context, link));
            continue;
        }
        send_buffered(context, link, 31u - (uint32_t)__builtin_clz(classes));
        vn_fabric_grant(context, link, number);
    }
}
