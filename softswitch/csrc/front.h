/* What stands before a gRPC server: it takes the connections of clients, passes their bytes on, and
 * bounds what the server holds of them before it sees a request. It reads no more of HTTP/2 than
 * the frames' heads and gRPC's lengths of messages. */
#ifndef SW_FRONT_H
#define SW_FRONT_H

#include <stdbool.h>
#include <stdint.h>

enum { SW_FRONT_NAME = 32, SW_FRONT_ERROR = 256 };

/* A call is unfinished until its first message is whole, and again while a later one is on its way.
 * Bytes of a large message count until its call ends: the server may not have read it yet. What a
 * favoured connection has counts by connection alone: it is a primary's. */
struct sw_front_limits {
    uint32_t connections;
    uint32_t calls; /* of strangers, in all */
    uint32_t unfinished; /* calls of strangers, in all */
    uint32_t unfinished_of_one; /* of a connection */
    uint64_t bytes; /* of strangers' unfinished messages, in all */
    uint64_t bytes_of_one; /* of a connection */
    uint64_t favoured_bytes; /* of a favoured one */
    uint64_t patience_ns; /* that a call may be unfinished */
};

struct sw_front;

/* Serves from the listening sockets, which are this one's from now on, to the Unix socket at
 * `path`. NULL, and why: it can't. */
struct sw_front *sw_front_open(const int *listening, uint32_t n_listening, const char *path,
                               const struct sw_front_limits *limits, char error[SW_FRONT_ERROR]);

/* A connection by the name that its end of the Unix socket has. */
void sw_front_favour(struct sw_front *, const char *name, bool favoured);

/* Takes no more connections; those that there are go on. */
void sw_front_refuse(struct sw_front *);

/* Ends all connections and the thread. */
void sw_front_close(struct sw_front *);

#endif
