/* The event queue: what happens next, in the order of (time, key). The key is the event's kind and what it belongs to, so
 * that the order is a fact of the model, not of the queue's design.
 *
 * Two designs give the same order: a binary heap, and a wheel of buckets for the near future with the heap for what lies
 * beyond. In a bucket, events stand in order; a bit map tells which buckets hold any. */
#ifndef VN_EVENTS_H
#define VN_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

enum { VN_BUCKETS = 4096, VN_WORDS = VN_BUCKETS / 64 };

struct vn_event { uint64_t time, key; };

struct vn_slot { uint64_t time, key; uint32_t next; };

struct vn_events {
    bool wheel, full; /* full: out of memory, an event was lost */
    uint32_t shift;
    uint64_t cursor;  /* the bucket of now; no event of the wheel is in an earlier one */
    uint32_t near;    /* events in the wheel */
    struct vn_event *heap;
    uint32_t n, capacity;
    struct vn_slot *slots;
    uint32_t free, n_slots;
    uint64_t summary, words[VN_WORDS];
    uint32_t heads[VN_BUCKETS];
};

bool vn_events_init(struct vn_events *, bool wheel, uint32_t shift);
void vn_events_free(struct vn_events *);
bool vn_slots_grow(struct vn_events *);
void vn_heap_push(struct vn_events *, struct vn_event);
struct vn_event vn_heap_pop(struct vn_events *);

/* An event at `time`, which is not before the last one that was taken. */
static inline void vn_push(struct vn_events *q, uint64_t time, uint64_t key)
{
    uint64_t bucket = time >> q->shift;
    if (!q->wheel || bucket - q->cursor >= VN_BUCKETS) {
        vn_heap_push(q, (struct vn_event){time, key});
        return;
    }
    if (__builtin_expect(q->free == 0, 0) && !vn_slots_grow(q)) return;
    uint32_t slot = q->free, at = (uint32_t)bucket % VN_BUCKETS;
    struct vn_slot *slots = q->slots;
    q->free = slots[slot].next;
    uint32_t *place = &q->heads[at];
    while (*place != 0) {
        const struct vn_slot *other = &slots[*place];
        if (other->time > time || (other->time == time && other->key > key)) break;
        place = &slots[*place].next;
    }
    slots[slot] = (struct vn_slot){time, key, *place};
    *place = slot;
    q->words[at / 64] |= UINT64_C(1) << at % 64;
    q->summary |= UINT64_C(1) << at / 64;
    q->near++;
}

/* The first bucket that holds an event, from `at` on and round. There is one. */
static inline uint32_t vn_bucket_from(const struct vn_events *q, uint32_t at)
{
    uint32_t word = at / 64;
    uint64_t here = q->words[word] & (~UINT64_C(0) << at % 64);
    if (here != 0) return word * 64 + (uint32_t)__builtin_ctzll(here);
    uint64_t later = word == 63 ? 0 : q->summary & (~UINT64_C(0) << (word + 1));
    word = (uint32_t)__builtin_ctzll(later != 0 ? later : q->summary); /* round, to before `at` */
    return word * 64 + (uint32_t)__builtin_ctzll(q->words[word]);
}

static inline uint32_t vn_bucket_after(const struct vn_events *q, uint32_t at)
{
    return vn_bucket_from(q, (at + 1) % VN_BUCKETS);
}

/* Takes the next event if it is not later than `until`. */
static inline bool vn_pop(struct vn_events *q, uint64_t until, struct vn_event *out)
{
    if (q->near != 0) {
        uint32_t at = vn_bucket_from(q, (uint32_t)q->cursor % VN_BUCKETS), slot = q->heads[at];
        struct vn_slot *first = &q->slots[slot];
        bool far_first = q->n != 0 && (q->heap[0].time < first->time ||
                                       (q->heap[0].time == first->time && q->heap[0].key < first->key));
        if (!far_first) {
            if (first->time > until) return false;
            *out = (struct vn_event){first->time, first->key};
            q->cursor = out->time >> q->shift;
            q->heads[at] = first->next;
            if (first->next == 0) {
                q->words[at / 64] &= ~(UINT64_C(1) << at % 64);
                if (q->words[at / 64] == 0) q->summary &= ~(UINT64_C(1) << at / 64);
            }
            first->next = q->free;
            q->free = slot;
            q->near--;
            return true;
        }
    }
    if (q->n == 0 || q->heap[0].time > until) return false;
    *out = vn_heap_pop(q);
    q->cursor = out->time >> q->shift;
    return true;
}

#endif
