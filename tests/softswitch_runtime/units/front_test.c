/* The front without its thread, on a clock that the test turns by hand: clients at pairs of sockets,
 * whose requests a worker answers. */
#define _GNU_SOURCE
#include <time.h>

static int clock_of_test(clockid_t clock, struct timespec *now);
#define clock_gettime clock_of_test
#include "front.c"
#undef clock_gettime

#include "check.h"

enum { FRAMES = 1 << 20, ANSWER = 500000, LARGE_WINDOW = 1 << 20, BUFFER = 32 << 10 };
#define MS 1000000u
#define S 1000000000u

static const struct sw_front_limits LIMITS = {
    .connections = 4,
    .calls = 8,
    .unfinished = 8,
    .unfinished_of_one = 8,
    .working = 4,
    .bytes = 1 << 20,
    .bytes_of_one = 1 << 20,
    .favoured_bytes = 1 << 20,
    .parsed = 1000,
    .favoured_parsed = 1000,
    .patience_ns = 10ull * S,
    .room_ns = S,
};
static const struct sw_front_method TABLE[] = {
    {"/u", SW_FRONT_UNARY, {1000, 1000}, 2, 0},
    {"/p", SW_FRONT_PARTS, {1000, 1000}, 2, 1},
    {"/s", SW_FRONT_STREAM, {1000, 1000}, 2, 0},
};
static const uint8_t zeros[ANSWER];

static uint64_t clock_ns;
static uint64_t reading_ns; /* that each reading of the clock takes */

static int clock_of_test(clockid_t clock, struct timespec *now)
{
    (void)clock;
    clock_ns += reading_ns;
    *now = (struct timespec){.tv_sec = (time_t)(clock_ns / S), .tv_nsec = (long)(clock_ns % S)};
    return 0;
}

/* ---- clients ---- */

static int connect_to(struct sw_front *front)
{
    int pair[2];
    const int few = BUFFER;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    CHECK(setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &few, sizeof few) == 0);
    CHECK(client_add(front, pair[1], false));
    static const char PREFACE[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    CHECK(send(pair[0], PREFACE, sizeof PREFACE - 1, 0) == sizeof PREFACE - 1);
    return pair[0];
}

static void send_frame(int fd, uint8_t kind, uint8_t flags, uint8_t id, const void *payload,
                       uint8_t length)
{
    uint8_t frame[FRONT_HEAD + UINT8_MAX] = {0, 0, length, kind, flags, 0, 0, 0, id};
    if (length > 0) memcpy(frame + FRONT_HEAD, payload, length);
    CHECK(send(fd, frame, FRONT_HEAD + length, 0) == FRONT_HEAD + length);
}

/* Settings with this window for each call. */
static void send_window_of_all(int fd, uint32_t octets)
{
    const uint8_t setting[6] = {0,
                                4,
                                (uint8_t)(octets >> 24),
                                (uint8_t)(octets >> 16),
                                (uint8_t)(octets >> 8),
                                (uint8_t)octets};
    send_frame(fd, SETTINGS, 0, 0, setting, sizeof setting);
}

static void send_window(int fd, uint8_t id, uint32_t octets)
{
    const uint8_t more[4] = {(uint8_t)(octets >> 24), (uint8_t)(octets >> 16),
                             (uint8_t)(octets >> 8), (uint8_t)octets};
    send_frame(fd, WINDOW_UPDATE, 0, id, more, sizeof more);
}

/* A call of a method, `/` and a letter, and its empty request; with `timeout` it has a second. */
static void send_call(int fd, uint8_t id, char method, bool timeout)
{
    uint8_t block[64] = "\x83\x86\x04\x02/.\x0f\x10\x10"
                        "application/grpc\x00\x0cgrpc-timeout\x02"
                        "1S";
    enum { PLAIN = 25, TIMED = PLAIN + 17 };
    block[5] = (uint8_t)method;
    send_frame(fd, HEADERS, END_HEADERS, id, block, timeout ? TIMED : PLAIN);
    static const uint8_t empty[FRONT_PREFIX];
    send_frame(fd, DATA, method == 's' ? 0 : END_STREAM, id, empty, sizeof empty);
}

/* Octets of a call's DATA frames that wait at a socket, which they leave. The last frame may be cut
 * off: then nothing is to be taken after it. */
static uint32_t take(int fd, uint8_t id)
{
    static uint8_t frames[FRAMES];
    size_t length = 0, at = 0;
    uint32_t octets = 0;
    ssize_t got;
    while ((got = recv(fd, frames + length, sizeof frames - length, MSG_DONTWAIT)) > 0)
        length += (size_t)got;
    for (; at + FRONT_HEAD <= length; at += FRONT_HEAD + front_number(frames + at, 3)) {
        if (frames[at + 3] == DATA && frames[at + 8] == id) octets += front_number(frames + at, 3);
    }
    return octets;
}

/* ---- the front ---- */

static struct sw_front *open_front(void)
{
    struct sw_front *front = make(&LIMITS);
    clock_ns = S;
    reading_ns = 0;
    CHECK(front != NULL && add_methods(front, TABLE, sizeof TABLE / sizeof *TABLE));
    front->epoll = epoll_create1(EPOLL_CLOEXEC);
    front->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK(front->epoll >= 0 && front->bell >= 0);
    return front;
}

static void close_front(struct sw_front *front)
{
    while (front->clients != NULL) client_end(front->clients);
    clients_free_gone(front);
    free_front(front);
}

static void serve(struct sw_front *front)
{
    struct epoll_event events[FRONT_EVENTS];
    int n;
    while ((n = epoll_wait(front->epoll, events, FRONT_EVENTS, 0)) > 0) {
        for (int i = 0; i < n; i++) client_serve(events[i].data.ptr, events[i].events);
        clients_free_gone(front);
    }
}

/* The next event, which has to be there, and be a request. */
static uint64_t work(struct sw_front *front)
{
    struct sw_front_event event;
    CHECK(queue_take(front, &event) && event.kind == SW_FRONT_MESSAGE);
    return event.call;
}

/* ---- tests ---- */

/* What waits of it, and its status, are the same answer. */
static void answer_that_is_made_goes_out_though_the_front_refuses(void)
{
    struct sw_front *front = open_front();
    int fd = connect_to(front);
    send_window_of_all(fd, 1);
    send_call(fd, 1, 'u', false);
    serve(front);
    uint64_t call = work(front);
    sw_front_finish(front, call, zeros, 1000, 0, "", NULL);
    queue_done(front, call);
    CHECK(take(fd, 1) == 1);
    sw_front_refuse(front);
    send_window(fd, 1, 2000);
    serve(front);
    CHECK(take(fd, 1) == FRONT_PREFIX + 1000 - 1);
    close(fd);
    close_front(front);
}

/* A deadline ends one of its calls, and lets it send more of another's answer. */
static void client_that_takes_its_answer_during_a_look_stays(void)
{
    struct sw_front *front = open_front();
    int fd = connect_to(front);
    send_window_of_all(fd, LARGE_WINDOW);
    send_window(fd, 0, LARGE_WINDOW);
    send_call(fd, 1, 's', true);
    send_call(fd, 3, 'u', false);
    serve(front);
    uint64_t stream = work(front), call = work(front);
    sw_front_finish(front, call, zeros, ANSWER, 0, "", NULL);
    CHECK(front->clients->out.length > 0);
    clock_ns += S;
    front->looked_ns = clock_ns;
    CHECK(take(fd, 3) > 0);
    reading_ns = 1;
    look(front);
    CHECK(front->n_clients == 1 && call_by(front, call)->client != NULL);
    queue_done(front, stream);
    queue_done(front, call);
    close(fd);
    close_front(front);
}

/* Its client gives room for an octet every quarter of a second. The call that waits for its method's
 * only place gets it after `room_ns`; without one that waits it would be ended after `patience_ns`. */
static void answer_that_is_taken_octet_by_octet_makes_room(void)
{
    enum { QUARTERS = 6 };
    struct sw_front *front = open_front();
    struct sw_front_event event;
    int slow = connect_to(front), next = connect_to(front);
    send_window_of_all(slow, 0);
    send_window_of_all(next, 0);
    send_call(slow, 1, 'p', false);
    serve(front);
    uint64_t parts = work(front);
    while (sw_front_push(front, parts, zeros, FRONT_MARK / 2, UINT64_MAX, UINT32_MAX) !=
           SW_FRONT_FULL)
        continue;
    queue_done(front, parts);
    send_call(next, 1, 'p', false);
    serve(front);
    CHECK(!queue_take(front, &event));
    for (int i = 0; i < QUARTERS; i++) {
        CHECK(call_by(front, parts)->client != NULL || i * 250 * MS >= S);
        clock_ns += 250 * MS;
        send_window(slow, 1, 1);
        serve(front);
        look(front);
    }
    CHECK(take(slow, 1) <= QUARTERS);
    CHECK(queue_take(front, &event) && event.call == parts && event.kind == SW_FRONT_END);
    queue_done(front, parts);
    queue_done(front, work(front));
    close(slow);
    close(next);
    close_front(front);
}

/* A frame's worth in less than `room_ns` keeps its place. */
static void answer_that_is_taken_frame_by_frame_keeps_its_place(void)
{
    enum { QUARTERS = 12 };
    struct sw_front *front = open_front();
    struct sw_front_event event;
    int steady = connect_to(front), next = connect_to(front);
    send_window_of_all(steady, 0);
    send_window(steady, 0, LARGE_WINDOW);
    send_call(steady, 1, 'p', false);
    serve(front);
    uint64_t parts = work(front);
    while (sw_front_push(front, parts, zeros, FRONT_MARK, UINT64_MAX, UINT32_MAX) != SW_FRONT_FULL)
        continue;
    queue_done(front, parts);
    send_call(next, 1, 'p', false);
    for (int i = 0; i < QUARTERS; i++) {
        clock_ns += 250 * MS;
        send_window(steady, 1, FRONT_FRAME / 2);
        serve(front);
        look(front);
        CHECK(take(steady, 1) == FRONT_FRAME / 2);
    }
    CHECK(call_by(front, parts)->client != NULL && !queue_take(front, &event));
    close(steady);
    close(next);
    serve(front);
    CHECK(queue_take(front, &event) && event.kind == SW_FRONT_END);
    queue_done(front, parts);
    close_front(front);
}

int main(void)
{
    answer_that_is_taken_octet_by_octet_makes_room();
    answer_that_is_taken_frame_by_frame_keeps_its_place();
    answer_that_is_made_goes_out_though_the_front_refuses();
    client_that_takes_its_answer_during_a_look_stays();
    return 0;
}
