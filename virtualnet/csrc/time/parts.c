/* Letters between the processes that have a network's parts: one to each other one, of the same
 * number everywhere. */
#include "time/parts.h"

#include <stdlib.h>
#include <string.h>

#include "frames/carried.h"
#include "time/schedule.h"
#include "time/wall.h"

enum vn_letter_kind { PHASE, QUESTION };

/* Then, of a PHASE, the clocks of `sends` that had turns in it, and frames; of a QUESTION its
 * numbers; of a failure, in place of all that, its text. */
struct letter {
    uint64_t number; /* of the exchange */
    uint32_t kind, phase, n, failed; /* n: of what follows */
    uint64_t now; /* when it failed */
    uint32_t fault, zero;
    uint64_t barrier; /* of a PHASE */
    uint64_t bits;
    struct vn_event event;
    struct vn_moment moment;
};

static struct vn_parts *parts_of(const struct vn_context *context) { return context->order.parts; }

/* ---- who exchanges what ---- */

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static uint32_t unique(uint32_t *numbers, uint32_t n)
{
    uint32_t n_unique = 0;
    qsort(numbers, n, sizeof *numbers, ascending);
    for (uint32_t i = 0; i < n; i++) {
        if (n_unique == 0 || numbers[n_unique - 1] != numbers[i]) numbers[n_unique++] = numbers[i];
    }
    return n_unique;
}

static bool add_number(uint32_t **numbers, uint32_t *n, uint32_t number)
{
    if ((*n & (*n - 1)) == 0) {
        uint32_t *larger = realloc(*numbers, (*n == 0 ? 1 : 2 * (size_t)*n) * sizeof *larger);
        if (larger == NULL) return false;
        *numbers = larger;
    }
    (*numbers)[(*n)++] = number;
    return true;
}

/* Channels in the order of their numbers; of a group its first node's clock is the group's. */
bool vn_parts_init(struct vn_context *context)
{
    struct vn_parts *parts = parts_of(context);
    if (parts == NULL) return true;
    bool room = true;
    for (uint32_t i = 0; room && i < context->n_links; i++) {
        const struct vn_channel *channel = &context->channels[i];
        uint32_t from = parts->owners[channel->from], to = parts->owners[channel->to];
        if (from == to) continue;
        if (channel->inside) {
            vn_fail(context, "node %u and node %u share a turn, and are of two processes",
                    channel->from, channel->to);
            return false;
        }
        if (from == parts->number) {
            struct vn_neighbour *neighbour = &parts->neighbours[to];
            room = add_number(&neighbour->out, &neighbour->n_out, i) &&
                   add_number(&neighbour->sends, &neighbour->n_sends, channel->from);
        } else if (to == parts->number) {
            struct vn_neighbour *neighbour = &parts->neighbours[from];
            room = add_number(&neighbour->waits, &neighbour->n_waits, channel->from);
        }
    }
    for (uint32_t i = 0; i < parts->n; i++) {
        struct vn_neighbour *neighbour = &parts->neighbours[i];
        neighbour->n_sends = unique(neighbour->sends, neighbour->n_sends);
        neighbour->n_waits = unique(neighbour->waits, neighbour->n_waits);
    }
    if (!room) vn_fail(context, "out of memory for the cuts between processes");
    return room;
}

void vn_parts_free(struct vn_context *context)
{
    struct vn_parts *parts = parts_of(context);
    if (parts == NULL) return;
    for (uint32_t i = 0; i < parts->n; i++) {
        free(parts->neighbours[i].out);
        free(parts->neighbours[i].sends);
        free(parts->neighbours[i].waits);
        free(parts->neighbours[i].letter);
    }
    free(parts->neighbours);
    free(parts->owners);
    free(parts->out);
    free(parts->in);
    free(parts);
}

/* ---- writing ---- */

/* Room for so many bytes more at the end of a letter; they count. NULL: the run has failed. */
static uint8_t *more(struct vn_context *context, struct vn_neighbour *neighbour, size_t bytes)
{
    if (neighbour->bytes + bytes > neighbour->capacity) {
        size_t capacity = 2 * (neighbour->bytes + bytes) + 4096;
        uint8_t *larger = aligned_alloc(64, vn_aligned(capacity));
        if (larger == NULL) {
            vn_fail(context, "out of memory for what goes to other processes");
            return NULL;
        }
        if (neighbour->bytes != 0) memcpy(larger, neighbour->letter, neighbour->bytes);
        free(neighbour->letter);
        neighbour->letter = larger;
        neighbour->capacity = capacity;
    }
    neighbour->bytes += bytes;
    return neighbour->letter + neighbour->bytes - bytes;
}

static struct vn_moment moment_of(const struct vn_context *context)
{
    const struct vn_parts *parts = parts_of(context);
    struct vn_moment moment = {
        .next = VN_NEVER,
        .events = context->events_done,
        .unfinished = (int32_t)context->turns.unfinished,
        .waiting = (int32_t)context->turns.waiting,
        .packets = context->packets.in_use - context->packets.flow_control,
        .packets_most = context->packets.most_in_use,
        .counts = context->totals,
    };
    /* what has been sent to other parts is in the latter's next_event here until it has left */
    for (uint32_t i = 0; i < context->n_nodes; i++) {
        if (context->order.next_event[i] < moment.next) moment.next = context->order.next_event[i];
        if (parts->owners[i] == parts->number && context->order.clock[i] > moment.furthest)
            moment.furthest = context->order.clock[i];
    }
    return moment;
}

static void begin_letters(struct vn_context *context, const struct letter *letter)
{
    struct vn_parts *parts = parts_of(context);
    for (uint32_t i = 0; i < parts->n; i++) {
        if (i == parts->number) continue;
        parts->neighbours[i].bytes = 0;
        struct letter *to = (void *)more(context, &parts->neighbours[i], sizeof *to);
        if (to == NULL) return;
        *to = *letter;
    }
}

static bool has_turn(const struct vn_context *context, uint32_t node, uint32_t phase)
{
    return phase == VN_NONE || context->order.phase[node] == phase;
}

static void write_clocks(struct vn_context *context, struct vn_neighbour *neighbour, uint32_t phase)
{
    for (uint32_t i = 0; i < neighbour->n_sends; i++) {
        if (!has_turn(context, neighbour->sends[i], phase)) continue;
        uint64_t *clock = (void *)more(context, neighbour, sizeof *clock);
        if (clock == NULL) return;
        *clock = context->order.clock[neighbour->sends[i]];
    }
}

/* All that is in the channels that lead there. Returns how many frames that are. */
static uint32_t write_frames(struct vn_context *context, struct vn_neighbour *neighbour)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < neighbour->n_out; i++) {
        struct vn_channel *channel = &context->channels[neighbour->out[i]];
        if (channel->n == 0) continue;
        for (; channel->n != 0; channel->n--, channel->head++, n++) {
            const struct vn_in_flight *first = vn_in_flight_at(channel, 0);
            size_t most = vn_carried_most(&context->pool);
            uint8_t *at = more(context, neighbour, most);
            if (at == NULL) return n;
            neighbour->bytes -=
                most - vn_carry(context, at, neighbour->out[i], first->due, first->packet);
            vn_packet_free(context, first->packet);
        }
        channel->next_arrival = VN_NEVER;
        context->order.next_event[vn_first_of(context, channel->to)] = VN_NEVER;
    }
    return n;
}

/* ---- exchanging ---- */

/* Sends all letters, and takes the others'. False: the run has failed. */
static bool exchange(struct vn_context *context)
{
    struct vn_parts *parts = parts_of(context);
    uint64_t began = vn_wall_ns();
    for (uint32_t i = 0; i < parts->n; i++) {
        const struct vn_neighbour *neighbour = &parts->neighbours[i];
        parts->out[i] = (struct vn_mail){neighbour->letter, neighbour->bytes};
        parts->in[i] = (struct vn_mail){0};
        parts->stats.bytes_out += neighbour->bytes;
    }
    bool ok = parts->exchange(parts->n, parts->out, parts->in) == 0;
    parts->stats.waited_ps += 1000 * (vn_wall_ns() - began);
    parts->stats.exchanges++;
    if (!ok) vn_fail(context, "the processes of this run have lost each other");
    return ok;
}

/* Equal where processes have the same network; in the first letter. */
static uint64_t shape_of(const struct vn_context *context)
{
    const struct vn_pool *pool = &context->pool;
    const uint64_t words[] = {
        sizeof(struct letter), context->n_nodes,  context->n_links, pool->stored,
        pool->lines,           VN_OBSERVED_LINES, pool->n_lost,     context->longest_frame,
        context->response};
    uint64_t shape = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        shape = vn_digest_mix(shape, words[i]);
    for (uint32_t i = 0; i < context->n_links; i++) {
        shape = vn_digest_mix(shape, context->channels[i].link);
        shape = vn_digest_mix(shape, context->channels[i].delay);
    }
    return shape;
}

/* What all processes say has to be of the same exchange. */
static bool in_step(struct vn_context *context, const struct letter *sent, uint32_t from)
{
    const struct vn_mail *mail = &parts_of(context)->in[from];
    const struct letter *letter = (const void *)mail->at;
    if (mail->bytes >= sizeof *letter && letter->number == sent->number &&
        (sent->number != 0 || letter->failed || letter->bits == sent->bits) &&
        (letter->failed || (letter->kind == sent->kind && letter->phase == sent->phase &&
                            letter->barrier == sent->barrier)))
        return true;
    vn_fail(context,
            "process %u is at another step of the run than process %u: do both have the "
            "same network, and the same calls?",
            from, parts_of(context)->number);
    return false;
}

/* Of several failures the first node's is the run's, as with threads. */
static bool take_failures(struct vn_context *context, const struct letter *sent)
{
    const struct vn_parts *parts = parts_of(context);
    uint32_t first = sent->failed ? sent->fault : VN_NONE;
    bool failed = sent->failed != 0;
    for (uint32_t i = 0; i < parts->n; i++) {
        if (i == parts->number) continue;
        const struct letter *letter = (const void *)parts->in[i].at;
        if (!letter->failed || (failed && letter->fault >= first)) continue;
        failed = context->failed = true;
        first = letter->fault;
        context->now = letter->now;
        size_t most = sizeof context->error - 1, n = parts->in[i].bytes - sizeof *letter;
        if (n > most) n = most;
        memcpy(context->error, letter + 1, n);
        context->error[n] = '\0';
    }
    return failed;
}

static void sum_moments(struct vn_context *context, const struct vn_moment *moment)
{
    struct vn_parts *parts = parts_of(context);
    struct vn_moment *all = &parts->all;
    uint64_t longest = 0;
    *all = (struct vn_moment){.next = VN_NEVER};
    for (uint32_t i = 0; i < parts->n; i++) {
        const struct vn_moment *of =
            i == parts->number ? moment
                               : &((const struct letter *)(const void *)parts->in[i].at)->moment;
        if (of->next < all->next) all->next = of->next;
        if (of->furthest > all->furthest) all->furthest = of->furthest;
        all->events += of->events;
        all->unfinished += of->unfinished;
        all->waiting += of->waiting;
        all->packets += of->packets;
        all->packets_most += of->packets_most;
        const uint64_t *counts = (const void *)&of->counts;
        for (size_t k = 0; k < sizeof of->counts / sizeof *counts; k++)
            ((uint64_t *)(void *)&all->counts)[k] += counts[k];
        uint64_t done = of->events - parts->neighbours[i].events;
        parts->neighbours[i].events = of->events;
        if (done > longest) longest = done;
    }
    parts->stats.longest_events += longest;
}

static bool late(struct vn_context *context, uint32_t from)
{
    vn_fail(context, "a frame or a clock of process %u isn't one of this network", from);
    return false;
}

/* Takes in the clocks, then the frames of one letter. */
static bool read_phase(struct vn_context *context, uint32_t from, uint32_t phase)
{
    struct vn_parts *parts = parts_of(context);
    const struct vn_neighbour *neighbour = &parts->neighbours[from];
    const struct vn_mail *mail = &parts->in[from];
    const struct letter *letter = (const void *)mail->at;
    const uint8_t *at = mail->at + sizeof *letter, *end = mail->at + mail->bytes;
    for (uint32_t i = 0; i < neighbour->n_waits; i++) {
        if (!has_turn(context, neighbour->waits[i], phase)) continue;
        if ((size_t)(end - at) < sizeof(uint64_t)) return late(context, from);
        memcpy(&context->order.clock[neighbour->waits[i]], at, sizeof(uint64_t));
        at += sizeof(uint64_t);
    }
    for (uint32_t n = letter->n; n != 0; n--) {
        const struct vn_carried *carried = (const void *)at;
        size_t bytes = vn_carried_bytes(context, at, (size_t)(end - at));
        if (bytes == 0 || carried->channel >= context->n_links) return late(context, from);
        const struct vn_channel *channel = &context->channels[carried->channel];
        if (!vn_here(context, channel->to) || parts->owners[channel->from] != from ||
            carried->due < context->order.clock[vn_first_of(context, channel->to)])
            return late(context, from);
        uint32_t id = vn_carried_packet(context, at);
        if (id == VN_NONE) return false;
        vn_channel_push(context, carried->channel, carried->due, id);
        at += bytes;
        parts->stats.frames_in++;
    }
    return !context->failed && (at == end || late(context, from));
}

bool vn_parts_exchange(struct vn_context *context, uint32_t phase)
{
    struct vn_parts *parts = parts_of(context);
    struct letter sent = {.number = parts->stats.exchanges,
                          .kind = PHASE,
                          .phase = phase,
                          .barrier = context->turns.barrier,
                          .failed = context->failed,
                          .now = context->now,
                          .fault = parts->fault,
                          .moment = moment_of(context)};
    parts->fault = VN_NONE;
    if (sent.number == 0) sent.bits = shape_of(context);
    begin_letters(context, &sent);
    for (uint32_t i = 0; i < parts->n; i++) {
        struct vn_neighbour *neighbour = &parts->neighbours[i];
        if (i == parts->number || neighbour->bytes == 0) continue;
        if (sent.failed) {
            size_t bytes = strlen(context->error);
            uint8_t *text = more(context, neighbour, bytes);
            if (text != NULL) memcpy(text, context->error, bytes);
            continue;
        }
        write_clocks(context, neighbour, phase);
        uint32_t n = write_frames(context, neighbour);
        ((struct letter *)(void *)neighbour->letter)->n = n;
        parts->stats.frames_out += n;
    }
    if (!exchange(context)) return false;
    bool ok = true;
    for (uint32_t i = 0; ok && i < parts->n; i++)
        ok = i == parts->number || in_step(context, &sent, i);
    if (!ok || take_failures(context, &sent)) return false;
    sum_moments(context, &sent.moment);
    for (uint32_t i = 0; ok && i < parts->n; i++)
        ok = i == parts->number || read_phase(context, i, phase);
    return ok;
}

/* ---- questions ---- */

/* Asks all; answers are in parts->in. False: the run has failed. */
static bool ask_all(struct vn_context *context, struct letter *sent, const uint64_t *numbers,
                    uint32_t n)
{
    struct vn_parts *parts = parts_of(context);
    sent->number = parts->stats.exchanges;
    sent->kind = QUESTION;
    sent->n = n;
    begin_letters(context, sent);
    for (uint32_t i = 0; n != 0 && i < parts->n; i++) {
        uint8_t *at =
            i != parts->number ? more(context, &parts->neighbours[i], n * sizeof *numbers) : NULL;
        if (at != NULL) memcpy(at, numbers, n * sizeof *numbers);
    }
    if (!exchange(context)) return false;
    for (uint32_t i = 0; i < parts->n; i++) {
        if (i == parts->number) continue;
        if (!in_step(context, sent, i)) return false;
        const struct letter *letter = (const void *)parts->in[i].at;
        if (letter->n != n || parts->in[i].bytes != sizeof *letter + n * sizeof *numbers)
            return late(context, i);
    }
    return true;
}

uint64_t vn_parts_any(struct vn_context *context, uint64_t bits)
{
    const struct vn_parts *parts = parts_of(context);
    struct letter sent = {.bits = bits};
    if (parts == NULL || !ask_all(context, &sent, NULL, 0)) return bits;
    for (uint32_t i = 0; i < parts->n; i++) {
        if (i != parts->number)
            bits |= ((const struct letter *)(const void *)parts->in[i].at)->bits;
    }
    return bits;
}

struct vn_event vn_parts_last(struct vn_context *context, struct vn_event event)
{
    const struct vn_parts *parts = parts_of(context);
    struct letter sent = {.event = event};
    if (!ask_all(context, &sent, NULL, 0)) return event;
    for (uint32_t i = 0; i < parts->n; i++) {
        if (i == parts->number) continue;
        struct vn_event event_there = ((const struct letter *)(const void *)parts->in[i].at)->event;
        if (vn_before(event, event_there)) event = event_there;
    }
    return event;
}

void vn_parts_sum(struct vn_context *context, uint64_t *numbers, uint32_t n)
{
    const struct vn_parts *parts = parts_of(context);
    struct letter sent = {0};
    if (parts == NULL || !ask_all(context, &sent, numbers, n)) return;
    for (uint32_t i = 0; i < parts->n; i++) {
        if (i == parts->number) continue;
        const uint64_t *others = (const void *)(parts->in[i].at + sizeof(struct letter));
        for (uint32_t k = 0; k < n; k++) numbers[k] += others[k];
    }
}
