/* How calls begin: what the front reads of their headers. Source: gRPC over HTTP2, "Requests". */
#include "front_parts.h"

#include <string.h>

enum { TIMEOUT_DIGITS = 8 };

/* What the front reads of a call's headers. */
struct request {
    struct sw_front *front;
    struct method *method;
    uint64_t timeout_ns;
    bool post, grpc, encoded;
};

static bool is(struct hpack_view view, const char *text)
{
    return view.length == strlen(text) && memcmp(view.data, text, view.length) == 0;
}

/* Nanoseconds of a grpc-timeout; 0: it is none, or longer than any. */
static uint64_t timeout_of(struct hpack_view value)
{
    static const struct {
        char unit;
        uint64_t ns;
    } units[] = {{'H', 3600000000000}, {'M', 60000000000}, {'S', 1000000000},
                 {'m', 1000000},       {'u', 1000},        {'n', 1}};
    uint64_t number = 0;
    if (value.length < 2 || value.length > TIMEOUT_DIGITS + 1) return 0;
    for (size_t i = 0; i + 1 < value.length; i++) {
        if (value.data[i] < '0' || value.data[i] > '9') return 0;
        number = 10 * number + (uint64_t)(value.data[i] - '0');
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (value.data[value.length - 1] != (uint8_t)units[i].unit) continue;
        if (number > (UINT64_MAX >> 2) / units[i].ns) return 0;
        return number == 0 ? 1 : number * units[i].ns;
    }
    return 0;
}

static void field(void *of, struct hpack_view name, struct hpack_view value)
{
    static const char GRPC[] = "application/grpc";
    struct request *request = of;
    if (is(name, ":path")) {
        for (uint32_t i = 0; i < request->front->n_methods; i++) {
            struct method *method = &request->front->methods[i];
            if (method->length == value.length &&
                memcmp(method->is.path, value.data, value.length) == 0)
                request->method = method;
        }
    } else if (is(name, ":method")) {
        request->post = is(value, "POST");
    } else if (is(name, "content-type")) {
        size_t length = sizeof GRPC - 1;
        request->grpc =
            value.length >= length && memcmp(value.data, GRPC, length) == 0 &&
            (value.length == length || value.data[length] == '+' || value.data[length] == ';');
    } else if (is(name, "grpc-timeout")) {
        request->timeout_ns = timeout_of(value);
    } else if (is(name, "grpc-encoding")) {
        request->encoded = !is(value, "identity");
    }
}

static void regret(struct client *client)
{
    if (++client->n_regrets > FRONT_REGRETS) client_rest(client);
}

bool call_begin(struct client *client, uint32_t id, const uint8_t *block, size_t length, bool ends)
{
    struct sw_front *front = client->front;
    struct request request = {.front = front};
    enum hpack_status status =
        hpack_decode(&client->table, block, length, HPACK_MOST, field, &request);
    if (status != HPACK_GOOD) {
        frames_go_away(client, status == HPACK_MALFORMED ? COMPRESSION_ERROR : ENHANCE_YOUR_CALM);
        return false;
    }
    client->spoke_ns = front_now();
    bool full = client->n_calls >= FRONT_CALLS ||
                (!client->favoured && front->of[0].calls >= front->limits.calls &&
                 !answers_make_room(front, 0, NULL, NULL) && !calls_make_room(client));
    struct call *call = full || front->refusing ? NULL : call_add(client, id, request.method);
    if (call == NULL) {
        regret(client);
        return frames_put_number(client, RST_STREAM, id, REFUSED_STREAM);
    }
    call->half = ends;
    if (request.method == NULL || !request.post || !request.grpc || request.encoded) {
        regret(client);
        answer_unserved(call, request.post && request.grpc, request.encoded);
        return true;
    }
    if (request.timeout_ns != 0) {
        call->deadline_ns = client->spoke_ns + request.timeout_ns;
        if (front->due_ns == 0 || call->deadline_ns < front->due_ns)
            front->due_ns = call->deadline_ns;
    }
    call_start(call);
    if (ends) call_half(call);
    return true;
}
