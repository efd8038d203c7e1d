/* NSCC's RP: nscc.py, which is the specification, in C. */
#include "reaction_point.h"

#include <math.h>

struct nscc {
    double target_s, alpha, fi, fi_scale, eta, frame_s, base_rtt_s, most_bytes, avg_delay_s;
    double acked_bytes, lost_bytes; /* all */
    double increase_bytes, received_bytes; /* since the latest adjustment */
    double adjusted_s, decreased_s, fast_bytes, achieved_bytes, adapt_at_s, ignored_bytes,
        ignore_bytes;
    bool fast, adapt;
};
RP_OWN(struct nscc)

static const double REFERENCE_BDP = 12e-6 * 100e9 / 8, REFERENCE_RTT_S = 12e-6, HEADERS = 58,
                    EMPTY_S = 1e-6;

static void begin(struct reaction_point *rp)
{
    const struct parameters *parameters = rp->parameters;
    struct nscc *nscc = own(rp);
    double rtt_s = parameters->network_rtt_s, segment_bytes = parameters->frame_bytes - HEADERS;
    double scale = rtt_s * rp->line_rate_bps / 8 / REFERENCE_BDP;
    rp->rate_bps = rp->line_rate_bps;
    nscc->target_s = parameters->target_qdelay_s > 0 ? parameters->target_qdelay_s : 0.75 * rtt_s;
    nscc->alpha = parameters->alpha * segment_bytes * scale * (nscc->target_s / REFERENCE_RTT_S) /
                  nscc->target_s;
    nscc->fi = parameters->fi * segment_bytes * scale;
    nscc->fi_scale = parameters->fi_scale * scale;
    nscc->eta = parameters->eta * segment_bytes * scale;
    nscc->base_rtt_s = rtt_s;
    nscc->frame_s = 8 * parameters->frame_bytes / rp->line_rate_bps;
    nscc->most_bytes = rp->window_bytes =
        fmax(1.5 * rtt_s * rp->line_rate_bps / 8, parameters->frame_bytes);
}

static void note_delay(struct reaction_point *rp, double delay_s)
{
    own(rp)->avg_delay_s += rp->parameters->delay_alpha * (delay_s - own(rp)->avg_delay_s);
}

static void note_rtt(struct reaction_point *rp, double rtt_s)
{
    if (rtt_s >= own(rp)->base_rtt_s) return;
    own(rp)->base_rtt_s = rtt_s;
    own(rp)->most_bytes = fmax(1.5 * rtt_s * rp->line_rate_bps / 8, rp->parameters->frame_bytes);
}

static void bound(struct reaction_point *rp)
{
    rp->window_bytes =
        fmin(fmax(rp->window_bytes, rp->parameters->frame_bytes), own(rp)->most_bytes);
}

static bool quick_adapt(struct reaction_point *rp, bool marked, double delay_s, double now_s)
{
    struct nscc *nscc = own(rp);
    bool done = nscc->ignored_bytes < nscc->ignore_bytes && marked;
    if (!done && now_s > nscc->adapt_at_s) {
        bool due = nscc->adapt_at_s != 0 && (nscc->adapt || delay_s > 4 * nscc->target_s);
        if (due && nscc->achieved_bytes < nscc->most_bytes / (1 << (int)rp->parameters->qa_gate)) {
            rp->window_bytes = fmax(nscc->achieved_bytes, rp->parameters->frame_bytes);
            nscc->ignore_bytes = (double)rp->sent_bytes - nscc->acked_bytes - nscc->lost_bytes;
            nscc->ignored_bytes = 0;
            nscc->adapt = false;
            done = true;
        }
        nscc->achieved_bytes = 0;
        nscc->adapt_at_s = now_s + nscc->base_rtt_s + nscc->target_s;
    }
    if (done) nscc->increase_bytes = nscc->received_bytes = 0;
    return done;
}

static void rise(struct reaction_point *rp, double acked, double delay_s)
{
    struct nscc *nscc = own(rp);
    if (delay_s < EMPTY_S) {
        nscc->fast_bytes += acked;
        nscc->fast = nscc->fast || nscc->fast_bytes > rp->window_bytes;
    } else {
        nscc->fast_bytes = 0;
        nscc->fast = false;
    }
    if (nscc->fast) rp->window_bytes += acked * nscc->fi_scale;
    else nscc->increase_bytes += nscc->alpha * acked * (nscc->target_s - delay_s);
}

static void fall(struct reaction_point *rp, double now_s)
{
    struct nscc *nscc = own(rp);
    nscc->fast = false;
    nscc->fast_bytes = 0;
    if (!(nscc->avg_delay_s > nscc->target_s && now_s - nscc->decreased_s > nscc->base_rtt_s))
        return;
    double excess = (nscc->avg_delay_s - nscc->target_s) / nscc->avg_delay_s;
    rp->window_bytes *= fmax(1 - rp->parameters->gamma * excess, rp->parameters->max_md_jump);
    nscc->decreased_s = now_s;
}

static void on_ack(struct reaction_point *rp, const struct rp_ack *ack, double now_s)
{
    const struct parameters *parameters = rp->parameters;
    struct nscc *nscc = own(rp);
    double acked = (double)ack->acked_bytes, period_s = parameters->network_rtt_s;
    bool marked = ack->mark == RP_CE;
    nscc->acked_bytes += acked;
    nscc->achieved_bytes += acked;
    nscc->received_bytes += acked;
    nscc->ignored_bytes += acked;
    double rtt_s = ack->rtt_s + nscc->frame_s;
    note_rtt(rp, rtt_s);
    double delay_s = rtt_s - nscc->base_rtt_s;
    bool above = delay_s >= nscc->target_s;
    note_delay(rp, !marked && delay_s > nscc->target_s ? 0.25 * nscc->base_rtt_s : delay_s);
    if (quick_adapt(rp, marked, delay_s, now_s)) return;
    if (!marked && above) nscc->increase_bytes += nscc->fi * acked;
    else if (!marked) rise(rp, acked, delay_s);
    else if (above) fall(rp, now_s);
    bound(rp);
    if (nscc->received_bytes > parameters->adjust_packets * parameters->frame_bytes ||
        now_s - nscc->adjusted_s > period_s) {
        rp->window_bytes += nscc->increase_bytes / rp->window_bytes;
        if (now_s - nscc->adjusted_s >= period_s) {
            rp->window_bytes += nscc->eta;
            nscc->adjusted_s = now_s;
        }
        nscc->increase_bytes = nscc->received_bytes = 0;
    }
    bound(rp);
}

static void on_loss(struct reaction_point *rp, const struct rp_loss *loss, double now_s)
{
    struct nscc *nscc = own(rp);
    double lost = (double)loss->lost_bytes;
    bool adapted = false;
    if (!loss->timeout) {
        if (loss->rtt_s > 0) note_rtt(rp, loss->rtt_s + nscc->frame_s);
        nscc->ignored_bytes += lost;
        note_delay(rp, rp->parameters->network_rtt_s);
        nscc->adapt = true;
        adapted = quick_adapt(rp, true, 0, now_s);
    }
    nscc->lost_bytes += lost;
    if (!adapted) rp->window_bytes -= lost;
    bound(rp);
}

const struct reaction_point_events reaction_point = {
    .begin = begin,
    .on_ack = on_ack,
    .on_loss = on_loss,
    .logged =
        {
            {"window_bytes", offsetof(struct reaction_point, window_bytes)},
            {"avg_delay_s",
             offsetof(struct reaction_point, own) + offsetof(struct nscc, avg_delay_s)},
        },
};
