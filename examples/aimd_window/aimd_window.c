/* The RP of aimd_window.py in C, event by event. */
#include "reaction_point.h"

#include <math.h>

struct aimd {
    double acked_bytes, cut_at_bytes;
};
RP_OWN(struct aimd)

static void begin(struct reaction_point *rp)
{
    rp->rate_bps = rp->line_rate_bps;
    rp->window_bytes = rp->parameters->window_bytes;
}

static void on_ack(struct reaction_point *rp, const struct rp_ack *ack, double now_s)
{
    (void)now_s;
    const struct parameters *parameters = rp->parameters;
    own(rp)->acked_bytes += (double)ack->acked_bytes;
    if (ack->mark != RP_CE) {
        double risen =
            rp->window_bytes + parameters->step_bytes * (double)ack->acked_bytes / rp->window_bytes;
        rp->window_bytes = fmin(risen, parameters->window_bytes);
    } else if (own(rp)->acked_bytes > own(rp)->cut_at_bytes) {
        double least = fmin(parameters->step_bytes, parameters->window_bytes);
        rp->window_bytes = fmax(rp->window_bytes * (1 - parameters->cut), least);
        own(rp)->cut_at_bytes = (double)rp->sent_bytes;
    }
}

const struct reaction_point_events reaction_point = {
    .begin = begin,
    .on_ack = on_ack,
    .logged = {{"window_bytes", offsetof(struct reaction_point, window_bytes)}},
};
