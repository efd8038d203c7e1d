/* What is sent: messages, and the ends of calls. A call's answer waits with the call, until its
 * client gives room for it and the socket has taken what was before. */
#include "front_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `:status: 200` and `content-type: application/grpc`, by HPACK's static table. */
static const uint8_t GOOD[] = "\x88\x0f\x10\x10"
                              "application/grpc";
enum { GOOD_BYTES = sizeof GOOD - 1 };
/* A block without calls of gRPC: `:status: 415`, an unsupported media type. */
static const uint8_t UNSUPPORTED[] = "\x08\x03"
                                     "415";

/* ---- blocks of headers ---- */

static bool put_text(struct bytes *block, const char *text, size_t length)
{
    uint8_t head[6];
    size_t n = 0, left = length;
    head[n++] = left < 127 ? (uint8_t)left : 127;
    if (left >= 127) {
        for (left -= 127; left >= 128; left >>= 7) head[n++] = (uint8_t)(left & 127) | 128;
        head[n++] = (uint8_t)left;
    }
    return bytes_append(block, head, n) && bytes_append(block, text, length);
}

/* A field that isn't to be kept. */
static bool put_field(struct bytes *block, const char *name, const char *value)
{
    return bytes_append(block, "", 1) && put_text(block, name, strlen(name)) &&
           put_text(block, value, strlen(value));
}

/* A line of UTF-8 as gRPC writes it into a header. */
static bool put_message(struct bytes *block, const char *text)
{
    static const char DIGITS[] = "0123456789ABCDEF";
    struct bytes encoded = {0};
    bool good = true;
    for (const char *at = text; good && *at != '\0'; at++) {
        uint8_t octet = (uint8_t)*at;
        const char code[3] = {'%', DIGITS[octet >> 4], DIGITS[octet & 15]};
        bool plain = octet >= ' ' && octet <= '~' && octet != '%';
        good = plain ? bytes_append(&encoded, at, 1) : bytes_append(&encoded, code, sizeof code);
    }
    good = good && bytes_append(&encoded, "", 1) &&
           put_field(block, "grpc-message", (const char *)encoded.data);
    bytes_drop(&encoded);
    return good;
}

static bool put_status(struct bytes *block, uint32_t code, const char *text, const char *details)
{
    char number[11];
    snprintf(number, sizeof number, "%u", code);
    return put_field(block, "grpc-status", number) && (*text == '\0' || put_message(block, text)) &&
           (details == NULL || put_field(block, "grpc-status-details-bin", details));
}

/* A block may take more than a frame. */
static bool put_block(struct client *client, uint32_t id, const uint8_t *data, size_t length,
                      uint8_t flags)
{
    uint8_t kind = HEADERS;
    do {
        size_t step = length < FRONT_FRAME ? length : FRONT_FRAME;
        length -= step;
        if (!frames_put(client, kind, flags | (length == 0 ? END_HEADERS : 0), id, data, step))
            return false;
        data += step;
        kind = CONTINUATION;
        flags = 0;
    } while (length > 0);
    return true;
}

/* ---- what waits ---- */

static void add_sending(struct call *call)
{
    struct client *client = call->client;
    if (call->sending) return;
    call->sending = true;
    call->next_sending = NULL;
    if (client->last_sending != NULL) client->last_sending->next_sending = call;
    else client->first_sending = call;
    client->last_sending = call;
}

static void remove_sending(struct call *call)
{
    struct client *client = call->client;
    struct call *before = NULL;
    if (!call->sending) return;
    for (struct call *at = client->first_sending; at != call; at = at->next_sending) before = at;
    if (before != NULL) before->next_sending = call->next_sending;
    else client->first_sending = call->next_sending;
    if (client->last_sending == call) client->last_sending = before;
    call->sending = false;
}

/* The client's time to take what waits begins anew. */
static void begin_wait(struct call *call)
{
    call->moved_ns = front_now();
    call->taken = 0;
}

static void count_waiting(struct call *call, int64_t octets)
{
    struct client *client = call->client;
    if (call->waiting == 0) begin_wait(call);
    call->waiting += (uint64_t)octets;
    client->waiting += (uint64_t)octets;
    client->front->of[client->favoured].waiting += (uint64_t)octets;
    if (client->waiting > FRONT_WINDOW) client->front->filled = true;
}

/* Drops all that waits of a call. */
void answer_drop(struct call *call)
{
    while (call->out.first != NULL) free(messages_take(&call->out));
    count_waiting(call, -(int64_t)call->waiting);
    remove_sending(call);
}

/* Whether an answer of so many octets is within the bounds. One that nobody takes makes room. */
static bool fits(struct call *call, uint64_t octets)
{
    struct client *client = call->client;
    struct sw_front *front = client->front;
    const struct sw_front_limits *limits = &front->limits;
    if (client->favoured) return client->waiting + octets <= limits->favoured_bytes;
    if (client->waiting + octets > limits->bytes_of_one) return false;
    while (front->of[0].waiting + octets > limits->bytes) {
        if (!answers_make_room(front, 0, NULL, call)) return false;
    }
    return true;
}

int answer_push(struct call *call, const uint8_t *data, uint32_t length, uint64_t most_bytes,
                uint32_t most_messages)
{
    uint64_t octets = (uint64_t)length + FRONT_PREFIX;
    if (call->finished) return SW_FRONT_GONE;
    if (call->waiting + octets > most_bytes || call->out.count >= most_messages ||
        !fits(call, octets))
        return SW_FRONT_REFUSED;
    struct message *message = malloc(sizeof *message + octets);
    if (message == NULL) return SW_FRONT_REFUSED;
    *message = (struct message){.length = (uint32_t)octets};
    message->data[0] = 0;
    for (int i = 0; i < 4; i++) message->data[1 + i] = (uint8_t)(length >> (24 - 8 * i));
    if (length > 0) memcpy(message->data + FRONT_PREFIX, data, length);
    count_waiting(call, (int64_t)octets);
    messages_add(&call->out, message);
    add_sending(call);
    return SW_FRONT_SENT;
}

void answer_finish(struct call *call, uint32_t code, const char *text, const char *details)
{
    if (call->finished) return;
    call_stop(call);
    call->finished = true;
    call->full = false;
    if (!put_status(&call->trailers, code, text, details)) bytes_drop(&call->trailers);
    add_sending(call);
}

/* At once: windows bound messages alone, so that a client that takes nothing gets it as well. A
 * call that has its status keeps it, and what waits before it: a shorter answer would look whole. */
void answer_abort(struct call *call, uint32_t code, const char *text)
{
    if (call->finished) return;
    answer_drop(call);
    answer_finish(call, code, text, NULL);
}

/* Ends a call that isn't gRPC's, or of no method, or whose messages are compressed. */
void answer_unserved(struct call *call, bool is_grpc, bool encoded)
{
    if (!is_grpc) {
        call->headers_sent = call->finished = true;
        if (!bytes_append(&call->trailers, UNSUPPORTED, sizeof UNSUPPORTED - 1))
            bytes_drop(&call->trailers);
        add_sending(call);
        return;
    }
    answer_finish(call, CODE_UNIMPLEMENTED,
                  encoded ? "compressed messages aren't taken" : "no such method", NULL);
    if (encoded && !put_field(&call->trailers, "grpc-accept-encoding", "identity"))
        bytes_drop(&call->trailers);
}

/* Ends the call of a share that has taken nothing for longest, if that is long enough: of a
 * method's those whose answers aren't all made, else any but `not_this`. False: there is none. */
bool answers_make_room(struct sw_front *front, uint8_t class, const struct method *method,
                       const struct call *not_this)
{
    struct call *choice = NULL;
    uint64_t now = front_now();
    for (uint32_t i = 0; i < front->n_places; i++) {
        struct call *call = front->places[i].call;
        if (call == NULL || call->client == NULL || call->client->favoured != class) continue;
        bool waits = call->waiting > 0 && (call->finished || call->full);
        if (!waits || call == not_this ||
            (method != NULL && (call->method != method || !call->begun)))
            continue;
        if (!front_elapsed(now, call->moved_ns, front->limits.room_ns)) continue;
        if (choice == NULL || call->moved_ns < choice->moved_ns) choice = call;
    }
    if (choice == NULL) return false;
    struct client *client = choice->client;
    if (call_reset(choice, CANCEL) && client_send_out(client)) client_watch(client);
    /* not ended here: the caller may be at work with it */
    return true;
}

/* ---- sending ---- */

/* Frames as much as a call may send in a frame, or its end. 0: nothing; -1: the connection ends. */
static int frame(struct client *client, struct call *call)
{
    struct message *message = call->out.first;
    if (message == NULL && !call->finished) {
        remove_sending(call);
        return 0;
    }
    if (message == NULL) {
        struct bytes block = {0};
        bool good = (call->headers_sent || bytes_append(&block, GOOD, GOOD_BYTES)) &&
                    bytes_append(&block, call->trailers.data, call->trailers.length) &&
                    put_block(client, call->id, block.data, block.length, END_STREAM);
        bytes_drop(&block);
        /* nothing more of its client is awaited */
        if (good && !call->half) good = frames_put_number(client, RST_STREAM, call->id, NO_ERROR);
        call_detach(call);
        return good ? 1 : -1;
    }
    int64_t room = client->first_window + call->window;
    if (room > client->window) room = client->window;
    if (room > FRONT_FRAME) room = FRONT_FRAME;
    if (room <= 0) return 0;
    if (!call->headers_sent && !put_block(client, call->id, GOOD, GOOD_BYTES, 0)) return -1;
    call->headers_sent = true;
    uint32_t step = message->length - message->moved;
    if (step > room) step = (uint32_t)room;
    if (!frames_put(client, DATA, 0, call->id, message->data + message->moved, step)) return -1;
    message->moved += step;
    client->window -= step;
    call->window -= step;
    /* who takes an octet at a time has no more time than who takes none */
    call->taken += step;
    if (call->taken >= FRONT_FRAME) begin_wait(call);
    if (message->moved == message->length) {
        count_waiting(call, -(int64_t)message->length);
        free(messages_take(&call->out));
    }
    if (call->full && call->waiting < FRONT_MARK / 2) {
        call->full = false;
        call->room_due = true;
        queue_add(call);
    }
    return 1;
}

/* Each call in its turn: the first goes to the end, until none may send anything. False: the
 * connection ends. */
static bool frame_all(struct client *client, bool *framed)
{
    struct call *stop = NULL; /* the first of those that couldn't */
    *framed = false;
    while (client->out.length - client->out.at < FRONT_OUT && client->first_sending != NULL) {
        struct call *call = client->first_sending;
        if (call == stop) break;
        uint64_t handle = call->handle;
        int did = frame(client, call);
        if (did < 0) return false;
        if (did > 0) {
            *framed = true;
            stop = NULL;
        }
        if (call_by(client->front, handle) != call || !call->sending) continue;
        if (did == 0 && stop == NULL) stop = call;
        if (client->last_sending == call) {
            if (did == 0) break;
            continue;
        }
        client->first_sending = call->next_sending;
        client->last_sending->next_sending = call;
        client->last_sending = call;
        call->next_sending = NULL;
    }
    return true;
}

bool answers_send(struct client *client)
{
    bool framed;
    if (client->gone) return false;
    do {
        if (!frame_all(client, &framed) || !client_send_out(client)) return false;
    } while (framed && client->out.length == 0);
    return true;
}
