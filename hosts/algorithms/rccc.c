/* RCCC's RP: rccc.py, which is the specification, in C. */
#include "reaction_point.h"

#include <math.h>

struct rccc {
    double credit_bytes;
    uint64_t granted_bytes, spent_bytes;
    bool answered; /* ever */
    bool silent; /* since the latest look */
};
RP_STATE(struct rccc)

static const double UNIT = 256, NO_CREDIT_BPS = 1;

static void pay(struct reaction_point *rp)
{
    state_of(rp)->credit_bytes -= (double)(rp->sent_bytes - state_of(rp)->spent_bytes);
    state_of(rp)->spent_bytes = rp->sent_bytes;
}

static void answered(struct reaction_point *rp)
{
    pay(rp);
    if (!state_of(rp)->answered) state_of(rp)->credit_bytes = fmin(state_of(rp)->credit_bytes, 0);
    state_of(rp)->answered = true;
    state_of(rp)->silent = false;
}

static void decide(struct reaction_point *rp)
{
    const struct parameters *parameters = rp->parameters;
    pay(rp);
    double credit = state_of(rp)->credit_bytes, frame = parameters->frame_bytes;
    rp->rate_bps = credit > 0 ? rp->line_rate_bps : NO_CREDIT_BPS;
    rp->due_bytes = rp->sent_bytes + 1;
    double left = rp->left_bytes == RP_NEVER ? INFINITY : fmax((double)rp->left_bytes - frame, 0);
    double wanted = fmin(left, parameters->maxwnd_bytes) - (credit - frame);
    if (!state_of(rp)->answered && left > 0) wanted = fmax(wanted, frame);
    rp->demand_bytes =
        (uint64_t)(ceil(fmax((double)state_of(rp)->granted_bytes + wanted, 0) / UNIT) * UNIT);
}

static void begin(struct reaction_point *rp)
{
    state_of(rp)->credit_bytes = rp->parameters->maxwnd_bytes;
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
    if (state_of(rp)->silent) state_of(rp)->credit_bytes = fmax(state_of(rp)->credit_bytes, 1);
    state_of(rp)->silent = true;
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
    if (loss->timeout) state_of(rp)->credit_bytes = fmax(state_of(rp)->credit_bytes, 1);
    decide(rp);
}

static void on_grant(struct reaction_point *rp, uint64_t granted_bytes, double now_s)
{
    (void)now_s;
    answered(rp);
    if (granted_bytes > state_of(rp)->granted_bytes) {
        double more = (double)(granted_bytes - state_of(rp)->granted_bytes);
        state_of(rp)->credit_bytes =
            fmin(state_of(rp)->credit_bytes + more, rp->parameters->maxwnd_bytes);
        state_of(rp)->granted_bytes = granted_bytes;
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
    .logged = {{"credit_bytes", offsetof(struct reaction_point, state)}},
};
