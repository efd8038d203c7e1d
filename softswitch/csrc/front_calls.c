/* Calls: the messages that come on them, and the bounds of what they hold. */
#include "front_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 1 << 20, FIRST_ROOM = 4096 };
#define ONLY_PRIMARY ": this connection has no stream of a primary"

/* ---- those that there are ---- */

static struct call **bucket_of(const struct client *client, uint32_t id)
{
    return (struct call **)&client->buckets[id / 2 % FRONT_BUCKETS];
}

struct call *call_of(const struct client *client, uint32_t id)
{
    struct call *call = *bucket_of(client, id);
    while (call != NULL && call->id != id) call = call->in_bucket;
    return call;
}

struct call *call_by(const struct sw_front *front, uint64_t handle)
{
    uint32_t place = (uint32_t)handle;
    if (place >= front->n_places || front->places[place].call == NULL) return NULL;
    return front->places[place].serial == handle >> 32 ? front->places[place].call : NULL;
}

/* A handle is of a place and of those that had it before. False: there is no memory. */
static bool give_handle(struct sw_front *front, struct call *call)
{
    if (front->free_place == front->n_places) {
        uint32_t n = front->n_places == 0 ? 64 : 2 * front->n_places;
        struct place *places = realloc(front->places, n * sizeof *places);
        if (places == NULL) return false;
        for (uint32_t i = front->n_places; i < n; i++)
            places[i] = (struct place){.next_free = i + 1};
        front->places = places;
        front->n_places = n;
    }
    struct place *place = &front->places[front->free_place];
    uint32_t number = front->free_place;
    front->free_place = place->next_free;
    place->call = call;
    place->serial = ++front->serials & 0xffffffff; /* a call lives for less than 2^32 others */
    call->handle = place->serial << 32 | number;
    front->n_calls++;
    return true;
}

/* Adds what a call holds to the sums of its share, or takes it off. */
void call_count(struct call *call, int sign)
{
    struct client *client = call->client;
    struct share *share = &client->front->of[client->favoured];
    share->calls += (uint32_t)sign;
    share->unfinished += call->unfinished ? (uint32_t)sign : 0;
    share->held += sign > 0 ? call->held : -call->held;
    share->waiting += sign > 0 ? call->waiting : -call->waiting;
    call->method->begun[client->favoured] += call->begun ? (uint32_t)sign : 0;
}

static void hold(struct call *call, uint64_t octets)
{
    struct client *client = call->client;
    call->held += octets;
    client->held += octets;
    client->front->of[client->favoured].held += octets;
    if (client->held > LARGE) client->front->filled = true;
}

/* ---- the list of those that hold something ---- */

static void unlist(struct call *call)
{
    struct sw_front *front = call->client->front;
    if (!call->listed) return;
    if (call->older != NULL) call->older->newer = call->newer;
    else front->oldest = call->newer;
    if (call->newer != NULL) call->newer->older = call->older;
    else front->newest = call->older;
    call->listed = false;
}

static void list(struct call *call)
{
    struct sw_front *front = call->client->front;
    unlist(call);
    call->older = front->newest;
    call->newer = NULL;
    if (front->newest != NULL) front->newest->newer = call;
    else front->oldest = call;
    front->newest = call;
    call->listed = true;
}

static void unfinish(struct call *call)
{
    if (call->unfinished) return;
    call->unfinished = true;
    call->since_ns = front_now();
    list(call);
    call->client->n_unfinished++;
    call->client->front->of[call->client->favoured].unfinished++;
}

static void finish(struct call *call)
{
    if (!call->unfinished) return;
    call->unfinished = false;
    call->client->n_unfinished--;
    call->client->front->of[call->client->favoured].unfinished--;
}

/* ---- begins and ends ---- */

/* NULL: there is no memory. `method` is NULL where the call has none. */
struct call *call_add(struct client *client, uint32_t id, struct method *method)
{
    struct sw_front *front = client->front;
    struct call *call = calloc(1, sizeof *call);
    if (call == NULL || !give_handle(front, call)) {
        free(call);
        return NULL;
    }
    call->client = client;
    call->method = method != NULL ? method : &front->none;
    call->id = id;
    call->room = FRONT_STREAM_WINDOW;
    call->in_bucket = *bucket_of(client, id);
    *bucket_of(client, id) = call;
    client->n_calls++;
    call_count(call, 1);
    return call;
}

/* Its request is awaited from now on. Until it is there no worker knows of the call. */
void call_start(struct call *call) { unfinish(call); }

/* Frees a call that no list has, and no worker. */
void call_free(struct sw_front *front, struct call *call)
{
    uint32_t place = (uint32_t)call->handle;
    front->places[place].call = NULL;
    front->places[place].next_free = front->free_place;
    front->free_place = place;
    if (--front->n_calls == 0) pthread_cond_broadcast(&front->calm);
    while (call->in.first != NULL) free(messages_take(&call->in));
    while (call->out.first != NULL) free(messages_take(&call->out));
    free(call->part);
    free(call->work);
    bytes_drop(&call->trailers);
    free(call);
}

/* Its stream has ended. Workers that know of the call are told; the one that works at it may go
 * on. */
void call_detach(struct call *call)
{
    struct client *client = call->client;
    struct sw_front *front = client->front;
    finish(call);
    unlist(call);
    queue_remove(call);
    answer_drop(call);
    call_count(call, -1);
    client->held -= call->held;
    struct call **at = bucket_of(client, call->id);
    while (*at != call) at = &(*at)->in_bucket;
    *at = call->in_bucket;
    client->n_calls--;
    call->class = client->favoured;
    call->client = NULL;
    if (call->busy) return;
    if (call->awaited) queue_add_ended(front, call);
    else call_free(front, call);
}

bool call_reset(struct call *call, uint8_t error)
{
    struct client *client = call->client;
    uint32_t id = call->id;
    call_detach(call);
    return frames_put_number(client, RST_STREAM, id, error);
}

/* Ends a call for what it holds; its connection then rests. */
static void end_call(struct call *call, uint8_t error)
{
    struct client *client = call->client;
    client_rest(client);
    if (call_reset(call, error) && client_send_out(client)) client_watch(client);
    else client_end(client);
}

/* Ends the first call of the stranger that has most, which `client` then has room for. False: none
 * has two more than it. Who takes an answer an octet at a time keeps nobody out. */
bool calls_make_room(const struct client *client)
{
    struct client *most = NULL;
    struct call *choice = NULL;
    for (struct client *at = client->front->clients; at != NULL; at = at->after) {
        if (!at->favoured && (most == NULL || at->n_calls > most->n_calls)) most = at;
    }
    if (most == NULL || most->n_calls < client->n_calls + 2) return false;
    for (int i = 0; i < FRONT_BUCKETS; i++) {
        for (struct call *call = most->buckets[i]; call != NULL; call = call->in_bucket) {
            if (choice == NULL || call->id < choice->id) choice = call;
        }
    }
    /* as answers_make_room: ends no connection, since the caller may be at work with it */
    if (call_reset(choice, ENHANCE_YOUR_CALM) && client_send_out(most)) client_watch(most);
    return true;
}

/* ---- bounds ---- */

/* The oldest unfinished call of a connection; of any stranger's that has as much as the one that
 * has most, if it is NULL. */
static struct call *oldest(struct sw_front *front, const struct client *of, bool by_bytes)
{
    struct call *choice = NULL;
    for (struct call *call = front->oldest; call != NULL; call = call->newer) {
        const struct client *client = call->client;
        if (of != NULL ? client != of : client->favoured) continue;
        /* what a worker has is bounded by what workers have at once */
        if (by_bytes ? call->held == 0 || call->busy : !call->unfinished) continue;
        if (choice == NULL) choice = call;
        else if (by_bytes ? client->held > choice->client->held
                          : client->n_unfinished > choice->client->n_unfinished)
            choice = call;
    }
    return choice;
}

/* Ends calls until all bounds hold that this connection may have reached. It may be among those
 * that end. */
void calls_bound(struct client *client)
{
    struct sw_front *front = client->front;
    const struct sw_front_limits *limits = &front->limits;
    const struct share *strangers = &front->of[0];
    struct call *call;
    /* a primary may write much at once: its bytes are bounded below, its calls by FRONT_CALLS */
    while (!client->gone && !client->favoured && client->n_unfinished > limits->unfinished_of_one &&
           (call = oldest(front, client, false)) != NULL) {
        end_call(call, ENHANCE_YOUR_CALM);
    }
    uint64_t most = client->favoured ? limits->favoured_bytes : limits->bytes_of_one;
    while (!client->gone && client->held > most && (call = oldest(front, client, true)) != NULL)
        end_call(call, ENHANCE_YOUR_CALM);
    while (strangers->unfinished > limits->unfinished &&
           (call = oldest(front, NULL, false)) != NULL)
        end_call(call, ENHANCE_YOUR_CALM);
    while (strangers->held > limits->bytes && (call = oldest(front, NULL, true)) != NULL)
        end_call(call, ENHANCE_YOUR_CALM);
}

/* A call of which something waits that its client doesn't take. */
static bool untaken(const struct call *call, uint64_t now)
{
    return call->waiting > 0 && (call->finished || call->full) &&
           front_elapsed(now, call->moved_ns, call->client->front->limits.patience_ns);
}

/* Ends calls that let the server wait for too long, and those whose time is over. */
void calls_look(struct sw_front *front, uint64_t now)
{
    for (struct call *call = front->oldest, *newer; call != NULL; call = newer) {
        newer = call->newer;
        if (!front_elapsed(now, call->since_ns, front->limits.patience_ns)) break;
        if (!call->unfinished) continue;
        end_call(call, CANCEL);
        newer = front->oldest; /* its connection may have ended, with others of the list */
    }
    front->due_ns = 0;
    for (uint32_t i = 0; i < front->n_places; i++) {
        struct call *call = front->places[i].call;
        if (call == NULL || call->client == NULL) continue;
        struct client *client = call->client;
        bool good = true;
        if (untaken(call, now)) {
            good = call_reset(call, CANCEL) && answers_send(client);
        } else if (call->deadline_ns != 0 && now >= call->deadline_ns) {
            call->deadline_ns = 0;
            answer_abort(call, CODE_DEADLINE_EXCEEDED, "the call's time is over");
            good = answers_send(client);
        } else if (call->deadline_ns != 0 &&
                   (front->due_ns == 0 || call->deadline_ns < front->due_ns)) {
            front->due_ns = call->deadline_ns;
        }
        if (good) client_watch(client);
        else client_end(client);
    }
}

/* ---- messages ---- */

/* Octets that a message counts for. */
static uint64_t cost(const struct message *message) { return message->length + sizeof *message; }

static void whole(struct call *call)
{
    struct message *message = call->part;
    call->part = NULL;
    call->n_prefix = 0;
    call->request_came = true;
    call->backlog += (uint32_t)cost(message);
    messages_add(&call->in, message);
    finish(call);
    queue_add(call);
}

/* A message's prefix has come. False: the call has ended. */
static bool announce(struct call *call)
{
    uint32_t length = front_number(call->prefix + 1, 4);
    uint32_t room = length < FIRST_ROOM ? length : FIRST_ROOM;
    char text[SW_FRONT_ERROR];
    if (call->prefix[0] != 0) {
        answer_abort(call, CODE_UNIMPLEMENTED, "compressed messages aren't taken");
        return false;
    }
    const uint32_t *most = call->method->is.most;
    bool favoured = call->client->favoured;
    if (length > most[favoured]) {
        snprintf(text, sizeof text, "a message of %u bytes is larger than %u%s", length,
                 most[favoured], favoured || length > most[1] ? "" : ONLY_PRIMARY);
        answer_abort(call, CODE_RESOURCE_EXHAUSTED, text);
        return false;
    }
    call->part = malloc(sizeof *call->part + room);
    if (call->part == NULL) {
        answer_abort(call, CODE_RESOURCE_EXHAUSTED, "the switch is out of memory");
        return false;
    }
    *call->part = (struct message){.length = length, .room = room};
    hold(call, sizeof *call->part);
    if (length == 0) whole(call);
    return true;
}

/* Adds octets to the message on its way, whose memory grows with what has come. */
static bool fill(struct call *call, const uint8_t *data, uint32_t length)
{
    struct message *part = call->part;
    if (part->moved + length > part->room) {
        uint64_t room = 2 * (uint64_t)part->room;
        if (room < part->moved + length) room = part->moved + length;
        if (room > part->length) room = part->length;
        part = realloc(part, sizeof *part + room);
        if (part == NULL) {
            answer_abort(call, CODE_RESOURCE_EXHAUSTED, "the switch is out of memory");
            return false;
        }
        part->room = (uint32_t)room;
        call->part = part;
    }
    memcpy(part->data + part->moved, data, length);
    part->moved += length;
    hold(call, length);
    if (part->moved == part->length) whole(call);
    return true;
}

/* Messages, or parts of them. What comes after the one request of a call that has one, or after
 * the server has ended the call, is passed over. */
void call_data(struct call *call, const uint8_t *data, size_t length)
{
    bool is_stream = call->method->is.kind == SW_FRONT_STREAM;
    while (length > 0 && !call->finished && (is_stream || !call->request_came)) {
        size_t step = FRONT_PREFIX - call->n_prefix;
        unfinish(call);
        if (step > 0) {
            if (step > length) step = length;
            memcpy(call->prefix + call->n_prefix, data, step);
            call->n_prefix += (uint8_t)step;
            if (call->n_prefix == FRONT_PREFIX && !announce(call)) return;
        } else {
            step = call->part->length - call->part->moved;
            if (step > length) step = length;
            if (!fill(call, data, (uint32_t)step)) return;
        }
        data += step;
        length -= step;
    }
}

/* The client sends no more. */
void call_half(struct call *call)
{
    call->half = true;
    if (call->finished) return;
    if (call->n_prefix > 0)
        answer_abort(call, CODE_INVALID_ARGUMENT, "the request ends within a message");
    else if (call->method->is.kind == SW_FRONT_STREAM) {
        call->half_due = true;
        finish(call);
        if (call->held == 0) unlist(call);
        queue_add(call);
    } else if (!call->request_came) {
        answer_abort(call, CODE_INVALID_ARGUMENT, "no request came");
    }
}

/* Takes back what a worker, or nobody any more, has of a call's message. */
void call_drop_message(struct call *call, struct message *message)
{
    uint64_t octets = cost(message);
    free(message);
    if (call->client == NULL) return;
    call->backlog -= (uint32_t)octets;
    call->held -= octets;
    call->client->held -= octets;
    call->client->front->of[call->client->favoured].held -= octets;
    if (call->held == 0 && !call->unfinished) unlist(call);
}

/* The server has ended the call: nothing of its requests is worked at any more. */
void call_stop(struct call *call)
{
    while (call->in.first != NULL) call_drop_message(call, messages_take(&call->in));
    if (call->part != NULL) {
        call->part->length = call->part->moved;
        call->backlog += (uint32_t)cost(call->part);
        call_drop_message(call, call->part);
        call->part = NULL;
    }
    finish(call);
    if (call->held == 0) unlist(call);
    if (call->begun) call->method->begun[call->client->favoured]--;
    call->begun = call->half_due = call->room_due = false;
    queue_remove(call);
}
