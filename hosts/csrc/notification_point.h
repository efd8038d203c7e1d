/* A notification point (NP) in C, of the interface that hosts/algorithms/base.py has in Python,
 * as reaction_point.h is for RPs: the Python class that names the file (`in_c`) is the
 * specification.
 *
 * A file of one defines `notification_point`, a table of its events. It may define a
 * `reaction_point`, too. */
#ifndef NOTIFICATION_POINT_H
#define NOTIFICATION_POINT_H

#include "reaction_point.h"

/* base.py's Window. */
struct np_window {
    uint64_t packets, marked_ce, marked_ue, bytes;
    double first_s, last_s;
};

/* base.py's Cnp. */
struct np_cnp {
    enum rp_mark mark;
    double rec_rate_bps;
};

/* base.py's Turn. */
enum np_turn { NP_NO_TURN, NP_IDLE_TURN, NP_TURN };

struct notification_point_events;

enum { NP_OWN_DOUBLES = 4 };

/* A flow's NP. hosts/compiled_np.py mirrors it. */
struct notification_point {
    const struct notification_point_events *events;
    const struct parameters *parameters;
    double marked_from_s; /* from then on on_marked is called */
    /* Of one that grants: read after on_demand and on_turn, as base.py says. */
    double pace_bytes;
    uint64_t turn; /* enum np_turn */
    double own[NP_OWN_DOUBLES]; /* its state. Zeros at first */
};

/* They return whether `cnp` is to be sent. NULL: it doesn't react to the event. */
struct notification_point_events {
    bool (*on_window)(struct notification_point *, const struct np_window *, struct np_cnp *cnp);
    bool (*on_marked)(struct notification_point *, double now_s, struct np_cnp *cnp);
    /* Of one that grants: a packet has come, or its headers alone; it is its turn, and what is
     * granted in all is sent, bytes. */
    void (*on_demand)(struct notification_point *, uint64_t demanded_bytes, bool trimmed,
                      double now_s);
    uint64_t (*on_turn)(struct notification_point *, enum np_turn, double now_s);
};

extern const struct notification_point_events notification_point;

#endif
