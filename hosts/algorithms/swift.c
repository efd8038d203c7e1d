/* Swift's RP: swift.py, which is the specification, in C. */
#include "reaction_point.h"

#include <math.h>

static const double LEAST_RTT_S = 1e-9, LEAST_BPS = 1;

struct swift {
    double cwnd, target_s, rtt_s, decreased_s, timeouts;
};
RP_OWN(struct swift)

static double target(const struct parameters *parameters, double cwnd)
{
    double low = 1 / sqrt(parameters->fs_min), high = 1 / sqrt(parameters->fs_max);
    double added_s = parameters->fs_range_s * ((1 / sqrt(cwnd) - high) / (low - high));
    return parameters->base_target_s + fmin(fmax(added_s, 0), parameters->fs_range_s);
}

static void set(struct reaction_point *rp, double cwnd)
{
    const struct parameters *parameters = rp->parameters;
    struct swift *swift = own(rp);
    swift->cwnd = fmin(fmax(cwnd, parameters->min_cwnd), parameters->max_cwnd);
    swift->target_s = target(parameters, swift->cwnd);
    rp->window_bytes = fmax(swift->cwnd, 1) * parameters->frame_bytes;
    rp->rate_bps = rp->line_rate_bps;
    if (swift->cwnd < 1) {
        double paced_bps = swift->cwnd * parameters->frame_bytes * 8 / swift->rtt_s;
        rp->rate_bps = fmin(fmax(paced_bps, LEAST_BPS), rp->line_rate_bps);
    }
}

static void decrease(struct reaction_point *rp, double cwnd, double now_s)
{
    own(rp)->decreased_s = now_s;
    set(rp, cwnd);
}

static void begin(struct reaction_point *rp)
{
    own(rp)->rtt_s = rp->parameters->base_target_s;
    own(rp)->decreased_s = -INFINITY;
    set(rp, rp->parameters->init_cwnd);
}

static void on_ack(struct reaction_point *rp, const struct rp_ack *ack, double now_s)
{
    const struct parameters *parameters = rp->parameters;
    struct swift *swift = own(rp);
    double delay_s = swift->rtt_s = fmax(ack->rtt_s, LEAST_RTT_S), target_s = swift->target_s;
    swift->timeouts = 0;
    if (delay_s < target_s) {
        double more = parameters->ai * ((double)ack->acked_bytes / parameters->frame_bytes);
        set(rp, swift->cwnd + (swift->cwnd >= 1 ? more / swift->cwnd : more));
    } else if (now_s - swift->decreased_s >= swift->rtt_s) {
        double factor =
            fmax(1 - parameters->beta * ((delay_s - target_s) / delay_s), 1 - parameters->max_mdf);
        decrease(rp, swift->cwnd * factor, now_s);
    } else {
        set(rp, swift->cwnd);
    }
}

static void on_loss(struct reaction_point *rp, const struct rp_loss *loss, double now_s)
{
    const struct parameters *parameters = rp->parameters;
    struct swift *swift = own(rp);
    if (loss->timeout) swift->timeouts++;
    if (loss->timeout && swift->timeouts >= parameters->retx_reset)
        decrease(rp, parameters->min_cwnd, now_s);
    else if (now_s - swift->decreased_s >= swift->rtt_s)
        decrease(rp, swift->cwnd * (1 - parameters->max_mdf), now_s);
}

const struct reaction_point_events reaction_point = {
    .begin = begin,
    .on_ack = on_ack,
    .on_loss = on_loss,
    .logged =
        {
            {"cwnd", offsetof(struct reaction_point, own) + offsetof(struct swift, cwnd)},
            {"target_s", offsetof(struct reaction_point, own) + offsetof(struct swift, target_s)},
        },
};
