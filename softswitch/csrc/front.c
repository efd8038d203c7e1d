/* The front of a gRPC server: one thread, which passes bytes on between clients and the server's
 * Unix socket.
 *
 * Clients' frames go on whole, so between two of them a call can be ended by a RST_STREAM to
 * either side. The server's frames may be as large as a client permits: they go on as they come,
 * and a RST_STREAM to the client waits for the end of the frame. */
#define _GNU_SOURCE
#include "front.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static const char PREFACE[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum {
    PREFACE_BYTES = sizeof PREFACE - 1,
    HEAD = 9,          /* bytes before a frame's payload */
    FRAME = 16384,     /* the payload's largest length, as the server announces it */
    CHUNK = 256 << 10, /* read at once of the server */
    TURN = 64 << 10,   /* and of a client, which may have a frame in every nine bytes */
    CALLS = 256,       /* of a connection, which the server's own bound is below */
    LISTENING = 8,
    EVENTS = 64,
    LOOK_NS = 250000000,
    LARGE = 1 << 20,
    REST_NS = 1000000000,
    TRIM_NS = 2000000000, /* memory is given back at most so often: all threads wait for it */
    REGRETS = 16, /* calls that a client may end before their request, a second */
};
enum frame { DATA = 0, HEADERS = 1, RST_STREAM = 3, CONTINUATION = 9 };
enum { END_STREAM = 1, END_HEADERS = 4, PADDED = 8 };
enum { REFUSED_STREAM = 7, CANCEL = 8, ENHANCE_YOUR_CALM = 11 };

struct client;

struct call {
    struct call *before, *after; /* of those that are unfinished, the oldest first */
    struct client *client;
    uint64_t since_ns;
    uint64_t held;  /* bytes of the unfinished message, and of large ones before */
    uint64_t large; /* of the latter */
    uint32_t id;    /* of its stream; 0: the place is free */
    uint32_t left;  /* bytes of the message to come */
    uint8_t prefix; /* bytes of the message's flag and length that have come */
    uint8_t length[5];
    bool unfinished;
};

struct bytes {
    uint8_t *data;
    size_t length, room;
};

/* One of a connection's two sockets: it has `out` to take, and `on` is what epoll was told. */
struct end {
    struct client *client;
    int fd;
    uint32_t on;
    struct bytes out;
    bool finished; /* nothing comes of it any more */
};

struct client {
    struct sw_front *front;
    struct client *before, *after;
    struct end near, far; /* the client; the server */
    char name[SW_FRONT_NAME];
    const uint8_t *ahead; /* whole frames that go on to the server next, in one piece */
    size_t n_ahead;
    struct bytes part;    /* of what comes of the client: a frame that isn't whole */
    uint64_t spoke_ns;    /* when its last call began, or the connection */
    uint64_t rests_ns; /* until when what it sends waits; 0: it doesn't */
    uint64_t moved_ns;    /* when the client last took what waited for it */
    uint64_t held;        /* bytes of all its unfinished messages */
    struct call *calls;   /* CALLS places, once there is a call */
    uint32_t n_calls, n_unfinished, last_id, n_resets, n_regrets;
    uint32_t resets[CALLS]; /* to the client, which wait for the end of a frame */
    uint32_t far_left;      /* bytes of the server's frame to come */
    uint8_t far_head[HEAD], far_got;
    bool headers, far_headers; /* a block of headers has begun, and goes on in the next frame */
    bool begun, favoured, gone;
};

struct sw_front {
    struct sw_front_limits limits;
    struct sockaddr_un path;
    socklen_t path_length;
    int epoll, bell, spare, listening[LISTENING];
    uint32_t n_listening, n_clients;
    /* of the latter the memory is freed once all events of a turn are through */
    struct client *clients, *gone;
    struct call *oldest, *newest;       /* of unfinished calls */
    uint32_t calls, unfinished;         /* of strangers */
    uint64_t held;                      /* by strangers */
    uint64_t looked_ns, trimmed_ns;
    uint8_t chunk[CHUNK];
    pthread_t thread;
    pthread_mutex_t lock; /* of all above: the thread has it but while it waits */
    bool refusing, ending;
    bool filled; /* much was held since memory was last given back */
};

static uint64_t now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static uint32_t big_endian(const uint8_t *at, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++) value = value << 8 | at[i];
    return value;
}

static uint32_t stream_of(const uint8_t *head) { return big_endian(head + 5, 4) & 0x7fffffff; }

/* ---- bytes that wait ---- */

static bool append(struct bytes *to, const uint8_t *data, size_t length)
{
    if (length == 0) return true;
    if (to->length + length > to->room) {
        size_t room = to->length + length;
        uint8_t *larger = realloc(to->data, room);
        if (larger == NULL) return false;
        to->data = larger;
        to->room = room;
    }
    memcpy(to->data + to->length, data, length);
    to->length += length;
    return true;
}

static void drop(struct bytes *of)
{
    free(of->data);
    *of = (struct bytes){0};
}

static void take_off(struct bytes *of, size_t length)
{
    of->length -= length;
    if (of->length == 0) drop(of);
    else memmove(of->data, of->data + length, of->length);
}

/* ---- connections ---- */

static void watch(struct sw_front *front, struct end *end, uint32_t events)
{
    if (end->fd < 0 || events == end->on) return;
    struct epoll_event event = {.events = events, .data.ptr = end};
    epoll_ctl(front->epoll,
              end->on == 0  ? EPOLL_CTL_ADD
              : events == 0 ? EPOLL_CTL_DEL
                            : EPOLL_CTL_MOD,
              end->fd, &event);
    end->on = events;
}

/* What comes of an end is taken while the other has nothing to take. */
static void rewatch(struct client *client)
{
    struct end *near = &client->near, *far = &client->far;
    bool more = far->out.length == 0 && !near->finished && client->rests_ns == 0;
    watch(client->front, near, (more ? EPOLLIN : 0) | (near->out.length > 0 ? EPOLLOUT : 0));
    more = near->out.length == 0 && !far->finished;
    watch(client->front, far, (more ? EPOLLIN : 0) | (far->out.length > 0 ? EPOLLOUT : 0));
}

static void forget(struct call *call);

static void end_client(struct client *client)
{
    struct sw_front *front = client->front;
    if (client->gone) return;
    client->gone = true;
    client->n_ahead = 0;
    for (uint32_t i = 0; client->calls != NULL && i < CALLS; i++) {
        if (client->calls[i].id != 0) forget(&client->calls[i]);
    }
    if (client->near.fd >= 0) close(client->near.fd);
    if (client->far.fd >= 0) close(client->far.fd);
    client->near.fd = client->far.fd = -1;
    drop(&client->near.out);
    drop(&client->far.out);
    drop(&client->part);
    free(client->calls);
    client->calls = NULL;
    if (client->before != NULL) client->before->after = client->after;
    else front->clients = client->after;
    if (client->after != NULL) client->after->before = client->before;
    front->n_clients--;
    client->after = front->gone;
    front->gone = client;
}

static void free_gone(struct sw_front *front)
{
    while (front->gone != NULL) {
        struct client *client = front->gone;
        front->gone = client->after;
        free(client);
    }
}

static bool quieter(const struct client *one, const struct client *than)
{
    if (than == NULL) return true;
    if ((one->n_calls == 0) != (than->n_calls == 0)) return one->n_calls == 0;
    return one->spoke_ns < than->spoke_ns;
}

/* Ends the stranger's connection that has been quiet for longest. False: all have calls that the
 * server has begun. */
static bool make_room(struct sw_front *front)
{
    struct client *choice = NULL;
    for (struct client *client = front->clients; client != NULL; client = client->after) {
        bool quiet = !client->favoured && client->n_calls == client->n_unfinished;
        if (quiet && quieter(client, choice)) choice = client;
    }
    if (choice == NULL) return false;
    end_client(choice);
    return true;
}

static bool send_out(struct end *end)
{
    while (end->fd >= 0 && end->out.length > 0) {
        ssize_t sent = send(end->fd, end->out.data, end->out.length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) return errno == EAGAIN || errno == EINTR;
        take_off(&end->out, (size_t)sent);
    }
    return true;
}

/* Sends, or keeps for later, what goes to an end. */
static bool pass(struct end *end, const uint8_t *data, size_t length)
{
    size_t at = 0;
    while (end->out.length == 0 && at < length) {
        ssize_t sent = send(end->fd, data + at, length - at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno != EAGAIN) return false;
        if (sent < 0) break;
        at += (size_t)sent;
    }
    return append(&end->out, data + at, length - at);
}

static bool reset(struct end *end, uint32_t id, uint8_t code)
{
    const uint8_t frame[HEAD + 4] = {0,
                                     0,
                                     4,
                                     RST_STREAM,
                                     0,
                                     (uint8_t)(id >> 24),
                                     (uint8_t)(id >> 16),
                                     (uint8_t)(id >> 8),
                                     (uint8_t)id,
                                     0,
                                     0,
                                     0,
                                     code};
    return pass(end, frame, sizeof frame);
}

/* ---- calls ---- */

static struct call *call_of(struct client *client, uint32_t id)
{
    for (uint32_t i = 0; client->calls != NULL && i < CALLS; i++) {
        if (client->calls[i].id == id) return &client->calls[i];
    }
    return NULL;
}

static void unfinish(struct call *call)
{
    struct client *client = call->client;
    struct sw_front *front = client->front;
    if (call->unfinished) return;
    call->unfinished = true;
    call->since_ns = now_ns();
    call->before = front->newest;
    call->after = NULL;
    if (front->newest != NULL) front->newest->after = call;
    else front->oldest = call;
    front->newest = call;
    client->n_unfinished++;
    if (!client->favoured) front->unfinished++;
}

static void hold(struct call *call, uint64_t bytes)
{
    call->held += bytes;
    call->client->held += bytes;
    if (!call->client->favoured) call->client->front->held += bytes;
    if (call->client->held > LARGE) call->client->front->filled = true;
}

static void release(struct call *call, uint64_t bytes)
{
    call->held -= bytes;
    call->client->held -= bytes;
    if (!call->client->favoured) call->client->front->held -= bytes;
}

static void finish(struct call *call)
{
    struct client *client = call->client;
    struct sw_front *front = client->front;
    if (!call->unfinished) return;
    if (call->before != NULL) call->before->after = call->after;
    else front->oldest = call->after;
    if (call->after != NULL) call->after->before = call->before;
    else front->newest = call->before;
    client->n_unfinished--;
    if (!client->favoured) front->unfinished--;
    call->unfinished = false;
    if (call->held - call->large > LARGE) call->large = call->held;
    else release(call, call->held - call->large);
}

static void forget(struct call *call)
{
    struct client *client = call->client;
    finish(call);
    release(call, call->held);
    call->id = 0;
    client->n_calls--;
    if (!client->favoured) client->front->calls--;
}

/* What a call's end follows goes first: its beginning may be there. */
static bool pass_ahead(struct client *client)
{
    size_t length = client->n_ahead;
    const uint8_t *data = client->ahead;
    client->n_ahead = 0;
    if (length > 0) client->ahead = data + length;
    return length == 0 || pass(&client->far, data, length);
}

/* In the middle of a block of headers nothing may come in between: that ends the connection, as a
 * client does that doesn't read. */
static void reset_both(struct client *client, uint32_t id, uint8_t code)
{
    bool between = client->far_got == 0 && client->far_left == 0 && !client->far_headers;
    bool good = pass_ahead(client) && !client->headers && client->n_resets < CALLS &&
                client->near.out.length < 2 * CHUNK && reset(&client->far, id, CANCEL);
    if (good && between) good = reset(&client->near, id, code);
    else if (good) client->resets[client->n_resets++] = id;
    if (good) rewatch(client);
    else end_client(client);
}

/* Its connection then rests: the server has work with each call that began, also with those that
 * have ended. */
static void rest(struct client *client)
{
    if (!client->favoured) client->rests_ns = now_ns() + REST_NS;
}

static void end_call(struct call *call, uint8_t code)
{
    struct client *client = call->client;
    rest(client);
    uint32_t id = call->id;
    forget(call);
    reset_both(client, id, code);
}

/* The oldest unfinished call of a connection; of any stranger's that has as much as the one that
 * has most, if it is NULL. */
static struct call *oldest(struct sw_front *front, const struct client *of, bool by_bytes)
{
    struct call *choice = NULL;
    for (struct call *call = front->oldest; call != NULL; call = call->after) {
        const struct client *client = call->client;
        if (of != NULL ? client != of : client->favoured) continue;
        if (by_bytes && call->held == 0) continue;
        if (choice == NULL) choice = call;
        else if (by_bytes ? client->held > choice->client->held
                          : client->n_unfinished > choice->client->n_unfinished)
            choice = call;
    }
    return choice;
}

/* Ends calls until all bounds hold that this one may have reached. The call may be among them, and
 * the connection. */
static void bound(struct client *client)
{
    struct sw_front *front = client->front;
    const struct sw_front_limits *limits = &front->limits;
    struct call *call;
    while (!client->gone && client->n_unfinished > limits->unfinished_of_one &&
           (call = oldest(front, client, false)) != NULL) {
        end_call(call, ENHANCE_YOUR_CALM);
    }
    uint64_t most = client->favoured ? limits->favoured_bytes : limits->bytes_of_one;
    while (!client->gone && client->held > most && (call = oldest(front, client, true)) != NULL)
        end_call(call, ENHANCE_YOUR_CALM);
    while (front->unfinished > limits->unfinished && (call = oldest(front, NULL, false)) != NULL)
        end_call(call, ENHANCE_YOUR_CALM);
    while (front->held > limits->bytes && (call = oldest(front, NULL, true)) != NULL)
        end_call(call, ENHANCE_YOUR_CALM);
}

/* NULL: it is refused, or the connection ends. */
static struct call *begin_call(struct client *client, uint32_t id)
{
    struct sw_front *front = client->front;
    if (client->calls == NULL) client->calls = calloc(CALLS, sizeof *client->calls);
    struct call *call = call_of(client, 0);
    client->spoke_ns = now_ns();
    if (call == NULL || (!client->favoured && front->calls >= front->limits.calls)) {
        reset_both(client, id, REFUSED_STREAM);
        return NULL;
    }
    *call = (struct call){.client = client, .id = id};
    client->n_calls++;
    if (!client->favoured) front->calls++;
    unfinish(call);
    return call;
}

/* Messages, or parts of them, that a call has got. */
static void messages(struct call *call, const uint8_t *data, uint32_t length)
{
    while (length > 0) {
        unfinish(call);
        uint32_t step = 1;
        if (call->prefix < sizeof call->length) {
            call->length[call->prefix++] = *data;
            if (call->prefix == sizeof call->length) call->left = big_endian(call->length + 1, 4);
        } else {
            step = length < call->left ? length : call->left;
            call->left -= step;
        }
        hold(call, step);
        data += step;
        length -= step;
        if (call->prefix == sizeof call->length && call->left == 0) {
            finish(call);
            call->prefix = 0;
        }
    }
}

/* Counts a frame of DATA without its padding, which would shift the messages' lengths. False: it
 * has less than it pads. */
static bool data(struct call *call, const uint8_t *payload, uint32_t length, uint8_t flags)
{
    uint32_t before = (flags & PADDED) != 0 ? 1 : 0;
    if (length < before || (before > 0 && length - before < payload[0])) return false;
    messages(call, payload + before, length - before - (before > 0 ? payload[0] : 0));
    return true;
}

/* A whole frame of a client, the last of those ahead. */
static void hear(struct client *client, const uint8_t *frame, uint32_t length)
{
    uint32_t id = stream_of(frame);
    uint8_t type = frame[3], flags = frame[4];
    struct call *call = id == 0 ? NULL : call_of(client, id);
    if (type == HEADERS || type == CONTINUATION) client->headers = (flags & END_HEADERS) == 0;
    if (type == HEADERS && call == NULL && id % 2 == 1 && id > client->last_id) {
        client->last_id = id;
        call = begin_call(client, id);
        if (client->gone) return;
    }
    if (call != NULL && type == DATA && !data(call, frame + HEAD, length, flags)) {
        end_client(client);
        return;
    }
    if (call != NULL && type == RST_STREAM) {
        if (call->unfinished && ++client->n_regrets > REGRETS) rest(client);
        forget(call);
    }
    if (call != NULL && (type == HEADERS || type == DATA) && (flags & END_STREAM) != 0)
        finish(call);
    if (!client->headers) bound(client);
}

/* ---- both ways ---- */

static bool connect_far(struct client *client)
{
    struct sw_front *front = client->front;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr_un none = {.sun_family = AF_UNIX};
    struct sockaddr_un name = {0};
    socklen_t size = sizeof name;
    client->far.fd = fd;
    /* the kernel chooses a name */
    if (fd < 0 || bind(fd, (const struct sockaddr *)&none, sizeof none.sun_family) != 0 ||
        getsockname(fd, (struct sockaddr *)&name, &size) != 0 ||
        connect(fd, (const struct sockaddr *)&front->path, front->path_length) != 0) {
        return false;
    }
    size_t length = size - sizeof name.sun_family - 1;
    if (length >= SW_FRONT_NAME) return false;
    memcpy(client->name, name.sun_path + 1, length);
    return fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

static bool begin(struct client *client)
{
    if (connect_far(client)) return true;
    if (client->far.fd >= 0) close(client->far.fd);
    client->far.fd = -1;
    return make_room(client->front) && !client->gone && connect_far(client);
}

/* Passes a client's whole frames on; keeps the rest. False: the connection ends. */
static bool from_near(struct client *client, const uint8_t *data, size_t length)
{
    if (client->part.length > LARGE || !append(&client->part, data, length)) return false;
    struct bytes all = client->part;
    client->part = (struct bytes){0};
    size_t at = 0;
    bool good = true;
    client->ahead = all.data;
    if (!client->begun) {
        good =
            memcmp(all.data, PREFACE, all.length < PREFACE_BYTES ? all.length : PREFACE_BYTES) == 0;
        client->begun = good && all.length >= PREFACE_BYTES;
        if (client->begun) {
            good = begin(client);
            client->n_ahead = at = PREFACE_BYTES;
        }
    }
    while (good && client->begun && client->rests_ns == 0 && all.length - at >= HEAD) {
        const uint8_t *frame = all.data + at;
        size_t payload = big_endian(frame, 3);
        good = payload <= FRAME;
        if (!good || all.length - at < HEAD + payload) break;
        at += HEAD + payload;
        client->n_ahead = (size_t)(all.data + at - client->ahead);
        hear(client, frame, (uint32_t)payload);
        good = !client->gone;
    }
    good = good && pass_ahead(client) &&
           (at == all.length || append(&client->part, all.data + at, all.length - at));
    drop(&all);
    return good;
}

/* Passes the server's bytes on, and after a frame what resets the client's calls. False: the
 * connection ends. */
static bool from_far(struct client *client, const uint8_t *data, size_t length)
{
    size_t passed = 0;
    for (size_t at = 0; at < length;) {
        if (client->far_left > 0) {
            size_t step = length - at < client->far_left ? length - at : client->far_left;
            at += step;
            client->far_left -= (uint32_t)step;
        } else {
            client->far_head[client->far_got++] = data[at++];
            if (client->far_got < HEAD) continue;
            client->far_left = big_endian(client->far_head, 3);
        }
        if (client->far_left > 0) continue;
        const uint8_t type = client->far_head[3], flags = client->far_head[4];
        client->far_got = 0;
        if (type == HEADERS || type == CONTINUATION)
            client->far_headers = (flags & END_HEADERS) == 0;
        bool ends =
            type == RST_STREAM || ((type == HEADERS || type == DATA) && (flags & END_STREAM) != 0);
        struct call *call = ends ? call_of(client, stream_of(client->far_head)) : NULL;
        if (call != NULL && call->id != 0) forget(call);
        if (client->n_resets == 0 || client->far_headers) continue;
        if (!pass(&client->near, data + passed, at - passed)) return false;
        passed = at;
        while (client->n_resets > 0) {
            if (!reset(&client->near, client->resets[--client->n_resets], ENHANCE_YOUR_CALM))
                return false;
        }
    }
    return pass(&client->near, data + passed, length - passed);
}

/* Takes what has come of an end. False: the connection ends. */
static bool take(struct sw_front *front, struct end *end)
{
    struct client *client = end->client;
    bool near = end == &client->near;
    ssize_t got = recv(end->fd, front->chunk, near ? TURN : CHUNK, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got > 0)
        return near ? from_near(client, front->chunk, (size_t)got)
                    : from_far(client, front->chunk, (size_t)got);
    end->finished = true;
    struct end *peer = near ? &client->far : &client->near;
    /* a client that has gone takes nothing any more */
    if (near || peer->out.length == 0) return false;
    return true;
}

static void serve(struct sw_front *front, struct end *end, uint32_t events)
{
    struct client *client = end->client;
    if (client->gone) return;
    bool good = true;
    if ((events & EPOLLOUT) != 0) {
        good = send_out(end);
        if (end == &client->near) client->moved_ns = now_ns();
        if (good && client->far.finished && client->near.out.length == 0) good = false;
    }
    if (good && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) good = take(front, end);
    if (client->gone) return;
    if (good) rewatch(client);
    else end_client(client);
}

/* ---- the thread ---- */

/* False: there is no memory. */
static bool add_client(struct sw_front *front, int fd)
{
    struct client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        close(fd);
        return false;
    }
    client->front = front;
    client->near = (struct end){.client = client, .fd = fd};
    client->far = (struct end){.client = client, .fd = -1};
    client->spoke_ns = client->moved_ns = now_ns();
    client->after = front->clients;
    if (front->clients != NULL) front->clients->before = client;
    front->clients = client;
    front->n_clients++;
    const int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    rewatch(client);
    return true;
}

/* The last descriptor is kept for a client that comes when there is none: it takes a quiet
 * one's. */
static void accept_all(struct sw_front *front, int listening)
{
    for (uint32_t i = 0; i < EVENTS; i++) {
        int fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE) && front->spare >= 0) {
            make_room(front);
            close(front->spare);
            fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
            front->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
            if (front->spare < 0 && fd >= 0) {
                close(fd);
                front->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
                continue;
            }
        }
        if (fd < 0) return;
        if (front->n_clients >= front->limits.connections && !make_room(front)) close(fd);
        else add_client(front, fd);
    }
}

/* Ends calls that have been unfinished for too long, and strangers who don't read; wakes who rests;
 * gives memory back. */
static void look(struct sw_front *front)
{
    uint64_t now = now_ns(), patience = front->limits.patience_ns;
    if (now - front->looked_ns < LOOK_NS) return;
    front->looked_ns = now;
    if (front->filled && front->held < LARGE && now - front->trimmed_ns > TRIM_NS) {
        front->filled = false;
        front->trimmed_ns = now;
#ifdef __GLIBC__
        malloc_trim(0); /* else what gRPC has freed stays the process's */
#endif
    }
    while (front->oldest != NULL && now - front->oldest->since_ns >= patience)
        end_call(front->oldest, CANCEL);
    for (struct client *client = front->clients, *after; client != NULL; client = after) {
        after = client->after;
        client->n_regrets = 0;
        if (client->rests_ns != 0 && now >= client->rests_ns) {
            client->rests_ns = 0;
            if (client->far.out.length > 0 || from_near(client, NULL, 0)) rewatch(client);
            else end_client(client);
            if (client->gone) continue;
        }
        if (!client->favoured && client->near.out.length > 0 && now - client->moved_ns >= patience)
            end_client(client);
    }
}

static bool waits(const struct sw_front *front)
{
    for (const struct client *client = front->clients; client != NULL; client = client->after) {
        if (client->near.out.length > 0 || client->rests_ns != 0) return true;
    }
    return front->oldest != NULL || front->filled;
}

static void *run(void *argument)
{
    struct sw_front *front = argument;
    pthread_mutex_lock(&front->lock);
    while (!front->ending) {
        struct epoll_event events[EVENTS];
        int wait_ms = waits(front) ? (int)(LOOK_NS / 1000000) : -1;
        pthread_mutex_unlock(&front->lock);
        int count = epoll_wait(front->epoll, events, EVENTS, wait_ms);
        pthread_mutex_lock(&front->lock);
        for (int i = 0; i < count; i++) {
            uint64_t place = (uint64_t)(uintptr_t)events[i].data.ptr;
            uint64_t rung;
            if (place > LISTENING) serve(front, events[i].data.ptr, events[i].events);
            else if (place < LISTENING && !front->refusing)
                accept_all(front, front->listening[place]);
            else if (place == LISTENING && read(front->bell, &rung, sizeof rung) < 0) continue;
        }
        look(front);
        free_gone(front);
    }
    while (front->clients != NULL) end_client(front->clients);
    free_gone(front);
    pthread_mutex_unlock(&front->lock);
    return NULL;
}

static void free_front(struct sw_front *front)
{
    for (uint32_t i = 0; i < front->n_listening; i++) close(front->listening[i]);
    if (front->epoll >= 0) close(front->epoll);
    if (front->bell >= 0) close(front->bell);
    if (front->spare >= 0) close(front->spare);
    pthread_mutex_destroy(&front->lock);
    free(front);
}

static void ring(struct sw_front *front)
{
    const uint64_t once = 1;
    if (write(front->bell, &once, sizeof once) < 0) return; /* it rings already */
}

static bool start_thread(struct sw_front *front)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(&front->thread, NULL, run, front);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = status;
    return status == 0;
}

/* The numbers of the listening sockets, and LISTENING for the bell, stand for pointers in epoll's
 * events. */
struct sw_front *sw_front_open(const int *listening, uint32_t n_listening, const char *path,
                               const struct sw_front_limits *limits, char error[SW_FRONT_ERROR])
{
    struct sw_front *front = calloc(1, sizeof *front);
    if (front == NULL || n_listening > LISTENING || strlen(path) >= sizeof front->path.sun_path) {
        snprintf(error, SW_FRONT_ERROR, "%s",
                 front == NULL ? "no memory" : "too many addresses, or too long a path");
        free(front);
        return NULL;
    }
    pthread_mutex_init(&front->lock, NULL);
    front->limits = *limits;
    front->path.sun_family = AF_UNIX;
    strcpy(front->path.sun_path, path);
    front->path_length = sizeof front->path;
    front->epoll = epoll_create1(EPOLL_CLOEXEC);
    front->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    front->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool good = front->epoll >= 0 && front->bell >= 0 && front->spare >= 0;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = LISTENING};
    good = good && epoll_ctl(front->epoll, EPOLL_CTL_ADD, front->bell, &event) == 0;
    for (uint32_t i = 0; good && i < n_listening; i++) {
        front->listening[front->n_listening++] = listening[i];
        event.data.u64 = i;
        good = fcntl(listening[i], F_SETFL, O_NONBLOCK) == 0 &&
               epoll_ctl(front->epoll, EPOLL_CTL_ADD, listening[i], &event) == 0;
    }
    if (good && start_thread(front)) return front;
    snprintf(error, SW_FRONT_ERROR, "%s", strerror(errno));
    front->n_listening = 0; /* the caller's still */
    free_front(front);
    return NULL;
}

void sw_front_favour(struct sw_front *front, const char *name, bool favoured)
{
    pthread_mutex_lock(&front->lock);
    for (struct client *client = front->clients; client != NULL; client = client->after) {
        if (strcmp(client->name, name) != 0 || client->favoured == favoured) continue;
        uint32_t sign = favoured ? -1u : 1;
        front->calls += sign * client->n_calls;
        front->unfinished += sign * client->n_unfinished;
        front->held += favoured ? -client->held : client->held;
        client->favoured = favoured;
    }
    pthread_mutex_unlock(&front->lock);
}

void sw_front_refuse(struct sw_front *front)
{
    pthread_mutex_lock(&front->lock);
    front->refusing = true;
    for (uint32_t i = 0; i < front->n_listening; i++)
        epoll_ctl(front->epoll, EPOLL_CTL_DEL, front->listening[i], NULL);
    for (uint32_t i = 0; i < front->n_listening; i++) close(front->listening[i]);
    front->n_listening = 0;
    pthread_mutex_unlock(&front->lock);
}

void sw_front_close(struct sw_front *front)
{
    pthread_mutex_lock(&front->lock);
    front->ending = true;
    pthread_mutex_unlock(&front->lock);
    ring(front);
    pthread_join(front->thread, NULL);
    free_front(front);
}
