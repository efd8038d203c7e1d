/* DCTCP's RP: dctcp.py, which is the specification, in C. */
#include "reaction_point.h"

#include <math.h>

struct dctcp {
    double alpha, threshold_bytes, acked_bytes, window_acked, window_marked, window_ends, cut_ends;
};
RP_OWN(struct dctcp)

static void begin(struct reaction_point *rp)
{
    rp->rate_bps = rp->line_rate_bps;
    rp->window_bytes = rp->parameters->init_window_bytes;
    own(rp)->alpha = 1;
    own(rp)->threshold_bytes = rp->parameters->max_window_bytes;
}

static void grow(struct reaction_point *rp, double by_bytes)
{
    rp->window_bytes = fmin(rp->window_bytes + by_bytes, rp->parameters->max_window_bytes);
}

static void cut(struct reaction_point *rp, double to_bytes)
{
    double least = fmin(rp->parameters->frame_bytes, rp->parameters->max_window_bytes);
    rp->window_bytes = own(rp)->threshold_bytes = fmax(to_bytes, least);
    own(rp)->cut_ends = (double)rp->sent_bytes;
}

static void on_ack(struct reaction_point *rp, const struct rp_ack *ack, double now_s)
{
    (void)now_s;
    struct dctcp *dctcp = own(rp);
    double acked = (double)ack->acked_bytes;
    bool marked = ack->mark == RP_CE;
    dctcp->acked_bytes += acked;
    dctcp->window_acked += acked;
    if (marked) dctcp->window_marked += acked;
    if (dctcp->acked_bytes > dctcp->window_ends) {
        if (dctcp->window_acked > 0) {
            double share = dctcp->window_marked / dctcp->window_acked;
            dctcp->alpha += rp->parameters->g * (share - dctcp->alpha); /* equation 1 */
        }
        dctcp->window_acked = dctcp->window_marked = 0;
        dctcp->window_ends = (double)rp->sent_bytes;
    }
    /* equation 2 */
    if (marked && dctcp->acked_bytes > dctcp->cut_ends)
        cut(rp, rp->window_bytes * (1 - dctcp->alpha / 2));
    else if (marked) return; /* a window is cut once */
    else if (rp->window_bytes < dctcp->threshold_bytes) grow(rp, acked);
    else grow(rp, rp->parameters->frame_bytes * acked / rp->window_bytes);
}

static void on_loss(struct reaction_point *rp, const struct rp_loss *loss, double now_s)
{
    (void)now_s;
    struct dctcp *dctcp = own(rp);
    double half_bytes = rp->window_bytes / 2;
    if (loss->timeout) {
        cut(rp, rp->parameters->frame_bytes);
        dctcp->threshold_bytes = fmax(half_bytes, rp->window_bytes);
    } else if (dctcp->acked_bytes > dctcp->cut_ends) {
        cut(rp, half_bytes);
    }
}

const struct reaction_point_events reaction_point = {
    .begin = begin,
    .on_ack = on_ack,
    .on_loss = on_loss,
    .logged =
        {
            {"window_bytes", offsetof(struct reaction_point, window_bytes)},
            {"alpha", offsetof(struct reaction_point, own) + offsetof(struct dctcp, alpha)},
        },
};
