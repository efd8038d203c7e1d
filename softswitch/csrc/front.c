/* The front: its sockets, its thread, and what the server's workers call. */
#define _GNU_SOURCE
#include "front_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { HELD = 1 << 20 };
#define TRIM_NS 2000000000u /* memory is given back at most so often: all threads wait for it */

uint64_t front_now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

uint32_t front_number(const uint8_t *at, int octets)
{
    uint32_t value = 0;
    for (int i = 0; i < octets; i++) value = value << 8 | at[i];
    return value;
}

/* ---- octets and messages ---- */

bool bytes_append(struct bytes *bytes, const void *data, size_t length)
{
    if (length == 0) return true;
    if (bytes->length + length > bytes->room && bytes->at > 0) {
        bytes->length -= bytes->at;
        memmove(bytes->data, bytes->data + bytes->at, bytes->length);
        bytes->at = 0;
    }
    if (bytes->length + length > bytes->room) {
        size_t room = bytes->length + length;
        if (room < 2 * bytes->room) room = 2 * bytes->room;
        uint8_t *larger = realloc(bytes->data, room);
        if (larger == NULL) return false;
        bytes->data = larger;
        bytes->room = room;
    }
    memcpy(bytes->data + bytes->length, data, length);
    bytes->length += length;
    return true;
}

void bytes_drop(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){0};
}

void messages_add(struct messages *messages, struct message *message)
{
    message->next = NULL;
    if (messages->last != NULL) messages->last->next = message;
    else messages->first = message;
    messages->last = message;
    messages->count++;
}

struct message *messages_take(struct messages *messages)
{
    struct message *message = messages->first;
    messages->first = message->next;
    if (messages->first == NULL) messages->last = NULL;
    messages->count--;
    return message;
}

/* ---- the lock ---- */

void front_lock(struct sw_front *front)
{
    pthread_mutex_lock(&front->next);
    pthread_mutex_lock(&front->lock);
    pthread_mutex_unlock(&front->next);
}

/* Workers are woken without the lock, which they want first. */
void front_unlock(struct sw_front *front)
{
    uint32_t n = front->to_wake < front->waiting ? front->to_wake : front->waiting;
    front->to_wake = 0;
    pthread_mutex_unlock(&front->lock);
    for (; n > 0; n--) pthread_cond_signal(&front->work);
}

/* False: this is a child of the process whose front it is, and has none of its threads. */
static bool enter(struct sw_front *front)
{
    if (front->process != getpid()) return false;
    front_lock(front);
    return true;
}

static void ring(struct sw_front *front)
{
    const uint64_t once = 1;
    if (write(front->bell, &once, sizeof once) < 0) return; /* it rings already */
}

/* ---- the thread ---- */

/* The last descriptor is kept for a client that comes when there is none: it takes a quiet
 * one's. */
static void accept_all(struct sw_front *front, uint32_t place)
{
    int listening = front->listening[place];
    for (int i = 0; i < FRONT_EVENTS; i++) {
        int fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE) && front->spare >= 0) {
            client_make_room(front);
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
        if (front->n_clients >= front->limits.connections && !client_make_room(front)) close(fd);
        else client_add(front, fd, front->private_at[place]);
    }
}

static void look(struct sw_front *front)
{
    uint64_t now = front_now();
    bool late = front->due_ns != 0 && now >= front->due_ns;
    if (now - front->looked_ns < FRONT_LOOK_NS && !late) return;
    front->looked_ns = now;
    if (front->filled && front->of[0].held + front->of[0].waiting < HELD &&
        now - front->trimmed_ns > TRIM_NS) {
        front->filled = false;
        front->trimmed_ns = now;
#ifdef __GLIBC__
        malloc_trim(0); /* else what was freed stays the process's */
#endif
    }
    calls_look(front, now);
    queue_look(front);
    clients_look(front, now);
}

/* Milliseconds until there is something to look at; -1: not before something comes. */
static int wait_ms(const struct sw_front *front)
{
    bool waits = front->oldest != NULL || front->filled || front->of[0].first_ready != NULL ||
                 front->of[1].first_ready != NULL || clients_wait(front);
    if (waits) return FRONT_LOOK_NS / 1000000;
    if (front->due_ns == 0) return -1;
    uint64_t now = front_now(), wait_ns = front->due_ns > now ? front->due_ns - now : 0;
    return wait_ns > 1000000000000 ? 1000000 : (int)(wait_ns / 1000000) + 1;
}

static void *run(void *argument)
{
    struct sw_front *front = argument;
    front_lock(front);
    while (!front->ending) {
        struct epoll_event events[FRONT_EVENTS];
        int ms = wait_ms(front);
        front->asleep = ms < 0;
        front_unlock(front);
        int count = epoll_wait(front->epoll, events, FRONT_EVENTS, ms);
        front_lock(front);
        front->asleep = false;
        for (int i = 0; i < count; i++) {
            uint64_t place = (uint64_t)(uintptr_t)events[i].data.ptr;
            uint64_t rung;
            if (place > FRONT_LISTENING) client_serve(events[i].data.ptr, events[i].events);
            else if (place < front->n_listening) accept_all(front, (uint32_t)place);
            else if (place == FRONT_LISTENING && read(front->bell, &rung, sizeof rung) < 0)
                continue;
            /* between two clients workers have their turn */
            front_unlock(front);
            front_lock(front);
        }
        look(front);
        clients_free_gone(front);
    }
    while (front->clients != NULL) client_end(front->clients);
    clients_free_gone(front);
    front_unlock(front);
    return NULL;
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

static void free_front(struct sw_front *front)
{
    for (uint32_t i = 0; i < front->n_places; i++) {
        if (front->places[i].call != NULL) call_free(front, front->places[i].call);
    }
    free(front->places);
    for (uint32_t i = 0; i < front->n_methods; i++) free((char *)front->methods[i].is.path);
    for (uint32_t i = 0; i < front->n_listening; i++) close(front->listening[i]);
    if (front->epoll >= 0) close(front->epoll);
    if (front->bell >= 0) close(front->bell);
    if (front->spare >= 0) close(front->spare);
    pthread_cond_destroy(&front->work);
    pthread_cond_destroy(&front->calm);
    pthread_mutex_destroy(&front->lock);
    pthread_mutex_destroy(&front->next);
    free(front);
}

static struct sw_front *make(const struct sw_front_limits *limits)
{
    struct sw_front *front = calloc(1, sizeof *front);
    if (front == NULL) return NULL;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&front->lock, NULL);
    pthread_mutex_init(&front->next, NULL);
    pthread_cond_init(&front->work, NULL);
    pthread_cond_init(&front->calm, &monotonic);
    pthread_condattr_destroy(&monotonic);
    front->limits = *limits;
    front->process = getpid();
    front->epoll = front->bell = front->spare = -1;
    front->filled = true; /* by the switch's start, which has freed most of it */
    return front;
}

static bool add_methods(struct sw_front *front, const struct sw_front_method *methods, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        char *path = strdup(methods[i].path);
        if (path == NULL) return false;
        front->methods[front->n_methods] =
            (struct method){.is = methods[i], .length = strlen(path)};
        front->methods[front->n_methods++].is.path = path;
    }
    return true;
}

static bool listen_at(struct sw_front *front, int fd)
{
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    uint32_t place = front->n_listening;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = place};
    if (getsockname(fd, (struct sockaddr *)&name, &size) != 0 ||
        fcntl(fd, F_SETFL, O_NONBLOCK) != 0 ||
        epoll_ctl(front->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        return false;
    front->private_at[place] = name.ss_family == AF_UNIX;
    front->listening[front->n_listening++] = fd;
    return true;
}

/* The numbers of the listening sockets, and FRONT_LISTENING for the bell, stand for pointers in
 * epoll's events. */
struct sw_front *sw_front_open(const int *listening, uint32_t n_listening,
                               const struct sw_front_method *methods, uint32_t n_methods,
                               const struct sw_front_limits *limits, char error[SW_FRONT_ERROR])
{
    struct sw_front *front = make(limits);
    bool few = n_listening <= FRONT_LISTENING && n_methods <= FRONT_METHODS;
    if (front == NULL || !few) {
        snprintf(error, SW_FRONT_ERROR, "%s", few ? "no memory" : "too many addresses or methods");
        if (front != NULL) free_front(front);
        return NULL;
    }
    front->epoll = epoll_create1(EPOLL_CLOEXEC);
    front->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    front->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = FRONT_LISTENING};
    bool good = front->epoll >= 0 && front->bell >= 0 && front->spare >= 0 &&
                epoll_ctl(front->epoll, EPOLL_CTL_ADD, front->bell, &event) == 0 &&
                add_methods(front, methods, n_methods);
    for (uint32_t i = 0; good && i < n_listening; i++) good = listen_at(front, listening[i]);
    if (good && start_thread(front)) return front;
    snprintf(error, SW_FRONT_ERROR, "%s", strerror(errno));
    front->n_listening = 0; /* the caller's still */
    free_front(front);
    return NULL;
}

/* ---- what Python calls ---- */

/* Sends what a client has got since; its connection may end. For how long the rest waits is the
 * thread's to see. */
static void send_on(struct client *client)
{
    struct sw_front *front = client->front;
    if (!answers_send(client)) {
        client_end(client);
        return;
    }
    client_watch(client);
    if (front->asleep && (client->waiting > 0 || client->out.length > 0)) {
        front->asleep = false;
        ring(front);
    }
}

void sw_front_adopt(struct sw_front *front, int fd)
{
    if (!enter(front)) return;
    if (front->ending || front->refusing ||
        (front->n_clients >= front->limits.connections && !client_make_room(front)) ||
        fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        close(fd);
    else client_add(front, fd, false);
    front_unlock(front);
}

bool sw_front_next(struct sw_front *front, struct sw_front_event *event)
{
    if (!enter(front)) return false;
    if (event->call != 0) queue_done(front, event->call);
    event->call = 0;
    while (!front->ending && !queue_take(front, event)) {
        front->waiting++;
        pthread_cond_wait(&front->work, &front->lock);
        front->waiting--;
    }
    event->idle = front->waiting;
    bool open = !front->ending;
    front_unlock(front);
    return open;
}

bool sw_front_active(struct sw_front *front, uint64_t handle)
{
    if (!enter(front)) return false;
    const struct call *call = call_by(front, handle);
    bool active = call != NULL && call->client != NULL && !call->finished;
    front_unlock(front);
    return active;
}

int sw_front_push(struct sw_front *front, uint64_t handle, const uint8_t *data, uint32_t length,
                  uint64_t most_bytes, uint32_t most_messages)
{
    if (!enter(front)) return SW_FRONT_GONE;
    struct call *call = call_by(front, handle);
    int pushed = SW_FRONT_GONE;
    if (call != NULL && call->client != NULL) {
        pushed = answer_push(call, data, length, most_bytes, most_messages);
        send_on(call->client);
    }
    call = call_by(front, handle);
    if (pushed == SW_FRONT_SENT && (call == NULL || call->client == NULL)) pushed = SW_FRONT_GONE;
    if (pushed == SW_FRONT_SENT && call->method->is.kind == SW_FRONT_PARTS &&
        call->waiting > FRONT_MARK) {
        call->full = call->awaited = true;
        pushed = SW_FRONT_FULL;
    }
    front_unlock(front);
    return pushed;
}

void sw_front_finish(struct sw_front *front, uint64_t handle, const uint8_t *data, uint32_t length,
                     uint32_t code, const char *text, const char *details)
{
    if (!enter(front)) return;
    struct call *call = call_by(front, handle);
    if (call != NULL && call->client != NULL && !call->finished) {
        if (data != NULL &&
            answer_push(call, data, length, UINT64_MAX, UINT32_MAX) != SW_FRONT_SENT)
            answer_abort(call, CODE_RESOURCE_EXHAUSTED,
                         "too much waits for clients: take it, or try again");
        answer_finish(call, code, text, details);
        /* The worker that has the parts ends them itself. Of any other end it has to be told: what
         * it keeps of them would stay for ever. */
        if (call->method->is.kind != SW_FRONT_STREAM) call->awaited = false;
        send_on(call->client);
    }
    front_unlock(front);
}

void sw_front_abort(struct sw_front *front, uint64_t handle, uint32_t code, const char *text)
{
    if (!enter(front)) return;
    struct call *call = call_by(front, handle);
    if (call != NULL && call->client != NULL) {
        answer_abort(call, code, text);
        send_on(call->client);
    }
    front_unlock(front);
}

void sw_front_favour(struct sw_front *front, uint64_t connection, bool favoured)
{
    if (!enter(front)) return;
    for (struct client *client = front->clients; client != NULL; client = client->after) {
        if (client->name == connection) client_favour(client, favoured);
    }
    front_unlock(front);
}

void sw_front_refuse(struct sw_front *front)
{
    if (!enter(front)) return;
    front->refusing = true;
    for (uint32_t i = 0; i < front->n_listening; i++) {
        epoll_ctl(front->epoll, EPOLL_CTL_DEL, front->listening[i], NULL);
        close(front->listening[i]);
    }
    front->n_listening = 0;
    for (uint32_t i = 0; i < front->n_places; i++) {
        struct call *call = front->places[i].call;
        if (call != NULL && call->client != NULL && !call->begun && !call->awaited)
            answer_abort(call, CODE_UNAVAILABLE, "the switch is ending");
    }
    for (struct client *client = front->clients, *after; client != NULL; client = after) {
        after = client->after;
        frames_go_away(client, NO_ERROR);
        send_on(client);
    }
    front_unlock(front);
}

void sw_front_drain(struct sw_front *front, uint32_t ms)
{
    if (!enter(front)) return;
    uint64_t until_ns = front_now() + (uint64_t)ms * 1000000;
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
                                   .tv_nsec = (long)(until_ns % 1000000000)};
    while (front->n_calls > 0 &&
           pthread_cond_timedwait(&front->calm, &front->lock, &until) != ETIMEDOUT)
        continue;
    front_unlock(front);
}

void sw_front_close(struct sw_front *front)
{
    if (!enter(front)) return;
    front->ending = true;
    front_unlock(front);
    ring(front);
    pthread_cond_broadcast(&front->work);
    pthread_join(front->thread, NULL);
}

void sw_front_free(struct sw_front *front)
{
    if (front->process == getpid()) free_front(front);
}
