/* Clients of any octets at a gRPC server's front, without its thread: fuzz_front.py builds and
 * runs it.
 *
 * An input is a row of steps, two octets and what they take: an action and a client or worker (4
 * and 4 bits), a length. Workers take events, answer, and are done in any order. After each step
 * the front's sums have to be those of its calls, the bounds have to hold, and what a client gets
 * has to be whole frames of HTTP/2. */
#define _GNU_SOURCE
#include <stddef.h>
#include <time.h>

static int clock_of_input(clockid_t clock, struct timespec *now);
#define clock_gettime clock_of_input
#include "front.c"
#undef clock_gettime
#include "front_answers.c"
#include "front_begin.c"
#include "front_calls.c"
#include "front_clients.c"
#include "front_frames.c"
#include "front_queue.c"

enum { CLIENTS = 4, WORKERS = 4, SOME = 4096, METHODS = 3 };
enum action { CONNECT, WAIT, FAVOUR, TAKE, HANG_UP, WORK, ANSWER, DONE, SEND };

static const struct sw_front_limits LIMITS = {
    .connections = 3,
    .calls = 6,
    .unfinished = 4,
    .unfinished_of_one = 2,
    .working = 2,
    .bytes = 2000,
    .bytes_of_one = 1200,
    .favoured_bytes = 3000,
    .parsed = 100,
    .favoured_parsed = 200,
    .patience_ns = 3000000000,
    .room_ns = 1000000000,
};
static const struct sw_front_method TABLE[METHODS] = {
    {"/u", SW_FRONT_UNARY, 1500, 1, 0},
    {"/p", SW_FRONT_PARTS, 200, 2, 2},
    {"/s", SW_FRONT_STREAM, 300, 2, 0},
};

static uint64_t clock_ns;
static int near_ends[CLIENTS]; /* the clients' own */
static struct bytes received[CLIENTS];
static struct sw_front_event events_of[WORKERS];
static bool has_event_of[WORKERS];
static bool has_favoured; /* in this input: connections may then hold what others may not */
static const uint8_t zeros[SOME];

static int clock_of_input(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = (time_t)(clock_ns / 1000000000u),
                             .tv_nsec = (long)(clock_ns % 1000000000u)};
    return 0;
}

static void require(bool condition)
{
    if (!condition) abort();
}

/* ---- what clients get ---- */

static void read_frames(struct bytes *of)
{
    while (of->length - of->at >= FRONT_HEAD) {
        const uint8_t *at = of->data + of->at;
        uint32_t length = front_number(at, 3), id = front_number(at + 5, 4);
        require(length <= FRONT_FRAME && at[3] <= CONTINUATION && at[3] != PUSH_PROMISE);
        bool of_connection = at[3] == SETTINGS || at[3] == PING || at[3] == GOAWAY;
        require(at[3] == WINDOW_UPDATE || (id == 0) == of_connection);
        if (of->length - of->at < FRONT_HEAD + length) break;
        of->at += FRONT_HEAD + length;
    }
}

static void take_all(int k)
{
    uint8_t some[SOME];
    ssize_t got;
    while (near_ends[k] >= 0 && (got = recv(near_ends[k], some, sizeof some, MSG_DONTWAIT)) > 0)
        require(bytes_append(&received[k], some, (size_t)got));
    read_frames(&received[k]);
}

static void hang_up(int k)
{
    if (near_ends[k] >= 0) close(near_ends[k]);
    near_ends[k] = -1;
    bytes_drop(&received[k]);
}

static void connect_to(struct sw_front *front, int k, bool begins)
{
    int pair[2];
    static const char BEGIN[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
    hang_up(k);
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    near_ends[k] = pair[0];
    if (front->n_clients >= front->limits.connections && !client_make_room(front)) close(pair[1]);
    else client_add(front, pair[1], false);
    /* what no coverage would find: the beginning, with a frame of settings */
    if (begins && send(pair[0], BEGIN, sizeof BEGIN, MSG_NOSIGNAL) < 0) return;
}

/* ---- workers ---- */

static void answer(struct sw_front *front, const struct sw_front_event *event, uint8_t how)
{
    uint32_t length = (how >> 3) * 30u;
    switch (how & 7) {
    case 0: sw_front_finish(front, event->call, zeros, length, 0, "", NULL); break;
    case 1: sw_front_finish(front, event->call, NULL, 0, how, "a line of 100 %", "AAAA"); break;
    case 2: sw_front_abort(front, event->call, how, "no"); break;
    default: sw_front_push(front, event->call, zeros, length, 1000, 3); break;
    }
}

/* ---- the front's account ---- */

struct sums {
    uint32_t calls, unfinished, begun;
    uint64_t held, waiting, busy;
};

static void add(struct sums *sums, const struct call *call)
{
    sums->calls++;
    sums->unfinished += call->unfinished;
    sums->begun += call->begun;
    sums->held += call->held;
    sums->waiting += call->waiting;
    sums->busy += call->busy ? call->held : 0;
    uint64_t waiting = 0;
    for (const struct message *at = call->out.first; at != NULL; at = at->next)
        waiting += at->length;
    require(waiting == call->waiting);
    require(!call->listed == !(call->unfinished || call->held > 0));
    require(call->waiting == 0 || call->sending);
}

static void check(const struct sw_front *front)
{
    struct sums all[2] = {{0}};
    uint32_t clients = 0, working = 0, begun = 0;
    for (const struct client *client = front->clients; client != NULL; client = client->after) {
        struct sums of = {0};
        for (int i = 0; i < FRONT_BUCKETS; i++) {
            for (struct call *call = client->buckets[i]; call != NULL; call = call->in_bucket) {
                require(call->client == client && call_by(front, call->handle) == call);
                add(&of, call);
                add(&all[client->favoured], call);
            }
        }
        require(of.calls == client->n_calls && of.unfinished == client->n_unfinished);
        require(of.held == client->held && of.waiting == client->waiting);
        if (!has_favoured) {
            require(of.held - of.busy <= LIMITS.bytes_of_one && of.waiting <= LIMITS.bytes_of_one);
            require(of.unfinished <= LIMITS.unfinished_of_one || client->block_id != 0);
        }
        clients++;
    }
    require(clients == front->n_clients && clients <= LIMITS.connections);
    for (int class = 0; class < 2; class++) {
        const struct share *share = &front->of[class];
        require(all[class].calls == share->calls && all[class].unfinished == share->unfinished);
        require(all[class].held == share->held && all[class].waiting == share->waiting);
        require(share->working <= LIMITS.working);
        require(share->parsed <= (class ? LIMITS.favoured_parsed : LIMITS.parsed) ||
                share->working > 0);
        working += share->working;
        for (uint32_t i = 0; i < METHODS; i++) {
            begun += front->methods[i].begun[class];
            require(front->methods[i].working[class] <= TABLE[i].at_once);
        }
    }
    require(begun == all[0].begun + all[1].begun);
    for (int i = 0; i < WORKERS; i++) working -= has_event_of[i];
    require(working == 0);
    if (!has_favoured) {
        require(all[0].calls <= LIMITS.calls && all[0].unfinished <= LIMITS.unfinished);
        require(all[0].held - all[0].busy <= LIMITS.bytes && all[0].waiting <= LIMITS.bytes);
    }
}

static void turn(struct sw_front *front)
{
    for (int i = 0; i < 8; i++) {
        struct epoll_event events[FRONT_EVENTS];
        int n = epoll_wait(front->epoll, events, FRONT_EVENTS, 0);
        for (int k = 0; k < n; k++) client_serve(events[k].data.ptr, events[k].events);
        look(front);
        clients_free_gone(front);
        if (n <= 0) break;
    }
}

static void step(struct sw_front *front, uint8_t head, const uint8_t *data, uint8_t length)
{
    int k = head >> 4 & (CLIENTS - 1);
    switch (head & 15) {
    case CONNECT: connect_to(front, k, length > 0); break;
    case WAIT: clock_ns += (uint64_t)length * 50000000; break;
    case FAVOUR:
        has_favoured = true;
        if (front->clients != NULL) sw_front_favour(front, front->clients->name, length % 2 == 0);
        break;
    case TAKE: take_all(k); break;
    case HANG_UP: hang_up(k); break;
    case WORK:
        if (!has_event_of[k]) has_event_of[k] = queue_take(front, &events_of[k]);
        break;
    case ANSWER:
        if (has_event_of[k]) answer(front, &events_of[k], length);
        break;
    case DONE:
        if (has_event_of[k]) queue_done(front, events_of[k].call);
        has_event_of[k] = false;
        break;
    default:
        if (near_ends[k] >= 0 && send(near_ends[k], data, length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_front *front = make(&LIMITS);
    clock_ns = 1000000000;
    has_favoured = false;
    front->epoll = epoll_create1(EPOLL_CLOEXEC);
    front->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    require(add_methods(front, TABLE, METHODS));
    for (int k = 0; k < CLIENTS; k++) near_ends[k] = -1;
    for (int k = 0; k < WORKERS; k++) has_event_of[k] = false;
    while (size >= 2) {
        uint8_t head = data[0], length = data[1];
        data += 2, size -= 2;
        bool has_data = (head & 15) >= SEND;
        if (has_data && length > size) length = (uint8_t)size;
        step(front, head, data, length);
        if (has_data) data += length, size -= length;
        turn(front);
        check(front);
    }
    for (int k = 0; k < CLIENTS; k++) hang_up(k);
    while (front->clients != NULL) client_end(front->clients);
    clients_free_gone(front);
    for (int k = 0; k < WORKERS; k++) {
        if (has_event_of[k]) queue_done(front, events_of[k].call);
        has_event_of[k] = false;
    }
    check(front);
    struct sw_front_event event;
    while (queue_take(front, &event)) { /* only ends are left */
        require(event.kind == SW_FRONT_END);
        queue_done(front, event.call);
    }
    require(front->n_calls == 0 && front->oldest == NULL);
    free_front(front);
    return 0;
}
