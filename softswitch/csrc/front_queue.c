/* What workers get: the events of calls, by turns of their connections. Strangers' events have
 * workers of their own, as the favoured have, so that neither waits for the other's. */
#include "front_parts.h"

#include <stdlib.h>

static bool has_event(const struct call *call)
{
    return call->in.first != NULL || call->half_due || call->room_due;
}

static void add_client(struct client *client)
{
    struct share *share = &client->front->of[client->favoured];
    if (client->ready) return;
    client->ready = true;
    client->next_ready = NULL;
    if (share->last_ready != NULL) share->last_ready->next_ready = client;
    else share->first_ready = client;
    share->last_ready = client;
}

static void remove_client(struct client *client)
{
    struct share *share = &client->front->of[client->favoured];
    struct client *before = NULL;
    if (!client->ready) return;
    for (struct client *at = share->first_ready; at != client; at = at->next_ready) before = at;
    if (before != NULL) before->next_ready = client->next_ready;
    else share->first_ready = client->next_ready;
    if (share->last_ready == client) share->last_ready = before;
    client->ready = false;
}

void queue_add(struct call *call)
{
    struct client *client = call->client;
    if (call->busy || call->ready || call->finished || !has_event(call)) return;
    call->ready = true;
    call->next_ready = NULL;
    if (client->last_ready != NULL) client->last_ready->next_ready = call;
    else client->first_ready = call;
    client->last_ready = call;
    add_client(client);
    client->front->to_wake++;
}

void queue_remove(struct call *call)
{
    struct client *client = call->client;
    struct call *before = NULL;
    if (!call->ready) return;
    for (struct call *at = client->first_ready; at != call; at = at->next_ready) before = at;
    if (before != NULL) before->next_ready = call->next_ready;
    else client->first_ready = call->next_ready;
    if (client->last_ready == call) client->last_ready = before;
    call->ready = false;
    if (client->first_ready == NULL) remove_client(client);
}

/* The connection is about to be another share's. */
void queue_move(struct client *client, bool favoured)
{
    bool ready = client->ready, before = client->favoured;
    remove_client(client);
    client->favoured = favoured;
    if (ready) add_client(client);
    client->favoured = before;
    client->front->to_wake++;
}

void queue_add_ended(struct sw_front *front, struct call *call)
{
    struct share *share = &front->of[call->class];
    call->next_ready = NULL;
    if (share->last_ended != NULL) share->last_ended->next_ready = call;
    else share->first_ended = call;
    share->last_ended = call;
    front->to_wake++;
}

/* ---- taking ---- */

static bool is_message(const struct call *call)
{
    return !call->room_due && call->in.first != NULL;
}

static bool too_many_begun(const struct call *call, int class)
{
    const struct method *method = call->method;
    return is_message(call) && !call->begun && method->is.begun > 0 &&
           method->begun[class] >= method->is.begun;
}

/* Of what strangers may have of a method at once, a connection leaves the others some. */
static bool has_share(const struct call *call, int class)
{
    const struct method *method = call->method;
    uint32_t working = 0, begun = 0;
    if (class != 0 || (method->working[0] == 0 && method->begun[0] == 0)) return true;
    for (int i = 0; i < FRONT_BUCKETS; i++) {
        const struct call *at = call->client->buckets[i];
        for (; at != NULL; at = at->in_bucket) {
            working += at->method == method && at->busy;
            begun += at->method == method && at->begun;
        }
    }
    return 2 * working < method->is.at_once &&
           (call->begun || method->is.begun == 0 || 2 * begun < method->is.begun);
}

static bool may_work(const struct sw_front *front, const struct call *call, int class)
{
    const struct method *method = call->method;
    if (method->working[class] >= method->is.at_once || too_many_begun(call, class) ||
        !has_share(call, class))
        return false;
    if (!is_message(call)) return true;
    uint64_t parsed = front->of[class].parsed;
    uint64_t most = class ? front->limits.favoured_parsed : front->limits.parsed;
    return parsed == 0 || parsed + call->in.first->length <= most;
}

/* The next call that may be worked at. Its connection goes to the end. */
static struct call *choose(struct sw_front *front, int class)
{
    for (struct client *client = front->of[class].first_ready; client != NULL;
         client = client->next_ready) {
        for (struct call *call = client->first_ready; call != NULL; call = call->next_ready) {
            if (!may_work(front, call, class)) continue;
            queue_remove(call);
            if (client->ready) {
                remove_client(client);
                add_client(client);
            }
            return call;
        }
    }
    return NULL;
}

static void work_at(struct sw_front *front, struct call *call, uint8_t class)
{
    call->busy = true;
    call->work_class = class;
    call->method->working[class]++;
    front->of[class].working++;
}

static void fill_event(struct call *call, struct sw_front_event *event)
{
    const struct client *client = call->client;
    *event = (struct sw_front_event){
        .call = call->handle,
        .connection = client != NULL ? client->name : 0,
        .is_private = client != NULL && client->is_private,
        .kind = SW_FRONT_END,
    };
    if (client == NULL) {
        call->awaited = false;
    } else if (call->room_due) {
        call->room_due = false;
        event->kind = SW_FRONT_ROOM;
    } else if (call->in.first != NULL) {
        call->work = messages_take(&call->in);
        event->kind = SW_FRONT_MESSAGE;
        event->data = call->work->data;
        event->length = call->work->length;
        client->front->of[call->work_class].parsed += call->work->length;
        if (!call->begun && call->method->is.kind != SW_FRONT_STREAM) {
            call->begun = true;
            call->method->begun[client->favoured]++;
        }
    } else {
        call->half_due = false;
        event->kind = SW_FRONT_HALF;
    }
    if (client != NULL && call->method->is.kind == SW_FRONT_STREAM) call->awaited = true;
}

bool queue_take(struct sw_front *front, struct sw_front_event *event)
{
    for (int class = 1; class >= 0; class--) {
        struct share *share = &front->of[class];
        if (share->working >= front->limits.working) continue;
        struct call *call = share->first_ended;
        if (call != NULL) {
            share->first_ended = call->next_ready;
            if (share->first_ended == NULL) share->last_ended = NULL;
        } else {
            call = choose(front, class);
        }
        if (call == NULL) continue;
        work_at(front, call, (uint8_t)class);
        fill_event(call, event);
        event->method = (uint32_t)(call->method - front->methods);
        /* a worker that waits may get what else there is */
        if (share->first_ended != NULL || share->first_ready != NULL) front->to_wake++;
        return true;
    }
    return false;
}

void queue_done(struct sw_front *front, uint64_t handle)
{
    struct call *call = call_by(front, handle);
    if (call == NULL || !call->busy) return;
    call->busy = false;
    call->method->working[call->work_class]--;
    front->of[call->work_class].working--;
    if (call->work != NULL) {
        front->of[call->work_class].parsed -= call->work->length;
        call_drop_message(call, call->work);
        call->work = NULL;
    }
    struct client *client = call->client;
    if (client == NULL) {
        if (call->awaited) queue_add_ended(front, call);
        else call_free(front, call);
        return;
    }
    queue_add(call);
    bool good = frames_widen(client, call);
    if (client->out.length > 0) good = good && answers_send(client);
    if (good) client_watch(client);
    else client_end(client);
}

/* Where calls wait for those of their method that are begun, one that nobody takes goes. */
void queue_look(struct sw_front *front)
{
    for (uint8_t class = 0; class < 2; class++) {
        bool tried[FRONT_METHODS] = {false};
        for (struct client *client = front->of[class].first_ready; client != NULL;
             client = client->next_ready) {
            for (struct call *call = client->first_ready; call != NULL; call = call->next_ready) {
                bool *of_method = &tried[call->method - front->methods];
                if (*of_method || !too_many_begun(call, class)) continue;
                *of_method = true;
                if (answers_make_room(front, class, call->method, NULL)) front->to_wake++;
            }
        }
    }
}
