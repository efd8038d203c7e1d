/* HTTP/2's frames. Source: RFC 9113. */
#include "front_parts.h"

#include <stdlib.h>
#include <string.h>

static const char PREFACE[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
enum { PREFACE_BYTES = sizeof PREFACE - 1, SETTING = 6 };
#define LARGEST_WINDOW 0x7fffffff
enum setting {
    MAX_CONCURRENT_STREAMS = 3,
    INITIAL_WINDOW_SIZE = 4,
    MAX_FRAME_SIZE = 5,
    ENABLE_PUSH = 2,
    MAX_HEADER_LIST_SIZE = 6
};

/* ---- what is sent ---- */

/* False: there is no memory, or the client takes none of the frames that it asks for. */
bool frames_put(struct client *client, uint8_t kind, uint8_t flags, uint32_t id,
                const void *payload, size_t length)
{
    const uint8_t head[FRONT_HEAD] = {
        (uint8_t)(length >> 16), (uint8_t)(length >> 8), (uint8_t)length,    kind,       flags,
        (uint8_t)(id >> 24),     (uint8_t)(id >> 16),    (uint8_t)(id >> 8), (uint8_t)id};
    if (client->out.length - client->out.at > FRONT_OUT_MOST) return false;
    return bytes_append(&client->out, head, sizeof head) &&
           bytes_append(&client->out, payload, length);
}

bool frames_put_number(struct client *client, uint8_t kind, uint32_t id, uint32_t number)
{
    const uint8_t payload[4] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16),
                                (uint8_t)(number >> 8), (uint8_t)number};
    return frames_put(client, kind, 0, id, payload, sizeof payload);
}

/* Says why the connection ends, or that it takes no further calls, as far as the socket takes it. */
void frames_go_away(struct client *client, uint8_t error)
{
    const uint8_t payload[8] = {(uint8_t)(client->last_id >> 24),
                                (uint8_t)(client->last_id >> 16),
                                (uint8_t)(client->last_id >> 8),
                                (uint8_t)client->last_id,
                                0,
                                0,
                                0,
                                error};
    if (client->begun && frames_put(client, GOAWAY, 0, 0, payload, sizeof payload))
        (void)client_send_out(client);
}

static bool fail(struct client *client, uint8_t error)
{
    frames_go_away(client, error);
    return false;
}

/* What moves nothing is counted: PING, SETTINGS, empty frames, frames of streams that have ended. */
static bool idle(struct client *client)
{
    return ++client->n_idle <= FRONT_IDLE_FRAMES || fail(client, ENHANCE_YOUR_CALM);
}

static bool greet(struct client *client)
{
    static const struct {
        uint16_t name;
        uint32_t value;
    } settings[] = {{MAX_CONCURRENT_STREAMS, FRONT_CALLS},
                    {INITIAL_WINDOW_SIZE, FRONT_STREAM_WINDOW},
                    {MAX_HEADER_LIST_SIZE, HPACK_MOST}};
    enum { N = sizeof settings / sizeof *settings };
    uint8_t payload[N * SETTING];
    for (int i = 0; i < N; i++) {
        uint8_t *at = payload + SETTING * i;
        at[0] = (uint8_t)(settings[i].name >> 8), at[1] = (uint8_t)settings[i].name;
        for (int k = 0; k < 4; k++) at[2 + k] = (uint8_t)(settings[i].value >> (24 - 8 * k));
    }
    return frames_put(client, SETTINGS, 0, 0, payload, sizeof payload) &&
           frames_put_number(client, WINDOW_UPDATE, 0, FRONT_WINDOW - 65535);
}

/* ---- windows that the server gives ---- */

/* A call's window is widened while its messages are worked at as they come. */
bool frames_widen(struct client *client, struct call *call)
{
    bool more_comes = call->method->is.kind == SW_FRONT_STREAM || !call->request_came;
    if (!more_comes || call->half || call->finished) return true;
    if (call->room > FRONT_STREAM_WINDOW / 2 || call->backlog > FRONT_BACKLOG) return true;
    uint32_t more = FRONT_STREAM_WINDOW - call->room;
    call->room = FRONT_STREAM_WINDOW;
    return frames_put_number(client, WINDOW_UPDATE, call->id, more);
}

/* The connection's is, whatever its calls do: what they hold has bounds of its own. */
static bool spend(struct client *client, uint32_t length)
{
    if (length > client->room) return fail(client, FLOW_CONTROL_ERROR);
    client->room -= length;
    if (client->room > FRONT_WINDOW / 2) return true;
    uint32_t more = FRONT_WINDOW - client->room;
    client->room = FRONT_WINDOW;
    return frames_put_number(client, WINDOW_UPDATE, 0, more);
}

/* ---- what comes ---- */

/* Takes off the padding. False: there is less than it pads. */
static bool unpad(const uint8_t **payload, uint32_t *length, uint8_t flags)
{
    if ((flags & PADDED) == 0) return true;
    if (*length == 0 || (*payload)[0] > *length - 1) return false;
    *length -= 1u + (*payload)[0];
    (*payload)++;
    return true;
}

static bool hear_data(struct client *client, uint32_t id, const uint8_t *payload, uint32_t length,
                      uint8_t flags)
{
    uint32_t whole = length;
    if (id == 0 || id > client->last_id || !unpad(&payload, &length, flags))
        return fail(client, PROTOCOL_ERROR);
    if (!spend(client, whole)) return false;
    bool ends = (flags & END_STREAM) != 0;
    if (length == 0 && !ends && !idle(client)) return false;
    struct call *call = call_of(client, id);
    if (call == NULL) return idle(client); /* on its way when the stream ended */
    if (call->half) return fail(client, STREAM_CLOSED);
    if (whole > call->room) return fail(client, FLOW_CONTROL_ERROR);
    call->room -= whole;
    call_data(call, payload, length);
    if (ends) call_half(call);
    return frames_widen(client, call);
}

static void ignore(void *of, struct hpack_view name, struct hpack_view value)
{
    (void)of, (void)name, (void)value;
}

/* A whole block of headers: a call's begin, or its end. */
static bool hear_block(struct client *client, uint32_t id, bool ends)
{
    struct bytes block = client->block;
    client->block = (struct bytes){0};
    client->block_id = 0;
    bool good;
    if (id > client->last_id) {
        client->last_id = id;
        good = call_begin(client, id, block.data, block.length, ends);
    } else {
        struct call *call = call_of(client, id);
        good = hpack_decode(&client->table, block.data, block.length, HPACK_MOST, ignore, NULL) ==
                   HPACK_GOOD ||
               fail(client, COMPRESSION_ERROR);
        if (good && call == NULL) good = idle(client);
        else if (good && (call->half || !ends)) good = fail(client, PROTOCOL_ERROR);
        else if (good) call_half(call);
    }
    bytes_drop(&block);
    return good;
}

static bool hear_headers(struct client *client, uint32_t id, const uint8_t *payload,
                         uint32_t length, uint8_t flags)
{
    if (id % 2 == 0 || !unpad(&payload, &length, flags)) return fail(client, PROTOCOL_ERROR);
    if ((flags & WITH_PRIORITY) != 0) {
        if (length < 5) return fail(client, FRAME_SIZE_ERROR);
        payload += 5, length -= 5;
    }
    client->block_id = id;
    client->block_ends = (flags & END_STREAM) != 0;
    if (!bytes_append(&client->block, payload, length)) return false;
    return (flags & END_HEADERS) == 0 || hear_block(client, id, client->block_ends);
}

static bool hear_continuation(struct client *client, uint32_t id, const uint8_t *payload,
                              uint32_t length, uint8_t flags)
{
    if (id == 0 || id != client->block_id) return fail(client, PROTOCOL_ERROR);
    if (client->block.length + length > HPACK_MOST) return fail(client, ENHANCE_YOUR_CALM);
    if (length == 0 && !idle(client)) return false;
    if (!bytes_append(&client->block, payload, length)) return false;
    return (flags & END_HEADERS) == 0 || hear_block(client, id, client->block_ends);
}

static bool hear_settings(struct client *client, uint32_t id, const uint8_t *payload,
                          uint32_t length, uint8_t flags)
{
    if (id != 0) return fail(client, PROTOCOL_ERROR);
    bool is_ack = (flags & ACK) != 0;
    if (length % SETTING != 0 || (is_ack && length != 0)) return fail(client, FRAME_SIZE_ERROR);
    if (is_ack) return idle(client);
    for (; length > 0; payload += SETTING, length -= SETTING) {
        uint32_t value = front_number(payload + 2, 4);
        switch (front_number(payload, 2)) {
        case INITIAL_WINDOW_SIZE:
            if (value > LARGEST_WINDOW) return fail(client, FLOW_CONTROL_ERROR);
            client->first_window = value; /* of the calls that there are, too: theirs is a sum */
            break;
        case MAX_FRAME_SIZE:
            if (value < FRONT_FRAME || value >= 1 << 24) return fail(client, PROTOCOL_ERROR);
            break;
        case ENABLE_PUSH:
            if (value > 1) return fail(client, PROTOCOL_ERROR);
            break;
        default: break;
        }
    }
    client->configured = true;
    return idle(client) && frames_put(client, SETTINGS, ACK, 0, NULL, 0);
}

static bool hear_window(struct client *client, uint32_t id, const uint8_t *payload, uint32_t length)
{
    if (length != 4) return fail(client, FRAME_SIZE_ERROR);
    uint32_t more = front_number(payload, 4) & LARGEST_WINDOW;
    struct call *call = id == 0 ? NULL : call_of(client, id);
    if (id > client->last_id || (id == 0 && more == 0)) return fail(client, PROTOCOL_ERROR);
    if (id == 0) {
        client->window += more;
        return client->window <= LARGEST_WINDOW || fail(client, FLOW_CONTROL_ERROR);
    }
    if (call == NULL) return idle(client);
    if (more == 0) return call_reset(call, PROTOCOL_ERROR);
    call->window += more;
    return call->window + client->first_window <= LARGEST_WINDOW ||
           call_reset(call, FLOW_CONTROL_ERROR);
}

static bool hear_reset(struct client *client, uint32_t id, uint32_t length)
{
    if (id == 0 || id > client->last_id) return fail(client, PROTOCOL_ERROR);
    if (length != 4) return fail(client, FRAME_SIZE_ERROR);
    struct call *call = call_of(client, id);
    if (call == NULL) return idle(client);
    /* A client that begins calls and ends them at once makes work that no bound of calls counts. */
    bool early = call->unfinished || call->busy || call->in.count > 0;
    if (early && ++client->n_regrets > FRONT_REGRETS) client_rest(client);
    call_detach(call);
    return true;
}

static bool hear(struct client *client, const uint8_t *frame, uint32_t length)
{
    const uint8_t *payload = frame + FRONT_HEAD;
    uint32_t id = front_number(frame + 5, 4) & LARGEST_WINDOW;
    uint8_t kind = frame[3], flags = frame[4];
    if (client->block_id != 0 && kind != CONTINUATION) return fail(client, PROTOCOL_ERROR);
    if (!client->configured && (kind != SETTINGS || (flags & ACK) != 0))
        return fail(client, PROTOCOL_ERROR);
    switch (kind) {
    case DATA: return hear_data(client, id, payload, length, flags);
    case HEADERS: return hear_headers(client, id, payload, length, flags);
    case CONTINUATION: return hear_continuation(client, id, payload, length, flags);
    case SETTINGS: return hear_settings(client, id, payload, length, flags);
    case WINDOW_UPDATE: return hear_window(client, id, payload, length);
    case RST_STREAM: return hear_reset(client, id, length);
    case PING:
        if (id != 0) return fail(client, PROTOCOL_ERROR);
        if (length != 8) return fail(client, FRAME_SIZE_ERROR);
        if (!idle(client)) return false;
        return (flags & ACK) != 0 || frames_put(client, PING, ACK, 0, payload, length);
    case PRIORITY:
        if (id == 0) return fail(client, PROTOCOL_ERROR);
        return length == 5 ? idle(client) : fail(client, FRAME_SIZE_ERROR);
    case PUSH_PROMISE: return fail(client, PROTOCOL_ERROR);
    case GOAWAY: return id == 0 ? idle(client) : fail(client, PROTOCOL_ERROR);
    default: return idle(client); /* of an extension */
    }
}

/* The connection's beginning, as far as it has come. */
static bool hear_preface(struct client *client, const uint8_t *data, size_t length)
{
    if (memcmp(data, PREFACE, length < PREFACE_BYTES ? length : PREFACE_BYTES) != 0) return false;
    if (length < PREFACE_BYTES) return true;
    client->begun = true;
    return greet(client);
}

/* Takes whole frames; keeps the rest. */
bool frames_take(struct client *client, const uint8_t *data, size_t length)
{
    struct bytes part = client->part;
    client->part = (struct bytes){0};
    bool good = part.length == 0 || bytes_append(&part, data, length);
    if (part.length > 0) data = part.data, length = part.length;
    size_t at = 0;
    if (good && !client->begun && length > 0) {
        good = hear_preface(client, data, length);
        at = client->begun ? PREFACE_BYTES : 0;
    }
    while (good && client->begun && client->rests_ns == 0 && length - at >= FRONT_HEAD) {
        uint32_t payload = front_number(data + at, 3);
        if (payload > FRONT_FRAME) good = fail(client, FRAME_SIZE_ERROR);
        if (!good || length - at < FRONT_HEAD + payload) break;
        good = hear(client, data + at, payload) && !client->gone;
        at += FRONT_HEAD + payload;
        /* in the middle of a block nothing of a call is whole */
        if (good && client->block_id == 0) calls_bound(client);
        good = good && !client->gone;
    }
    good = good && (at == length || bytes_append(&client->part, data + at, length - at));
    bytes_drop(&part);
    return good;
}
