/* DCQCN's RP: dcqcn.py, which is the specification, in C. */
#include "reaction_point.h"

#include <math.h>

struct dcqcn {
    double target_bps, alpha, timer_events, byte_events, alpha_due_s, rate_due_s;
};
RP_OWN(struct dcqcn)

static void reset(struct reaction_point *rp, double now_s)
{
    struct dcqcn *state = own(rp);
    state->timer_events = state->byte_events = 0;
    state->alpha_due_s = now_s + rp->parameters->alpha_timer_s;
    state->rate_due_s = now_s + rp->parameters->rate_timer_s;
    rp->timer_s = fmin(state->alpha_due_s, state->rate_due_s);
    rp->due_bytes = rp->sent_bytes + (uint64_t)rp->parameters->byte_counter_bytes;
}

static void increase(struct reaction_point *rp)
{
    const struct parameters *parameters = rp->parameters;
    struct dcqcn *state = own(rp);
    if (fmax(state->timer_events, state->byte_events) >= parameters->f) {
        bool hyper = fmin(state->timer_events, state->byte_events) > parameters->f;
        double step_bps = hyper ? parameters->r_hai_bps : parameters->r_ai_bps;
        state->target_bps = fmin(state->target_bps + step_bps, rp->line_rate_bps);
    }
    rp->rate_bps = (state->target_bps + rp->rate_bps) / 2;
}

static void begin(struct reaction_point *rp)
{
    own(rp)->target_bps = rp->line_rate_bps;
    own(rp)->alpha = rp->parameters->initial_alpha;
}

static void on_cnp(struct reaction_point *rp, enum rp_mark mark, double rec_rate_bps, double now_s)
{
    (void)mark, (void)rec_rate_bps;
    struct dcqcn *state = own(rp);
    double g = rp->parameters->g, least_bps = fmin(rp->parameters->min_rate_bps, rp->line_rate_bps);
    state->target_bps = rp->rate_bps;
    rp->rate_bps = fmax(rp->rate_bps * (1 - state->alpha / 2), least_bps);
    state->alpha = (1 - g) * state->alpha + g;
    reset(rp, now_s);
}

static void on_timer(struct reaction_point *rp, double now_s)
{
    (void)now_s;
    struct dcqcn *state = own(rp);
    double due_s = rp->timer_s;
    if (state->alpha_due_s <= due_s) {
        state->alpha *= 1 - rp->parameters->g;
        state->alpha_due_s += rp->parameters->alpha_timer_s;
    }
    if (state->rate_due_s <= due_s) {
        increase(rp);
        state->timer_events++;
        state->rate_due_s += rp->parameters->rate_timer_s;
    }
    rp->timer_s = fmin(state->alpha_due_s, state->rate_due_s);
}

static void on_bytes_sent(struct reaction_point *rp, double now_s)
{
    (void)now_s;
    increase(rp);
    own(rp)->byte_events++;
    rp->due_bytes = rp->sent_bytes + (uint64_t)rp->parameters->byte_counter_bytes;
}

#define LOGGED(field) {#field, offsetof(struct reaction_point, own) + offsetof(struct dcqcn, field)}
const struct reaction_point_events reaction_point = {
    .begin = begin,
    .on_start = reset,
    .on_cnp = on_cnp,
    .on_timer = on_timer,
    .on_bytes_sent = on_bytes_sent,
    .logged = {LOGGED(alpha), LOGGED(target_bps)},
};
