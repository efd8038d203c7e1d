/* A frame on its way to another process: a packet as bytes. Of its frame all that is stored up to
 * the last byte that isn't zero. What its switch kept of it (its place in a queue, the ingress
 * occupancy, metadata between ingress and egress) has ended where it started on the link. */
#ifndef VN_CARRIED_H
#define VN_CARRIED_H

#include "frames/packets.h"

/* Then the frame's bytes, then observers' lines, filled up to whole words. */
struct vn_carried {
    uint64_t due, stamp;
    uint32_t channel, flow;
    uint32_t class, ingress_bytes;
    uint16_t bytes, stored; /* length on the link; how many bytes follow */
    uint8_t data, counted, zeros[2];
};
_Static_assert(sizeof(struct vn_carried) == 40, "no gaps that would be sent as they are");

enum { VN_CARRIED_MOST = 64 * VN_OBSERVED_LINES + (int)sizeof(struct vn_carried) + 8 };

/* The most bytes that a packet of this pool takes. */
static inline size_t vn_carried_most(const struct vn_pool *pool)
{
    return VN_CARRIED_MOST + pool->stored;
}

/* Writes a packet; `to` has room for vn_carried_most. Returns how many bytes it takes. */
static inline size_t vn_carry(const struct vn_context *context, uint8_t *to, uint32_t channel,
                              uint64_t due, uint32_t id)
{
    struct vn_packet *packet = vn_packet_at(context, id);
    const uint8_t *frame = vn_frame(context, packet);
    uint32_t stored = context->pool.stored;
    while (stored != 0 && frame[stored - 1] == 0) stored--;
    struct vn_carried *carried = (struct vn_carried *)(void *)to;
    *carried = (struct vn_carried){.due = due,
                                   .stamp = packet->stamp,
                                   .channel = channel,
                                   .flow = packet->flow,
                                   .class = packet->class,
                                   .ingress_bytes = packet->ingress_bytes,
                                   .bytes = packet->bytes,
                                   .stored = (uint16_t)stored,
                                   .data = packet->data,
                                   .counted = packet->counted};
    size_t n = sizeof *carried;
    memcpy(to + n, frame, stored);
    n += stored;
    memset(to + n, 0, -n % 8);
    n += -n % 8;
    size_t lines = 64 * VN_OBSERVED_LINES;
    memcpy(to + n, vn_packet_at(context, id + context->pool.lines - VN_OBSERVED_LINES), lines);
    return n + lines;
}

/* How many bytes the packet takes that begins here, of `left`; 0: there is none that is whole. */
static inline size_t vn_carried_bytes(const struct vn_context *context, const uint8_t *at,
                                      size_t left)
{
    const struct vn_carried *carried = (const struct vn_carried *)(const void *)at;
    if (left < sizeof *carried || carried->stored > context->pool.stored || carried->bytes == 0)
        return 0;
    size_t n = sizeof *carried + carried->stored;
    n += -n % 8 + 64 * VN_OBSERVED_LINES;
    return n <= left ? n : 0;
}

/* Reads a packet that vn_carried_bytes says is whole into a new one. VN_NONE: the run has failed. */
static inline uint32_t vn_carried_packet(struct vn_context *context, const uint8_t *at)
{
    const struct vn_carried *carried = (const struct vn_carried *)(const void *)at;
    uint32_t id = vn_packet_new(context);
    if (id == VN_NONE) return id;
    struct vn_packet *packet = vn_packet_at(context, id);
    packet->flow = carried->flow;
    packet->in_link = VN_NONE;
    packet->bytes = carried->bytes;
    packet->data = carried->data;
    packet->counted = carried->counted;
    packet->class = carried->class;
    packet->ingress_bytes = carried->ingress_bytes;
    packet->stamp = carried->stamp;
    uint8_t *frame = vn_frame(context, packet);
    size_t n = sizeof *carried;
    memcpy(frame, at + n, carried->stored);
    memset(frame + carried->stored, 0, context->pool.stored - carried->stored);
    n += carried->stored;
    n += -n % 8;
    memcpy(vn_packet_at(context, id + context->pool.lines - VN_OBSERVED_LINES), at + n,
           64 * VN_OBSERVED_LINES);
    return id;
}

#endif
