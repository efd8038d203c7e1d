/* The front's parts: front.c (sockets, thread, what Python calls), front_clients.c (connections),
 * front_frames.c (HTTP/2), front_begin.c (calls' headers), front_calls.c (calls, and the bounds of
 * what they hold), front_answers.c (what is sent), front_queue.c (what workers get). All but the functions of
 * front.h are called with the lock held. */
#ifndef SW_FRONT_PARTS_H
#define SW_FRONT_PARTS_H

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

#include "front.h"
#include "hpack.h"

enum {
    FRONT_HEAD = 9,       /* octets before a frame's payload */
    FRONT_FRAME = 16384,  /* the longest payload that either side sends */
    FRONT_PREFIX = 5,     /* octets before a message of gRPC */
    FRONT_CALLS = 128,    /* of a connection */
    FRONT_BUCKETS = 32,
    FRONT_METHODS = 64,
    FRONT_LISTENING = 8,
    FRONT_EVENTS = 64,
    /* Read of a client at once, which bounds the frames that it makes the others wait for: 1,800
     * of the shortest. */
    FRONT_TURN = 16 << 10,
    FRONT_OUT = 64 << 10,           /* that waits for a socket, before more is framed */
    FRONT_OUT_MOST = 256 << 10,     /* with answers to a client's frames; more ends it */
    FRONT_STREAM_WINDOW = 256 << 10,
    FRONT_WINDOW = 1 << 20,
    FRONT_BACKLOG = 64 << 10,       /* of a stream's messages, until more may come */
    FRONT_MARK = 256 << 10,         /* of an answer in parts, until more is made */
    FRONT_LOOK_NS = 250000000,
    FRONT_REST_NS = 1000000000,
    FRONT_REGRETS = 16, /* calls in FRONT_LOOK_NS that a client ends before their request, or that
                         * the front refuses */
    FRONT_IDLE_FRAMES = 2000, /* frames in that time that move nothing; clients send some of streams
                               * that have just ended */
};

enum front_frame {
    DATA,
    HEADERS,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    PUSH_PROMISE,
    PING,
    GOAWAY,
    WINDOW_UPDATE,
    CONTINUATION
};
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4, PADDED = 8, WITH_PRIORITY = 32 };
enum front_error {
    NO_ERROR,
    PROTOCOL_ERROR,
    INTERNAL_ERROR,
    FLOW_CONTROL_ERROR,
    SETTINGS_TIMEOUT,
    STREAM_CLOSED,
    FRAME_SIZE_ERROR,
    REFUSED_STREAM,
    CANCEL,
    COMPRESSION_ERROR,
    CONNECT_ERROR,
    ENHANCE_YOUR_CALM
};

/* gRPC's codes of a call's end that the front itself gives. */
enum front_code {
    CODE_INVALID_ARGUMENT = 3,
    CODE_DEADLINE_EXCEEDED = 4,
    CODE_RESOURCE_EXHAUSTED = 8,
    CODE_UNIMPLEMENTED = 12,
    CODE_INTERNAL = 13,
    CODE_UNAVAILABLE = 14
};

/* Octets, of which those before `at` have gone. */
struct bytes {
    uint8_t *data;
    size_t at, length, room;
};

/* A message: of a client, as far as it has come; or of the server, with its prefix, as far as it
 * has been sent. */
struct message {
    struct message *next;
    uint32_t length, moved, room;
    uint8_t data[];
};

struct messages {
    struct message *first, *last;
    uint32_t count;
};

struct client;
struct method;

struct call {
    struct call *older, *newer; /* of those that hold something of requests */
    struct call *in_bucket;
    struct call *next_ready, *next_sending;
    struct client *client; /* NULL: its stream has ended */
    struct method *method;
    uint64_t handle;
    uint64_t since_ns; /* when it became unfinished */
    uint64_t
        moved_ns; /* when the client had last taken FRONT_FRAME octets more, or all that waited */
    uint64_t deadline_ns; /* 0: none */
    uint64_t held; /* octets of requests */
    uint64_t waiting; /* octets of answers */
    int64_t window; /* what the client has added to the settings' window, less what was sent */
    struct message *part, *work; /* the message on its way; that at work */
    struct messages in, out;
    struct bytes trailers; /* the block of the call's end, which waits for `out` */
    uint32_t id;
    uint32_t room; /* octets that the client may still send */
    uint32_t taken; /* octets that the client has taken since moved_ns */
    uint32_t backlog; /* octets of `in` and `work` */
    uint8_t prefix[FRONT_PREFIX], n_prefix;
    uint8_t class, work_class; /* at its end, and of its work: 1 favoured */
    bool listed, unfinished; /* among those that hold something */
    bool begun; /* counts for its method's bound */
    bool awaited; /* by workers, which get an event at its end */
    bool half_due, room_due;
    bool ready, sending; /* in these lists */
    bool busy; /* a worker has an event of it */
    bool request_came; /* the one request of a method that isn't a stream has come */
    bool half; /* the client sends no more */
    bool finished; /* the server has */
    bool headers_sent, full;
};

struct method {
    struct sw_front_method is;
    size_t length;
    uint32_t working[2], begun[2];
};

/* What strangers hold, or the favoured. */
struct share {
    struct client *first_ready, *last_ready;
    struct call *first_ended, *last_ended; /* of which workers are to be told */
    uint64_t held, waiting, parsed;
    uint32_t calls, unfinished, working;
};

struct client {
    struct sw_front *front;
    struct client *before, *after, *next_ready;
    struct call *buckets[FRONT_BUCKETS];
    struct call *first_ready, *last_ready, *first_sending, *last_sending;
    struct hpack table;
    struct bytes part, out, block; /* of what comes; to send; of headers on their way */
    uint64_t name;
    uint64_t spoke_ns; /* when its last call began, or the connection */
    uint64_t rests_ns; /* until when what it sends waits; 0: it doesn't */
    uint64_t moved_ns; /* when its socket last took something, or nothing waited */
    uint64_t held, waiting;
    int64_t window, first_window; /* that it gives: of the connection; of a new stream */
    uint32_t room; /* octets that it may still send */
    uint32_t n_calls, n_unfinished, last_id, n_regrets, n_idle;
    uint32_t block_id; /* of the stream whose headers go on in the next frame; 0: none */
    uint32_t on; /* what epoll was told */
    int fd;
    bool block_ends, begun, configured, favoured, is_private, ready, gone;
};

struct place {
    struct call *call;
    uint64_t serial;
    uint32_t next_free;
};

struct sw_front {
    struct sw_front_limits limits;
    struct method methods[FRONT_METHODS], none; /* the latter of calls of no method */
    uint32_t n_methods;
    int epoll, bell, spare, listening[FRONT_LISTENING];
    uint32_t n_listening, n_clients;
    bool private_at[FRONT_LISTENING];
    /* of the latter the memory is freed once all events of a turn are through */
    struct client *clients, *gone;
    struct call *oldest, *newest; /* of calls that hold something of requests, by since_ns */
    struct share of[2]; /* strangers; favoured */
    struct place *places; /* of calls, by the low half of their handles */
    uint32_t n_places, free_place, n_calls;
    uint64_t names, serials;
    uint64_t looked_ns, trimmed_ns, due_ns; /* due: the next deadline; 0: none */
    uint32_t waiting, to_wake; /* workers that wait; that are to be woken */
    uint8_t chunk[FRONT_TURN];
    pthread_t thread;
    pid_t process;
    /* A thread holds `next` while it waits for `lock`, which makes the pair fair: a front under a
     * flood can't starve workers. */
    pthread_mutex_t next, lock;
    pthread_cond_t work, calm;
    bool refusing, ending;
    bool asleep; /* the thread waits until something comes */
    bool filled; /* much was held since memory was last given back */
};

uint64_t front_now(void);
/* Whether so much time has gone since a moment, which may be after `now`: what a look sends is noted
 * as of later than its beginning. */
static inline bool front_elapsed(uint64_t now, uint64_t since_ns, uint64_t ns)
{
    return now >= since_ns + ns;
}
void front_lock(struct sw_front *);
void front_unlock(struct sw_front *);
uint32_t front_number(const uint8_t *at, int octets);

bool bytes_append(struct bytes *, const void *data, size_t length);
void bytes_drop(struct bytes *);
struct message *messages_take(struct messages *);
void messages_add(struct messages *, struct message *);

/* front_clients.c. Functions that return false, here and below, want the connection to end. */
bool client_add(struct sw_front *, int fd, bool is_private);
void client_end(struct client *);
bool client_make_room(struct sw_front *);
void client_watch(struct client *);
void client_serve(struct client *, uint32_t events);
bool client_send_out(struct client *);
void client_rest(struct client *);
void client_favour(struct client *, bool favoured);
void clients_look(struct sw_front *, uint64_t now);
bool clients_wait(const struct sw_front *);
void clients_free_gone(struct sw_front *);

/* front_frames.c. */
bool frames_take(struct client *, const uint8_t *data, size_t length);
bool frames_put(struct client *, uint8_t kind, uint8_t flags, uint32_t id, const void *payload,
                size_t length);
bool frames_put_number(struct client *, uint8_t kind, uint32_t id, uint32_t number);
void frames_go_away(struct client *, uint8_t error);
bool frames_widen(struct client *, struct call *);

/* front_calls.c */
struct call *call_of(const struct client *, uint32_t id);
struct call *call_by(const struct sw_front *, uint64_t handle);
struct call *call_add(struct client *, uint32_t id, struct method *);
void call_start(struct call *);
void call_data(struct call *, const uint8_t *data, size_t length);
void call_half(struct call *);
void call_count(struct call *, int sign);
void call_detach(struct call *);
void call_free(struct sw_front *, struct call *);
void call_drop_message(struct call *, struct message *);
void call_stop(struct call *);
bool call_reset(struct call *, uint8_t error);
bool calls_make_room(const struct client *);
void calls_bound(struct client *);
void calls_look(struct sw_front *, uint64_t now);

/* front_begin.c */
bool call_begin(struct client *, uint32_t id, const uint8_t *block, size_t length, bool ends);

/* front_answers.c */
void answer_unserved(struct call *, bool is_grpc, bool encoded);
int answer_push(struct call *, const uint8_t *data, uint32_t length, uint64_t most_bytes,
                uint32_t most_messages);
void answer_finish(struct call *, uint32_t code, const char *text, const char *details);
void answer_abort(struct call *, uint32_t code, const char *text);
void answer_drop(struct call *);
bool answers_send(struct client *);
bool answers_make_room(struct sw_front *, uint8_t class, const struct method *,
                       const struct call *not_this);

/* front_queue.c */
void queue_add(struct call *);
void queue_remove(struct call *);
void queue_move(struct client *, bool favoured);
void queue_add_ended(struct sw_front *, struct call *);
bool queue_take(struct sw_front *, struct sw_front_event *);
void queue_done(struct sw_front *, uint64_t handle);
void queue_look(struct sw_front *);

#endif
