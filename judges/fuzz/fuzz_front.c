/* Clients of any bytes at the front of a gRPC server, without its thread: fuzz_front.py builds
 * and runs it.
 *
 * An input is a row of steps, two octets and what they take: an action and a client (3 bits
 * each), a length. Beside the front stands a second account, by a reader of HTTP/2 of its own,
 * of what the server has got: it may never hold more of unfinished messages than the limits say.
 * After each step the front's sums have to be those of its calls. */
#define _GNU_SOURCE
#include <stddef.h>
#include <time.h>

static int clock_of_input(clockid_t clock, struct timespec *now);
#define clock_gettime clock_of_input
#include "front.c"
#undef clock_gettime

enum { CLIENTS = 4, STREAMS = 64, WITH_PADDING = 8 };

static const struct sw_front_limits LIMITS = {
    .connections = 3,
    .calls = 6,
    .unfinished = 4,
    .unfinished_of_one = 2,
    .bytes = 500,
    .bytes_of_one = 300,
    .favoured_bytes = 800,
    .patience_ns = 3000000000,
};

/* A stream as the server sees it. */
struct stream {
    uint32_t id, left;
    uint8_t length[5], prefix;
    uint64_t held;
    bool open;
};

struct side {
    int near, far; /* the client's own end, the server's */
    struct sw_front *front;
    uint8_t buffer[1 << 17];
    size_t length;
    bool preface, headers, broken;
    uint32_t last_id;
    struct stream streams[STREAMS];
};

static uint64_t clock_ns;
static struct side sides[CLIENTS];
static int listening;
static bool has_favoured; /* in this input: from then on the limits of a primary hold */

static int clock_of_input(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = (time_t)(clock_ns / 1000000000u),
                             .tv_nsec = (long)(clock_ns % 1000000000u)};
    return 0;
}

static struct stream *stream_at(struct side *side, uint32_t id)
{
    for (int i = 0; i < STREAMS; i++) {
        if (side->streams[i].open && side->streams[i].id == id) return &side->streams[i];
    }
    return NULL;
}

static void open_stream(struct side *side, uint32_t id)
{
    for (int i = 0; i < STREAMS; i++) {
        if (side->streams[i].open) continue;
        side->streams[i] = (struct stream){.id = id, .open = true};
        return;
    }
    side->broken = true; /* more than the server announces */
}

static void count(struct stream *stream, const uint8_t *octets, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        stream->held++;
        if (stream->prefix < 5) {
            stream->length[stream->prefix++] = octets[i];
            if (stream->prefix == 5) stream->left = big_endian(stream->length + 1, 4);
        } else {
            stream->left--;
        }
        if (stream->prefix == 5 && stream->left == 0) stream->held = stream->prefix = 0;
    }
}

/* One whole frame, as RFC 9113 has it; what it forbids breaks the connection, as a server does. */
static void serve_frame(struct side *side, const uint8_t *frame, uint32_t length)
{
    uint8_t type = frame[3], flags = frame[4];
    uint32_t id = stream_of(frame), padding = 0;
    const uint8_t *payload = frame + HEAD;
    struct stream *stream = stream_at(side, id);
    if (side->headers && type != CONTINUATION) side->broken = true;
    if (type == HEADERS && stream == NULL) {
        if (id % 2 == 0 || id <= side->last_id) side->broken = true;
        else open_stream(side, id);
        side->last_id = id;
    }
    if (type == HEADERS || type == CONTINUATION) side->headers = (flags & END_HEADERS) == 0;
    if (type == DATA && (flags & WITH_PADDING) != 0) {
        if (length == 0 || payload[0] > length - 1) side->broken = true;
        else padding = 1u + payload[0];
    }
    if (side->broken || stream == NULL) return;
    if (type == DATA) count(stream, payload + (padding > 0), length - padding);
    if (type == RST_STREAM || ((type == DATA || type == HEADERS) && (flags & END_STREAM) != 0))
        stream->open = false;
}

static void serve_side(struct side *side)
{
    while (side->far >= 0) {
        ssize_t got = recv(side->far, side->buffer + side->length,
                           sizeof side->buffer - side->length, MSG_DONTWAIT);
        if (got <= 0) {
            if (got == 0) side->broken = true;
            break;
        }
        side->length += (size_t)got;
        size_t at = 0;
        if (!side->preface && side->length >= PREFACE_BYTES) {
            if (memcmp(side->buffer, PREFACE, PREFACE_BYTES) != 0) abort();
            side->preface = true;
            at = PREFACE_BYTES;
        }
        while (side->preface && !side->broken && side->length - at >= HEAD) {
            uint32_t length = big_endian(side->buffer + at, 3);
            if (length > FRAME) abort(); /* the front lets none pass */
            if (side->length - at < HEAD + length) break;
            serve_frame(side, side->buffer + at, length);
            at += HEAD + length;
        }
        memmove(side->buffer, side->buffer + at, side->length - at);
        side->length -= at;
        if (side->broken) break;
    }
    if (side->broken && side->far >= 0) {
        close(side->far);
        side->far = -1;
    }
}

/* The server's frames: what ends a stream on the way ends it in the account. */
static void answer(struct side *side, const uint8_t *data, size_t length)
{
    if (side->far < 0 || length < 2) return;
    uint8_t frame[HEAD + 255] = {0, 0, (uint8_t)(length - 2), data[0] & 15, data[1], 0,
                                 0, 0, data[0] >> 4};
    memcpy(frame + HEAD, data + 2, length - 2);
    struct stream *stream = stream_at(side, stream_of(frame));
    uint8_t type = frame[3];
    bool ends =
        type == RST_STREAM || ((type == HEADERS || type == DATA) && (frame[4] & END_STREAM) != 0);
    if (ends && stream != NULL) stream->open = false;
    if (send(side->far, frame, HEAD + length - 2, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
}

static void turn(struct sw_front *front)
{
    for (int pass_of = 0; pass_of < 8; pass_of++) {
        struct epoll_event events[EVENTS];
        int n = epoll_wait(front->epoll, events, EVENTS, 0);
        for (int i = 0; i < n; i++) serve(front, events[i].data.ptr, events[i].events);
        look(front);
        free_gone(front);
        int fd;
        while ((fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
            int k = 0;
            while (k < CLIENTS && (sides[k].near < 0 || sides[k].far >= 0 || sides[k].preface)) k++;
            /* The one that has just begun: the steps begin one client a turn. */
            if (k == CLIENTS) close(fd);
            else sides[k].far = fd;
        }
        for (int k = 0; k < CLIENTS; k++) serve_side(&sides[k]);
        if (n == 0) break;
    }
}

static void check(const struct sw_front *front)
{
    uint32_t calls = 0, unfinished = 0, clients = 0, listed = 0;
    uint64_t held = 0;
    for (const struct client *client = front->clients; client != NULL; client = client->after) {
        uint32_t of_client = 0, n_unfinished = 0;
        uint64_t bytes = 0;
        for (uint32_t i = 0; client->calls != NULL && i < CALLS; i++) {
            const struct call *call = &client->calls[i];
            if (call->id == 0) continue;
            of_client++;
            n_unfinished += call->unfinished;
            bytes += call->held;
        }
        if (of_client != client->n_calls || n_unfinished != client->n_unfinished ||
            bytes != client->held)
            abort();
        if (!client->favoured) calls += of_client, unfinished += n_unfinished, held += bytes;
        clients++;
    }
    for (const struct call *call = front->oldest; call != NULL; call = call->after) listed++;
    if (calls != front->calls || unfinished != front->unfinished || held != front->held ||
        clients != front->n_clients)
        abort();
    if (listed < unfinished || calls > LIMITS.calls) abort();
    uint64_t all = 0;
    for (int k = 0; k < CLIENTS; k++) {
        uint64_t bytes = 0;
        for (int i = 0; i < STREAMS; i++)
            bytes += sides[k].streams[i].open ? sides[k].streams[i].held : 0;
        if (sides[k].far < 0 || sides[k].broken) continue;
        if (bytes > (has_favoured ? LIMITS.favoured_bytes : LIMITS.bytes_of_one)) abort();
        all += bytes;
    }
    if (all > LIMITS.bytes + (has_favoured ? LIMITS.favoured_bytes * CLIENTS : 0)) abort();
}

static void connect_side(struct sw_front *front, struct side *side)
{
    int pair[2];
    if (side->near >= 0) close(side->near);
    if (side->far >= 0) close(side->far);
    *side = (struct side){.near = -1, .far = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) return;
    side->near = pair[0];
    if (front->n_clients >= front->limits.connections && !make_room(front)) close(pair[1]);
    else add_client(front, pair[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_front *front = calloc(1, sizeof *front);
    front->limits = LIMITS;
    front->epoll = epoll_create1(EPOLL_CLOEXEC);
    front->bell = front->spare = -1;
    front->path.sun_family = AF_UNIX;
    clock_ns = 1000000000;
    has_favoured = false;
    pthread_mutex_init(&front->lock, NULL);
    struct sockaddr_un none = {.sun_family = AF_UNIX};
    listening = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    front->path_length = sizeof front->path;
    if (bind(listening, (struct sockaddr *)&none, sizeof none.sun_family) != 0 ||
        listen(listening, 16) != 0 ||
        getsockname(listening, (struct sockaddr *)&front->path, &front->path_length) != 0)
        abort();
    for (int k = 0; k < CLIENTS; k++) sides[k] = (struct side){.near = -1, .far = -1};
    while (size >= 2) {
        struct side *side = &sides[data[0] >> 3 & (CLIENTS - 1)];
        uint8_t action = data[0] & 7;
        size_t length = data[1];
        data += 2, size -= 2;
        if (length > size) length = size;
        switch (action) {
        case 0:
            connect_side(front, side);
            turn(front);
            /* HTTP/2's beginning, which no coverage would find; a length of 0 leaves it out. */
            if (length > 0 && side->near >= 0 &&
                send(side->near, PREFACE, PREFACE_BYTES, MSG_NOSIGNAL) < 0)
                break;
            length = 0;
            break;
        case 1:
            clock_ns += (uint64_t)length * 50000000;
            length = 0;
            break;
        case 2: answer(side, data, length); break;
        case 3:
            if (front->clients != NULL)
                sw_front_favour(front, front->clients->name, length % 2 == 0);
            has_favoured = true;
            length = 0;
            break;
        case 4: /* the client takes what there is for it */
            if (side->near >= 0) {
                uint8_t some[4096];
                while (recv(side->near, some, sizeof some, MSG_DONTWAIT) > 0) continue;
            }
            length = 0;
            break;
        case 5:
            if (side->near >= 0) close(side->near);
            side->near = -1;
            length = 0;
            break;
        default:
            if (side->near >= 0 && send(side->near, data, length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                break;
        }
        data += length, size -= length;
        turn(front);
        check(front);
    }
    for (int k = 0; k < CLIENTS; k++) {
        if (sides[k].near >= 0) close(sides[k].near);
        if (sides[k].far >= 0) close(sides[k].far);
    }
    while (front->clients != NULL) end_client(front->clients);
    free_gone(front);
    if (front->calls != 0 || front->unfinished != 0 || front->held != 0 || front->oldest != NULL)
        abort();
    close(listening);
    free_front(front);
    return 0;
}
