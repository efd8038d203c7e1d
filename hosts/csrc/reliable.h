/* Packets that are repeated where a network loses some. No clock and no socket, as in
 * transport.h, whose windows and requests for acknowledgements hold here, too. The caller passes
 * when a packet left, and gets that time back with its acknowledgement.
 *
 * Go-back-N is InfiniBand's (Architecture 1.2.1, 9.7): a receiver takes packets in order, and
 * refuses what comes behind a missing one, by one NAK that names it; the sender goes on from
 * there. Selective repeat: a receiver takes packets in any order, and acknowledges at once those
 * that come out of it, each by its PSN and by how many came in order. A packet is lost if one
 * that left `reordering` later is acknowledged. That is RFC 8985's rule, by the time that the
 * acknowledgement brings back: it finds a repeated packet that is lost again, which no rule by
 * PSNs does (IRN's, SIGCOMM'18). With either, all that is in flight is lost where nothing new
 * was acknowledged for so long that the caller's timer runs out.
 *
 * Numbers count a flow's packets; PSNs are 24 bits of them, and at most RELIABLE_MOST packets
 * are sent and not acknowledged. */
#ifndef HOSTS_RELIABLE_H
#define HOSTS_RELIABLE_H

#include <stdlib.h>

#include "rings.h"
#include "transport.h"

enum { RELIABLE_MOST = 1 << 20, RELIABLE_FIRST = 64 };

enum reliability { LOSSLESS, GO_BACK_N, SELECTIVE };

/* ---- the sender's half ---- */

enum reliable_fates { RELIABLE_SENT, RELIABLE_ACKED, RELIABLE_LOST };

/* A start whose fate isn't known. */
struct reliable_start {
    uint64_t number, left; /* number: RELIABLE_NONE, if a NAK named it since */
};
#define RELIABLE_NONE UINT64_MAX

struct reliable {
    /* first. With go-back-N `sent` goes back, and what is behind it isn't in flight */
    struct transport flow;
    enum reliability kind;
    uint64_t reordering;
    uint64_t end; /* the numbers below have started */
    /* Selective repeat. */
    /* enum reliable_fates, of those from flow.acked to flow.sent, by number modulo `capacity` */
    uint8_t *fates;
    uint32_t capacity;
    /* struct reliable_start, its `element`, in their order; what was lost isn't among them */
    struct ring starts;
    uint64_t lost, first_lost; /* how many wait to be repeated; the first one, if any does */
    uint64_t repeated, timeouts;
};

/* What an acknowledgement, a NAK or the timer came to: bytes of frames. */
struct reliable_news {
    uint64_t acked, lost;
};

static inline void reliable_free(struct reliable *reliable)
{
    free(reliable->fates);
    free(reliable->starts.all);
}

static inline uint8_t *reliable_fate(const struct reliable *reliable, uint64_t number)
{
    return &reliable->fates[number % reliable->capacity];
}

static inline uint64_t reliable_bytes(const struct transport *flow, uint64_t number)
{
    return number + 1 == flow->packets ? flow->last_frame_bytes : flow->frame_bytes;
}

static inline bool reliable_complete(const struct reliable *reliable)
{
    return reliable->flow.packets != 0 && reliable->flow.acked == reliable->flow.packets;
}

static inline uint64_t reliable_next(const struct reliable *reliable)
{
    return reliable->lost != 0 ? reliable->first_lost : reliable->flow.sent;
}

/* Whether there is a packet to start, and the window lets it go. */
static inline bool reliable_open(const struct reliable *reliable)
{
    const struct transport *flow = &reliable->flow;
    bool all = flow->packets != 0 && flow->sent == flow->packets;
    if (reliable->lost == 0 && (all || flow->sent - flow->acked >= RELIABLE_MOST)) return false;
    uint64_t in_flight = transport_in_flight(flow),
             with_next = in_flight + reliable_bytes(flow, reliable_next(reliable));
    return (double)with_next <= flow->window_bytes || flow->requested <= flow->acked ||
           in_flight == 0;
}

/* Makes room for one more start. False: no memory. */
static inline bool reliable_room(struct reliable *reliable)
{
    const struct transport *flow = &reliable->flow;
    if (reliable->kind != SELECTIVE) return true;
    if (!ring_grow(&reliable->starts)) return false;
    if (flow->sent - flow->acked < reliable->capacity) return true;
    uint32_t capacity = reliable->capacity != 0 ? 2 * reliable->capacity : RELIABLE_FIRST;
    uint8_t *fates = malloc(capacity);
    if (fates == NULL) return false;
    for (uint64_t number = flow->acked; number < flow->sent; number++) {
        fates[number % capacity] = *reliable_fate(reliable, number);
    }
    free(reliable->fates);
    reliable->fates = fates;
    reliable->capacity = capacity;
    return true;
}

/* One of the lost packets isn't any more. */
static inline void reliable_found(struct reliable *reliable, uint64_t number)
{
    if (--reliable->lost == 0 || number != reliable->first_lost) return;
    do reliable->first_lost++;
    while (*reliable_fate(reliable, reliable->first_lost) != RELIABLE_LOST);
}

/* The next packet starts, and leaves at `left`; there is room. Returns its number. */
static inline uint64_t reliable_started(struct reliable *reliable, uint64_t left, bool *asks)
{
    struct transport *flow = &reliable->flow;
    uint64_t number = reliable_next(reliable);
    if (number < reliable->end) reliable->repeated++;
    else reliable->end = number + 1;
    if (reliable->lost != 0) {
        *reliable_fate(reliable, number) = RELIABLE_SENT;
        reliable_found(reliable, number);
        flow->aside -= reliable_bytes(flow, number);
        *asks = true;
    } else {
        *asks = transport_sent(flow) || number + 1 == flow->packets;
    }
    if (*asks && flow->requested <= number) flow->requested = number + 1;
    if (reliable->kind != SELECTIVE) return number;
    *reliable_fate(reliable, number) = RELIABLE_SENT;
    ring_push(&reliable->starts, &(struct reliable_start){number, left});
    return number;
}

static inline void reliable_lose(struct reliable *reliable, uint64_t number)
{
    if (reliable->lost++ == 0 || number < reliable->first_lost) reliable->first_lost = number;
    *reliable_fate(reliable, number) = RELIABLE_LOST;
    reliable->flow.aside += reliable_bytes(&reliable->flow, number);
}

/* Selective repeat: a packet has come. Returns its bytes, if that wasn't known. */
static inline uint64_t reliable_came(struct reliable *reliable, uint64_t number)
{
    uint64_t bytes = reliable_bytes(&reliable->flow, number);
    enum reliable_fates fate = *reliable_fate(reliable, number);
    *reliable_fate(reliable, number) = RELIABLE_ACKED;
    if (fate == RELIABLE_ACKED) return 0;
    if (fate == RELIABLE_LOST) reliable_found(reliable, number);
    else reliable->flow.aside += bytes;
    return bytes;
}

/* Selective repeat: a packet that left at `left` was acknowledged. Returns the bytes that are
 * lost. */
static inline uint64_t reliable_overtaken(struct reliable *reliable, uint64_t left)
{
    const struct transport *flow = &reliable->flow;
    uint64_t lost = 0;
    for (; reliable->starts.count != 0; ring_pop(&reliable->starts)) {
        const struct reliable_start *start = ring_at(&reliable->starts, 0);
        if (start->number < flow->acked || start->number == RELIABLE_NONE) continue;
        if (*reliable_fate(reliable, start->number) != RELIABLE_SENT) continue;
        if (start->left >= left || left - start->left <= reliable->reordering) break;
        reliable_lose(reliable, start->number);
        lost += reliable_bytes(flow, start->number);
    }
    return lost;
}

/* All packets before `number` have come, and weren't known to have. Returns the bytes of those that
 * weren't. */
static inline uint64_t reliable_advance(struct reliable *reliable, uint64_t number)
{
    struct transport *flow = &reliable->flow;
    uint64_t acked = 0;
    if (reliable->kind != SELECTIVE) {
        acked = transport_bytes(flow, number) - transport_bytes(flow, flow->acked);
        flow->acked = number;
        if (flow->sent < number) flow->sent = number;
        return acked;
    }
    for (; flow->acked < number; flow->acked++) {
        acked += reliable_came(reliable, flow->acked);
        flow->aside -= reliable_bytes(flow, flow->acked);
    }
    return acked;
}

/* The number of the latest packet that has this PSN; at least `end`: there is none. */
static inline uint64_t reliable_number(const struct reliable *reliable, uint32_t psn)
{
    uint64_t behind = (reliable->flow.first_psn + reliable->end - 1 - psn) % WIRE_PSN_RANGE;
    return behind < reliable->end ? reliable->end - 1 - behind : reliable->end;
}

/* Selective repeat: the packet that was to be acknowledged isn't in flight any more, as its
 * acknowledgement has come, or won't. */
static inline void reliable_settle(struct reliable *reliable)
{
    struct transport *flow = &reliable->flow;
    if (flow->requested <= flow->acked || reliable->kind != SELECTIVE) return;
    if (*reliable_fate(reliable, flow->requested - 1) != RELIABLE_SENT)
        flow->requested = flow->acked;
}

/* The start at this time, among those whose fate isn't known; NULL: it isn't. They are in order of
 * time. */
static inline struct reliable_start *reliable_start_at(const struct reliable *reliable,
                                                       uint64_t left)
{
    uint32_t first = 0, end = reliable->starts.count;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        const struct reliable_start *start = ring_at(&reliable->starts, middle);
        if (start->left < left) first = middle + 1;
        else end = middle;
    }
    if (first == reliable->starts.count) return NULL;
    struct reliable_start *start = ring_at(&reliable->starts, first);
    return start->left == left ? start : NULL;
}

/* An acknowledgement: of the packet with this PSN, and of the first ones, whose number is
 * `in_order` modulo 2^24. `left`: when the packet had. False: no such packets were sent. */
static inline bool reliable_acknowledged(struct reliable *reliable, uint32_t psn, uint32_t in_order,
                                         uint64_t left, struct reliable_news *news)
{
    struct transport *flow = &reliable->flow;
    uint64_t number = reliable_number(reliable, psn),
             behind = (reliable->end - in_order) % WIRE_PSN_RANGE;
    *news = (struct reliable_news){0};
    if (number >= reliable->end || behind > reliable->end) return false;
    if (reliable->kind == SELECTIVE && number >= flow->acked)
        news->acked = reliable_came(reliable, number);
    if (reliable->end - behind > flow->acked)
        news->acked += reliable_advance(reliable, reliable->end - behind);
    if (reliable->kind == SELECTIVE) news->lost = reliable_overtaken(reliable, left);
    reliable_settle(reliable);
    return true;
}

/* A NAK of the packet with this PSN, which had left at `left`. Go-back-N: all before it have come.
 * Selective repeat: it was trimmed. False: no such packet was sent. */
static inline bool reliable_refused(struct reliable *reliable, uint32_t psn, uint64_t left,
                                    struct reliable_news *news)
{
    struct transport *flow = &reliable->flow;
    uint64_t number = reliable_number(reliable, psn);
    *news = (struct reliable_news){0};
    if (number >= reliable->end || reliable->kind == LOSSLESS) return false;
    if (number < flow->acked) return true; /* it was acknowledged since */
    if (reliable->kind == SELECTIVE) {
        struct reliable_start *start = reliable_start_at(reliable, left);
        if (start == NULL || start->number != number ||
            *reliable_fate(reliable, number) != RELIABLE_SENT)
            return true;
        start->number = RELIABLE_NONE;
        reliable_lose(reliable, number);
        news->lost = reliable_bytes(flow, number);
        reliable_settle(reliable);
        return true;
    }
    news->acked = reliable_advance(reliable, number);
    news->lost = transport_in_flight(flow);
    flow->sent = flow->requested = number;
    return true;
}

/* The timer has run out. */
static inline void reliable_timeout(struct reliable *reliable, struct reliable_news *news)
{
    struct transport *flow = &reliable->flow;
    *news = (struct reliable_news){.lost = transport_in_flight(flow)};
    reliable->timeouts++;
    if (reliable->kind == SELECTIVE) {
        for (uint64_t number = flow->acked; number < flow->sent; number++) {
            if (*reliable_fate(reliable, number) == RELIABLE_SENT) reliable_lose(reliable, number);
        }
        reliable->starts.count = 0;
    } else {
        flow->sent = flow->acked;
    }
    flow->requested = flow->acked;
}

/* ---- the receiver's half ---- */

/* A flow's receiver, where it does more than to acknowledge what has AckReq. */
struct reliable_receiver {
    enum reliability kind;
    /* it acknowledges what came before a change between CE and no CE: DCTCP's (SIGCOMM'10, Fig.
     * 8) */
    bool exact;
    bool refused; /* go-back-N: a NAK names `next` */
    bool waits, ce; /* a packet that isn't acknowledged, the latest: its mark ... */
    uint16_t path; /* ... its path ... */
    uint32_t psn; /* ... its PSN ... */
    uint64_t left; /* ... and what its acknowledgement brings back */
    uint64_t next; /* all packets before this number have come */
    uint64_t beyond; /* this number and those above haven't */
    uint64_t *came; /* of those between, a bit each, by number modulo `capacity` */
    uint32_t capacity;
    uint64_t again, out_of_order; /* packets that had come before; that were refused */
};

enum reliable_answer { RELIABLE_SILENT, RELIABLE_ACK, RELIABLE_NAK };

static inline bool reliable_came_in(const struct reliable_receiver *receiver, uint64_t number)
{
    return receiver->came[number % receiver->capacity / 64] >> number % 64 & 1;
}

/* False: no memory for a packet so far ahead, or it can't be. */
static inline bool reliable_keeps(struct reliable_receiver *receiver, uint64_t number)
{
    uint64_t ahead = number - receiver->next;
    if (ahead < receiver->capacity) return true;
    uint32_t capacity = receiver->capacity != 0 ? receiver->capacity : RELIABLE_FIRST;
    while (capacity <= ahead && capacity < RELIABLE_MOST) capacity *= 2;
    uint64_t *came = capacity > ahead ? calloc(capacity / 64, sizeof *came) : NULL;
    if (came == NULL) return false;
    for (uint64_t number = receiver->next; number < receiver->beyond; number++) {
        if (reliable_came_in(receiver, number))
            came[number % capacity / 64] |= UINT64_C(1) << number % 64;
    }
    free(receiver->came);
    receiver->came = came;
    receiver->capacity = capacity;
    return true;
}

/* A packet has come. `fresh`: the first time, and it is taken. Returns how it is answered at once;
 * a NAK names `next`. */
static inline enum reliable_answer reliable_take(struct reliable_receiver *receiver, uint32_t psn,
                                                 bool asks, bool *fresh)
{
    int32_t ahead = (int32_t)((psn - (uint32_t)receiver->next) << 8) >> 8;
    uint64_t number = receiver->next + (uint64_t)(int64_t)ahead;
    bool gap = ahead > 0;
    *fresh = false;
    if (ahead < 0 && receiver->kind != LOSSLESS) {
        receiver->again++;
        return RELIABLE_ACK;
    }
    if (gap && receiver->kind == GO_BACK_N) {
        receiver->out_of_order++;
        bool first = !receiver->refused;
        receiver->refused = true;
        return first ? RELIABLE_NAK : RELIABLE_SILENT;
    }
    if (receiver->kind != SELECTIVE || (!gap && receiver->beyond <= number)) {
        *fresh = true;
        receiver->next = number + 1;
        receiver->refused = false;
        return asks ? RELIABLE_ACK : RELIABLE_SILENT;
    }
    if (gap && number < receiver->beyond && reliable_came_in(receiver, number)) {
        receiver->again++;
        return RELIABLE_ACK;
    }
    if (!reliable_keeps(receiver, number)) return RELIABLE_SILENT;
    *fresh = true;
    receiver->came[number % receiver->capacity / 64] |= UINT64_C(1) << number % 64;
    if (number >= receiver->beyond) receiver->beyond = number + 1;
    for (; receiver->next < receiver->beyond && reliable_came_in(receiver, receiver->next);
         receiver->next++) {
        receiver->came[receiver->next % receiver->capacity / 64] &=
            ~(UINT64_C(1) << receiver->next % 64);
    }
    return gap || asks ? RELIABLE_ACK : RELIABLE_SILENT;
}

/* The headers of a packet have come, its payload was trimmed. Returns how it is answered at once; a
 * NAK names it, or, with go-back-N, `next`. */
static inline enum reliable_answer reliable_trimmed(struct reliable_receiver *receiver,
                                                    uint32_t psn)
{
    int32_t ahead = (int32_t)((psn - (uint32_t)receiver->next) << 8) >> 8;
    uint64_t number = receiver->next + (uint64_t)(int64_t)ahead;
    if (receiver->kind == LOSSLESS) return RELIABLE_SILENT;
    if (ahead < 0) return RELIABLE_ACK;
    if (receiver->kind == GO_BACK_N) {
        bool first = !receiver->refused || ahead == 0; /* it was sent again for that NAK */
        receiver->refused = true;
        return first ? RELIABLE_NAK : RELIABLE_SILENT;
    }
    return number < receiver->beyond && reliable_came_in(receiver, number) ? RELIABLE_ACK
                                                                           : RELIABLE_NAK;
}

#endif
