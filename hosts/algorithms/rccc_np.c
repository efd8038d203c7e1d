/* RCCC's NP: rccc.py, which is the specification, in C. */
#include "notification_point.h"

#include <math.h>

struct rccc_np {
    uint64_t demanded_bytes, granted_bytes;
    double unanswered_s; /* the first grant since a packet came, if unanswered */
    bool unanswered, silent; /* silent: a turn found none for `rto` after that */
};
_Static_assert(sizeof(struct rccc_np) <= NP_OWN_DOUBLES * sizeof(double),
               "its state is larger than it can be");

static const double UNIT = 256, HEADERS = 62, EMPTY_TURN_BYTES = 1024;

static struct rccc_np *own(struct notification_point *np)
{
    return (struct rccc_np *)(void *)np->own;
}

static void on_demand(struct notification_point *np, uint64_t demanded_bytes, bool trimmed,
                      double now_s)
{
    (void)now_s;
    struct rccc_np *rccc = own(np);
    /* what it had demanded when its turns ended, it demands still */
    uint64_t before = rccc->silent ? rccc->granted_bytes : rccc->demanded_bytes;
    if (demanded_bytes > rccc->demanded_bytes) rccc->demanded_bytes = demanded_bytes;
    np->turn = rccc->demanded_bytes > before || trimmed ? NP_TURN : NP_NO_TURN;
    rccc->unanswered = rccc->silent = false;
}

static uint64_t on_turn(struct notification_point *np, enum np_turn turn, double now_s)
{
    const struct parameters *parameters = np->parameters;
    struct rccc_np *rccc = own(np);
    /* without a grant it has nothing to send by: among many flows a turn may come after `rto` */
    if (rccc->unanswered && now_s - rccc->unanswered_s > parameters->rto_s) {
        rccc->silent = true;
        np->turn = NP_NO_TURN;
        np->pace_bytes = EMPTY_TURN_BYTES / parameters->pull_rate;
        return rccc->granted_bytes;
    }
    if (!rccc->unanswered) rccc->unanswered_s = now_s;
    rccc->unanswered = true;
    double segments = parameters->mtus_per_pull * (parameters->frame_bytes - HEADERS);
    uint64_t before = rccc->granted_bytes, demanded = rccc->demanded_bytes;
    uint64_t granted = before + (uint64_t)(fmax(floor(segments / UNIT), 1) * UNIT);
    if (turn == NP_TURN) {
        if (granted > demanded) granted = demanded > before ? demanded : before;
        np->turn = granted < demanded ? NP_TURN : NP_IDLE_TURN;
    } else {
        double most = floor(parameters->maxwnd_bytes / UNIT) * UNIT;
        np->turn =
            granted >= demanded && (double)(granted - demanded) < most ? NP_IDLE_TURN : NP_NO_TURN;
    }
    rccc->granted_bytes = granted;
    np->pace_bytes =
        (granted != before ? (double)(granted - before) : EMPTY_TURN_BYTES) / parameters->pull_rate;
    return granted;
}

const struct notification_point_events notification_point = {.on_demand = on_demand,
                                                             .on_turn = on_turn};
