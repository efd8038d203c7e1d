/* PCN-W's RP: pcn_w.py, which is the specification, in C. */
#include "reaction_point.h"

#include <math.h>

struct pcn_w {
    double w;
};
RP_OWN(struct pcn_w)

static void set_window(struct reaction_point *rp)
{
    double window_s = rp->parameters->window_rtts * rp->parameters->rtt_s;
    rp->window_bytes = fmax(rp->rate_bps * window_s / 8, rp->parameters->frame_bytes);
}

static void begin(struct reaction_point *rp)
{
    rp->rate_bps = rp->line_rate_bps;
    own(rp)->w = rp->parameters->w_min;
    set_window(rp);
}

static void on_cnp(struct reaction_point *rp, enum rp_mark mark, double rec_rate_bps, double now_s)
{
    (void)now_s;
    double *w = &own(rp)->w;
    if (mark == RP_CE) {
        rp->rate_bps = fmin(rp->rate_bps, rec_rate_bps * (1 - rp->parameters->w_min));
        *w = rp->parameters->w_min;
    } else {
        rp->rate_bps = rp->rate_bps * (1 - *w) + rp->line_rate_bps * *w;
        *w = *w * (1 - *w) + rp->parameters->w_max * *w;
    }
    set_window(rp);
}

const struct reaction_point_events reaction_point = {
    .begin = begin,
    .on_cnp = on_cnp,
    .logged =
        {
            {"w", offsetof(struct reaction_point, own) + offsetof(struct pcn_w, w)},
            {"window_bytes", offsetof(struct reaction_point, window_bytes)},
        },
};
