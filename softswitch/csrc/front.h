/* A gRPC server's front: one thread that takes clients' connections and speaks HTTP/2 with them.
 * The server's workers get whole messages of it, and give it answers, which it keeps until the
 * client takes them: no worker waits for a client. What clients may hold is bounded, and strangers'
 * calls take nothing of what favoured connections' (those of primaries) have. */
#ifndef SW_FRONT_H
#define SW_FRONT_H

#include <stdbool.h>
#include <stdint.h>

enum { SW_FRONT_ERROR = 256 };

/* A call is unfinished until its first message is whole, and again while a later one is on its way.
 * Octets of requests count until they have been worked at, those of answers until they are sent. */
struct sw_front_limits {
    uint32_t connections;
    uint32_t calls;             /* of strangers, in all */
    uint32_t unfinished;        /* calls of strangers, in all */
    uint32_t unfinished_of_one; /* of a stranger's connection */
    uint32_t working;           /* events of strangers' calls at once, and of the others' */
    uint64_t bytes;             /* of strangers' requests, in all; of their answers as well */
    uint64_t bytes_of_one;      /* of a connection */
    uint64_t favoured_bytes;    /* of a favoured one */
    /* that strangers' messages at work may have, where there is more than one; the others' */
    uint64_t parsed, favoured_parsed;
    /* that a call may be unfinished, or not take its answer; and where another needs its place */
    uint64_t patience_ns, room_ns;
};

/* Of a method: one request and one answer; one request, and answers in parts; messages both ways,
 * for as long as both sides want. */
enum sw_front_kind { SW_FRONT_UNARY, SW_FRONT_PARTS, SW_FRONT_STREAM };

struct sw_front_method {
    const char *path;
    uint32_t kind;
    uint32_t most[2]; /* octets of a message: of strangers, of the others */
    uint32_t at_once; /* events at work, of strangers' calls and of the others' */
    uint32_t begun;   /* likewise calls whose answers aren't all made; 0: unbounded */
};

/* What a worker gets of a call: a message, the next one once this one's work is done; the client
 * sends no more; there is room again for answers; the call has ended, which follows the first event
 * of every stream, and every sw_front_push that found no room. */
enum sw_front_event_kind { SW_FRONT_MESSAGE, SW_FRONT_HALF, SW_FRONT_ROOM, SW_FRONT_END };

struct sw_front_event {
    uint64_t call; /* of the event before as well, whose work is done; 0: none */
    uint64_t connection;
    const uint8_t *data;  /* of a message, until the work is done */
    uint32_t length, kind, method;
    uint32_t idle;   /* workers that wait for an event now */
    uint32_t is_private; /* the connection is one that the server's own user alone may open */
};

struct sw_front;

/* Serves the methods at the listening sockets, which are this one's from now on; those of Unix
 * sockets are private. NULL, and why: it can't. */
struct sw_front *sw_front_open(const int *listening, uint32_t n_listening,
                               const struct sw_front_method *methods, uint32_t n_methods,
                               const struct sw_front_limits *limits, char error[SW_FRONT_ERROR]);

/* Serves a connected socket, which is this one's from now on, as a stranger's. */
void sw_front_adopt(struct sw_front *, int fd);

/* The next event, which this thread works at until it calls again. False: the front is closed. */
bool sw_front_next(struct sw_front *, struct sw_front_event *event);

/* Whether a call's client still waits for it. */
bool sw_front_active(struct sw_front *, uint64_t call);

enum sw_front_pushed { SW_FRONT_SENT, SW_FRONT_FULL, SW_FRONT_REFUSED, SW_FRONT_GONE };

/* Sends a message. SW_FRONT_FULL: it is the last one before SW_FRONT_ROOM. SW_FRONT_REFUSED: it
 * isn't sent, since more than `most_bytes` or `most_messages` would wait, or more than the
 * limits. */
int sw_front_push(struct sw_front *, uint64_t call, const uint8_t *data, uint32_t length,
                  uint64_t most_bytes, uint32_t most_messages);

/* Ends a call with a status, once the client has taken what waits. `data`: a last message; NULL:
 * there is none. `details`: of the status, as base64; NULL: none. */
void sw_front_finish(struct sw_front *, uint64_t call, const uint8_t *data, uint32_t length,
                     uint32_t code, const char *text, const char *details);

/* Ends a call with a status at once: what waits isn't sent. */
void sw_front_abort(struct sw_front *, uint64_t call, uint32_t code, const char *text);

/* A connection is one of a primary, or isn't any more. */
void sw_front_favour(struct sw_front *, uint64_t connection, bool favoured);

/* Takes no more connections and calls; those whose work has begun go on. */
void sw_front_refuse(struct sw_front *);

/* Waits until no call is left, at most so long. */
void sw_front_drain(struct sw_front *, uint32_t ms);

/* Ends all connections and the thread; workers' next events are none. */
void sw_front_close(struct sw_front *);

/* After sw_front_close, once no worker uses it. */
void sw_front_free(struct sw_front *);

#endif
