/* Connections: their sockets, who has to go where there is no room, who rests. */
#define _GNU_SOURCE
#include "front_parts.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* What comes is taken while there is little to send: who floods and reads nothing waits. */
void client_watch(struct client *client)
{
    if (client->gone) return;
    bool more = client->out.length - client->out.at < FRONT_OUT && client->rests_ns == 0;
    uint32_t events = (more ? EPOLLIN : 0) | (client->out.length > 0 ? EPOLLOUT : 0);
    if (events == client->on) return;
    struct epoll_event event = {.events = events, .data.ptr = client};
    epoll_ctl(client->front->epoll,
              client->on == 0 ? EPOLL_CTL_ADD
              : events == 0   ? EPOLL_CTL_DEL
                              : EPOLL_CTL_MOD,
              client->fd, &event);
    client->on = events;
}

/* False: there is no memory. */
bool client_add(struct sw_front *front, int fd, bool is_private)
{
    struct client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        close(fd);
        return false;
    }
    client->front = front;
    client->fd = fd;
    client->name = ++front->names;
    client->is_private = client->favoured = is_private;
    client->window = client->first_window = 65535;
    client->room = FRONT_WINDOW;
    client->spoke_ns = client->moved_ns = front_now();
    hpack_init(&client->table);
    client->after = front->clients;
    if (front->clients != NULL) front->clients->before = client;
    front->clients = client;
    front->n_clients++;
    const int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    client_watch(client);
    return true;
}

void client_end(struct client *client)
{
    struct sw_front *front = client->front;
    if (client->gone) return;
    for (int i = 0; i < FRONT_BUCKETS; i++) {
        while (client->buckets[i] != NULL) call_detach(client->buckets[i]);
    }
    client->gone = true;
    /* A child of this process may have the descriptor as well, for the moment before it runs another
     * program or for good: with `close` alone the connection would go on, and epoll would name a
     * client whose memory is freed. */
    if (client->on != 0) epoll_ctl(front->epoll, EPOLL_CTL_DEL, client->fd, NULL);
    client->on = 0;
    shutdown(client->fd, SHUT_RDWR);
    close(client->fd);
    client->fd = -1;
    bytes_drop(&client->part);
    bytes_drop(&client->out);
    bytes_drop(&client->block);
    hpack_free(&client->table);
    if (client->before != NULL) client->before->after = client->after;
    else front->clients = client->after;
    if (client->after != NULL) client->after->before = client->before;
    front->n_clients--;
    client->after = front->gone;
    front->gone = client;
}

void clients_free_gone(struct sw_front *front)
{
    while (front->gone != NULL) {
        struct client *client = front->gone;
        front->gone = client->after;
        free(client);
    }
}

static bool quieter(const struct client *client, const struct client *than)
{
    if (than == NULL) return true;
    if ((client->n_calls == 0) != (than->n_calls == 0)) return client->n_calls == 0;
    return client->spoke_ns < than->spoke_ns;
}

/* Since when a stranger has taken nothing of an answer that waits for it; UINT64_MAX: none does. */
static uint64_t stalled_since(const struct client *client)
{
    uint64_t since = UINT64_MAX;
    for (int i = 0; i < FRONT_BUCKETS && client->waiting > 0 && !client->favoured; i++) {
        for (const struct call *call = client->buckets[i]; call != NULL; call = call->in_bucket) {
            if (call->waiting > 0 && call->moved_ns < since) since = call->moved_ns;
        }
    }
    return since;
}

/* The stranger that hasn't taken what waits for it for longest. NULL: none for long enough. */
static struct client *most_stalled(const struct sw_front *front)
{
    struct client *choice = NULL;
    uint64_t least = front_now() - front->limits.room_ns;
    for (struct client *client = front->clients; client != NULL; client = client->after) {
        uint64_t since = stalled_since(client);
        if (since > least) continue;
        choice = client;
        least = since;
    }
    return choice;
}

static bool has_stream(const struct client *client)
{
    for (int i = 0; i < FRONT_BUCKETS; i++) {
        for (const struct call *call = client->buckets[i]; call != NULL; call = call->in_bucket) {
            if (call->method->is.kind == SW_FRONT_STREAM && call->awaited && !call->finished)
                return true;
        }
    }
    return false;
}

/* The stranger without a stream (of which the service has few) whose last call began first: it may
 * take its answer an octet at a time, or have requests that wait for others who do. NULL: none. */
static struct client *longest_served(const struct sw_front *front)
{
    struct client *choice = NULL;
    for (struct client *client = front->clients; client != NULL; client = client->after) {
        if (client->favoured || has_stream(client)) continue;
        if (choice == NULL || client->spoke_ns < choice->spoke_ns) choice = client;
    }
    return choice;
}

/* Ends the connection that has been quiet for longest, and isn't a primary's; else one that doesn't
 * take its answers; else the one that has been served for longest. False: all have streams. */
bool client_make_room(struct sw_front *front)
{
    struct client *choice = NULL;
    for (struct client *client = front->clients; client != NULL; client = client->after) {
        bool quiet =
            (!client->favoured || client->is_private) && client->n_calls == client->n_unfinished;
        if (quiet && quieter(client, choice)) choice = client;
    }
    if (choice == NULL) choice = most_stalled(front);
    if (choice == NULL) choice = longest_served(front);
    if (choice == NULL) return false;
    client_end(choice);
    return true;
}

bool client_send_out(struct client *client)
{
    struct bytes *out = &client->out;
    while (out->at < out->length) {
        ssize_t sent = send(client->fd, out->data + out->at, out->length - out->at,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return errno == EAGAIN;
        out->at += (size_t)sent;
        client->moved_ns = front_now();
    }
    /* what is idle has no buffer; a second answer finds the first one's */
    if (out->room > FRONT_FRAME || client->n_calls == 0) bytes_drop(out);
    else out->at = out->length = 0;
    return true;
}

/* What it sends waits for a while: the server has work with each call that began, also with those
 * that have ended. */
void client_rest(struct client *client)
{
    if (!client->favoured) client->rests_ns = front_now() + FRONT_REST_NS;
}

/* Calls that count for one share count for the other. */
void client_favour(struct client *client, bool favoured)
{
    if (client->favoured == favoured || client->is_private) return;
    for (int sign = -1; sign <= 1; sign += 2) {
        if (sign > 0) {
            queue_move(client, favoured);
            client->favoured = favoured;
        }
        for (int i = 0; i < FRONT_BUCKETS; i++) {
            for (struct call *call = client->buckets[i]; call != NULL; call = call->in_bucket)
                call_count(call, sign);
        }
    }
}

static bool take(struct client *client)
{
    struct sw_front *front = client->front;
    ssize_t got = recv(client->fd, front->chunk, sizeof front->chunk, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    return got > 0 && frames_take(client, front->chunk, (size_t)got) && answers_send(client);
}

void client_serve(struct client *client, uint32_t events)
{
    if (client->gone) return;
    bool good = true;
    if ((events & EPOLLOUT) != 0) good = client_send_out(client) && answers_send(client);
    if (good && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) good = take(client);
    if (client->gone) return;
    if (good) client_watch(client);
    else client_end(client);
}

/* Wakes who rests. What it sent may end other connections. */
static void wake(struct sw_front *front, uint64_t now)
{
    for (struct client *client = front->clients; client != NULL;) {
        if (client->rests_ns == 0 || now < client->rests_ns) {
            client = client->after;
            continue;
        }
        client->rests_ns = 0;
        if (frames_take(client, NULL, 0) && answers_send(client)) client_watch(client);
        else client_end(client);
        client = front->clients;
    }
}

/* Ends strangers that don't read. */
void clients_look(struct sw_front *front, uint64_t now)
{
    wake(front, now);
    for (struct client *client = front->clients, *after; client != NULL; client = after) {
        after = client->after;
        client->n_regrets = client->n_idle = 0;
        if (client->out.length == 0) client->moved_ns = now;
        else if (!client->favoured &&
                 front_elapsed(now, client->moved_ns, front->limits.patience_ns))
            client_end(client);
    }
}

bool clients_wait(const struct sw_front *front)
{
    for (const struct client *client = front->clients; client != NULL; client = client->after) {
        if (client->out.length > 0 || client->rests_ns != 0 || client->waiting > 0 ||
            client->n_idle > 0 || client->n_regrets > 0)
            return true;
    }
    return false;
}
