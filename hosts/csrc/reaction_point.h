/* A reaction point (RP) in C, of the interface that hosts/algorithms/base.py has in Python: the
 * same events, the same decisions. The Python text beside it is the specification; `pcn scheme
 * check` brings both the same events, and compares what they decide.
 *
 * A file of one defines `reaction_point`, a table of its events. hosts/compiled.py compiles it
 * with a `struct parameters`, whose fields are the scheme's parameters, by their names in
 * Python, as double. It is a state machine: no clock, no random number, no I/O, nothing that
 * flows share. */
#ifndef REACTION_POINT_H
#define REACTION_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RP_NEVER UINT64_MAX

enum rp_mark { RP_UE = 1, RP_NONE = 2, RP_CE = 3 };

/* base.py's Hop. */
struct rp_hop {
    double rate_bps;
    uint32_t ticks, sent_bytes, queue_bytes;
};

/* base.py's Telemetry. */
enum { RP_MOST_HOPS = 5, RP_TICKS = 1 << 24, RP_SENT_BYTES = 1 << 27 };
struct rp_telemetry {
    double tick_s;
    uint16_t path_id;
    uint8_t n_hops;
    struct rp_hop hops[RP_MOST_HOPS];
};

/* base.py's Ack. */
struct rp_ack {
    double rtt_s;
    uint64_t acked_bytes;
    uint32_t psn;
    uint16_t path;
    uint8_t mark; /* enum rp_mark */
    const struct rp_telemetry *telemetry; /* NULL: none */
};

/* base.py's Loss. */
struct rp_loss {
    uint64_t lost_bytes;
    bool timeout;
    double rtt_s;
};

struct parameters;
struct reaction_point_events;

enum { RP_OWN_DOUBLES = 24 };

/* A flow's RP. hosts/compiled.py mirrors it. */
struct reaction_point {
    const struct reaction_point_events *events;
    const struct parameters *parameters;
    double line_rate_bps;
    uint64_t sent_bytes; /* of the flow's frames so far */
    /* Its decisions, as base.py says. They are read after each event. */
    double rate_bps;
    double window_bytes; /* INFINITY: none */
    double timer_s; /* INFINITY: none */
    uint64_t due_bytes; /* RP_NEVER: none */
    /* Of a flow whose NP grants. */
    /* of frames to send, what is to be repeated too; RP_NEVER: the flow has no end */
    uint64_t left_bytes;
    uint64_t demand_bytes; /* decided, too */
    double own[RP_OWN_DOUBLES]; /* its state: see RP_OWN. Zeros at first */
};

/* A value of a log entry, a double: where it is in a struct reaction_point. */
struct rp_logged {
    const char *name; /* NULL: no more follow */
    size_t offset;
};

/* NULL: it doesn't react to the event. */
struct reaction_point_events {
    /* the first: sets what it decides before any other event */
    void (*begin)(struct reaction_point *);
    void (*on_start)(struct reaction_point *, double now_s);
    void (*on_cnp)(struct reaction_point *, enum rp_mark, double rec_rate_bps, double now_s);
    void (*on_cnm)(struct reaction_point *, uint32_t feedback, double now_s);
    void (*on_ack)(struct reaction_point *, const struct rp_ack *, double now_s);
    void (*on_loss)(struct reaction_point *, const struct rp_loss *, double now_s);
    void (*on_timer)(struct reaction_point *, double now_s);
    void (*on_bytes_sent)(struct reaction_point *, double now_s);
    void (*on_grant)(struct reaction_point *, uint64_t granted_bytes, double now_s);
    struct rp_logged logged[8]; /* base.py's state() */
};

extern const struct reaction_point_events reaction_point;

/* A scheme that is a C file alone: RP_SCHEME, behind a macro PARAMETERS of its parameters (none:
 * an empty one), makes `struct parameters` and what `--scheme FILE.c` needs. As in
 *
 *     #define PARAMETERS(P) P(w_bytes, "size", 100e3, 1, 1e9, "the window") RP_SCHEME(.summary =
 *     "a constant window", .program = "plain", .segment_bytes = 1)
 *
 * P: the field, its unit (base/units.py), default, least, most, and its meaning. */
struct rp_parameter {
    const char *field, *kind;
    double usual, least, most;
    const char *what;
};

/* scheme.py's Scheme, and what of base.py's ReactionPoint doesn't change. Its NP sends nothing. */
struct rp_scheme {
    const char *summary, *program;
    const char *marking; /* names, with commas between; NULL: none */
    uint32_t segment_bytes; /* 0: None */
    bool exact_marks, wants_telemetry, needs_rec_rate, reports_left;
    const struct rp_parameter *parameters; /* the last one has no field */
};

#define RP_FIELD(field, ...) double field;
#define RP_ROW(field, ...) {#field, __VA_ARGS__},
#define RP_SCHEME(...)                                                                             \
    struct parameters {                                                                            \
        PARAMETERS(RP_FIELD)                                                                       \
        double none;                                                                               \
    };                                                                                             \
    static const struct rp_parameter rp_parameters[] = {PARAMETERS(RP_ROW){.field = NULL}};        \
    extern const struct rp_scheme reaction_point_scheme;                                           \
    const struct rp_scheme reaction_point_scheme = {.parameters = rp_parameters, __VA_ARGS__};

/* Defines own(rp): the RP's state, of this type, and how much of struct reaction_point flows
 * take. */
#define RP_OWN(type)                                                                               \
    _Static_assert(sizeof(type) <= RP_OWN_DOUBLES * sizeof(double),                                \
                   "an RP's state is larger than it can be");                                      \
    extern const uint64_t reaction_point_bytes;                                                    \
    const uint64_t reaction_point_bytes = offsetof(struct reaction_point, own) + sizeof(type);     \
    static inline type *own(struct reaction_point *rp) { return (type *)(void *)rp->own; }

#endif
