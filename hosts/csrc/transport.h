/* What a flow may send beside its rate, and what acknowledgements say of it. No clock and no
 * socket: the live NIC (nic.c) and the NIC of virtual time (virtual/sender.c) share this core,
 * as they share pacing.h.
 *
 * A flow has a window: the most bytes of its frames that may be sent and not acknowledged; the
 * smaller of window and rate limits it. A packet requests an acknowledgement (AckReq) where the
 * flow's RP wants one every few packets, and where it fills the window. An acknowledgement of a
 * packet is one of all before it. Nothing is repeated here (reliable.h repeats): a packet that
 * is lost counts as acknowledged with the next one that is.
 *
 * One request is on its way whenever a window is full, so that an acknowledgement opens it: if
 * an RP makes a window smaller than what is in flight already, and no packet in flight has
 * requested one, another may be sent, and does. So may any flow's first packet, however small
 * its window is. */
#ifndef HOSTS_TRANSPORT_H
#define HOSTS_TRANSPORT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

/* The sender's half. hosts/structures.py mirrors it. */
struct transport {
    double window_bytes; /* INFINITY: none */
    uint64_t packets; /* of the flow; 0: no end */
    /* Numbers of packets: that have started; up to the latest with a request; up to the latest that
     * was acknowledged. */
    uint64_t sent, requested, acked;
    /* bytes of those from `acked` to `sent` that aren't in flight: see reliable.h */
    uint64_t aside;
    /* packets from request to request, the flow's last one included; 0: none but those that fill
     * the window */
    uint32_t every;
    uint32_t frame_bytes, last_frame_bytes;
    uint32_t first_psn;
};

/* Of the flow's first packets. */
static inline uint64_t transport_bytes(const struct transport *flow, uint64_t packets)
{
    uint64_t bytes = packets * flow->frame_bytes;
    return packets != 0 && packets == flow->packets
               ? bytes - flow->frame_bytes + flow->last_frame_bytes
               : bytes;
}

static inline uint64_t transport_in_flight(const struct transport *flow)
{
    return transport_bytes(flow, flow->sent) - transport_bytes(flow, flow->acked) - flow->aside;
}

static inline bool transport_fits(const struct transport *flow)
{
    uint64_t with_next =
        transport_bytes(flow, flow->sent + 1) - transport_bytes(flow, flow->acked) - flow->aside;
    return (double)with_next <= flow->window_bytes;
}

/* Whether the flow's next packet may start, as far as the window goes. */
static inline bool transport_open(const struct transport *flow)
{
    return transport_fits(flow) || flow->requested <= flow->acked;
}

/* Counts a packet that starts. True: it requests an acknowledgement. */
static inline bool transport_sent(struct transport *flow)
{
    bool last = ++flow->sent == flow->packets;
    bool asks = flow->every != 0 && (last || flow->sent % flow->every == 0);
    if (!asks && !last) asks = !transport_fits(flow);
    if (asks) flow->requested = flow->sent;
    return asks;
}

/* An acknowledgement of the packet with this PSN, the latest that has it, came. `bytes`: of packets
 * that none was of before. False: no such packet was sent. */
static inline bool transport_acknowledged(struct transport *flow, uint32_t psn, uint64_t *bytes)
{
    uint64_t behind = (flow->first_psn + flow->sent - 1 - psn) % WIRE_PSN_RANGE;
    *bytes = 0;
    if (behind >= flow->sent) return false;
    uint64_t acked = flow->sent - behind;
    if (acked <= flow->acked) return true;
    *bytes = transport_bytes(flow, acked) - transport_bytes(flow, flow->acked);
    flow->acked = acked;
    return true;
}

/* The receiver's half: the worst mark of a flow's packets since its last acknowledgement, which
 * carries it. 0: none; CE is worse than UE. */
static inline void transport_marked(uint8_t *worst, uint8_t ecn)
{
    if (ecn == WIRE_CE || (ecn == WIRE_ECT1 && *worst == 0)) *worst = ecn;
}

static inline uint8_t transport_echo(uint8_t *worst)
{
    uint8_t mark = *worst != 0 ? *worst : WIRE_ECT0;
    *worst = 0;
    return mark;
}

#endif
