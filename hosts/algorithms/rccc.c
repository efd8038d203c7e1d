/* RCCC's RP: rccc.py, which is the specification, in C. */
#include "reaction_point.h"

#include <math.h>

struct rccc {
    double credit_bytes;
    uint64_t granted_bytes, spent_bytes;
    bool answered; /* ever */
    bool silent; /* since the latest look */
};
RP_OWN(struct rccc)

static const double UNIT = 256, NO_CREDIT_BPS = 1;

static void pay(struct reaction_point *rp)
{
    own(rp)->credit_bytes -= (double)(rp->sent_bytes - own(rp)->spent_bytes);
    own(rp)->spent_bytes = rp->sent_bytes;
}

static void answered(struct reaction_point *rp)
{
    pay(rp);
    if (!own(rp)->answered) own(rp)->credit_bytes = fmin(own(rp)->credit_bytes, 0);
    own(rp)->answered = true;
    own(rp)->silent = false;
}

static void decide(struct reaction_point *rp)
{
    const struct parameters *parameters = rp->parameters;
    pay(rp);
    double credit = own(rp)->credit_bytes, frame = parameters->frame_bytes;
    rp->rate_bps = credit > 0 ? rp->line_rate_bps : NO_CREDIT_BPS;
    rp->due_bytes = rp->sent_bytes + 1;
    double left = rp->left_bytes == RP_NEVER ? INFINITY : fmax((double)rp->left_bytes - frame, 0);
    double wanted = fmin(left, parameters->maxwnd_bytes) - (credit - frame);
    if (!own(rp)->answered && left > 0) wanted = fmax(wanted, frame);
    rp->demand_bytes =
        (uint64_t)(ceil(fmax((double)own(rp)->granted_bytes + wanted, 0) / UNIT) * UNIT);
}

static void begin(struct reaction_point *rp)
{
    own(rp)->credit_bytes = rp->parameters->maxwnd_bytes;
    decide(rp);
}

static void on_start(struct reaction_point *rp, double now_s)
{
    rp->timer_s = now_s + rp->parameters->rto_s;
    decide(rp);
}

static void on_timer(struct reaction_point *rp, double now_s)
{
    pay(rp);
    if (own(rp)->silent) own(rp)->credit_bytes = fmax(own(rp)->credit_bytes, 1);
    own(rp)->silent = true;
    rp->timer_s = now_s + rp->parameters->rto_s;
    decide(rp);
}

static void on_bytes_sent(struct reaction_point *rp, double now_s)
{
    (void)now_s;
    decide(rp);
}

static void on_ack(struct reaction_point *rp, const struct rp_ack *ack, double now_s)
{
    (void)ack, (void)now_s;
    answered(rp);
    decide(rp);
}

static void on_loss(struct reaction_point *rp, const struct rp_loss *loss, double now_s)
{
    (void)now_s;
    answered(rp);
    if (loss->timeout) own(rp)->credit_bytes = fmax(own(rp)->credit_bytes, 1);
    decide(rp);
}

static void on_grant(struct reaction_point *rp, uint64_t granted_bytes, double now_s)
{
    (void)now_s;
    answered(rp);
    if (granted_bytes > own(rp)->granted_bytes) {
        double more = (double)(granted_bytes - own(rp)->granted_bytes);
        own(rp)->credit_bytes = fmin(own(rp)->credit_bytes + more, rp->parameters->maxwnd_bytes);
        own(rp)->granted_bytes = granted_bytes;
    }
    decide(rp);
}

const struct reaction_point_events reaction_point = {
    .begin = begin,
    .on_start = on_start,
    .on_ack = on_ack,
    .on_loss = on_loss,
    .on_timer = on_timer,
    .on_bytes_sent = on_bytes_sent,
    .on_grant = on_grant,
    .logged = {{"credit_bytes", offsetof(struct reaction_point, own)}},
};
