/* HPCC's RP: hpcc.py, which is the specification, in C. */
#include "reaction_point.h"

#include <math.h>

static const uint32_t OLDER = 1u << 23;

struct before {
    uint32_t ticks, sent_bytes, queue_bytes;
};

struct hpcc {
    double w_c, u, acked_bytes, update_ends;
    double loads[RP_MOST_HOPS];
    struct before before[RP_MOST_HOPS];
    /* path: its id, and above that the number of its hops and 1; 0: none yet */
    uint32_t path, stage;
};
RP_OWN(struct hpcc)

static double window_at(const struct reaction_point *rp, double rate_bps)
{
    return rate_bps * rp->parameters->base_rtt_s / 8;
}

static void begin(struct reaction_point *rp)
{
    rp->rate_bps = rp->line_rate_bps;
    own(rp)->w_c = window_at(rp, rp->line_rate_bps);
    rp->window_bytes = own(rp)->w_c * rp->parameters->frame_per_payload;
    own(rp)->u = 1;
}

static struct before of(const struct rp_hop *hop)
{
    return (struct before){hop->ticks, hop->sent_bytes, hop->queue_bytes};
}

static bool measure_inflight(struct reaction_point *rp, const struct rp_telemetry *telemetry)
{
    struct hpcc *hpcc = own(rp);
    double base_rtt_s = rp->parameters->base_rtt_s, u = 0, tau_s = 0;
    uint32_t path = telemetry->path_id | (telemetry->n_hops + 1u) << 16;
    if (path != hpcc->path) {
        hpcc->path = path;
        for (uint32_t i = 0; i < telemetry->n_hops; i++) {
            hpcc->before[i] = of(&telemetry->hops[i]);
            hpcc->loads[i] = 0;
        }
        return false;
    }
    for (uint32_t i = 0; i < telemetry->n_hops; i++) {
        const struct rp_hop *hop = &telemetry->hops[i];
        struct before *before = &hpcc->before[i];
        uint32_t ticks = (hop->ticks - before->ticks) % RP_TICKS,
                 sent_bytes = (hop->sent_bytes - before->sent_bytes) % RP_SENT_BYTES;
        bool measured = ticks > 0 && ticks < OLDER && hop->rate_bps > 0;
        if (measured) {
            double queue_bytes =
                hop->queue_bytes < before->queue_bytes ? hop->queue_bytes : before->queue_bytes;
            double tx_rate_bps = (double)sent_bytes * 8 / (ticks * telemetry->tick_s);
            hpcc->loads[i] =
                queue_bytes * 8 / (hop->rate_bps * base_rtt_s) + tx_rate_bps / hop->rate_bps;
            *before = of(hop);
        }
        if (hpcc->loads[i] > u) {
            u = hpcc->loads[i];
            tau_s = measured ? ticks * telemetry->tick_s : 0;
        }
    }
    if (tau_s <= 0) return false;
    double weight = fmin(tau_s, base_rtt_s) / base_rtt_s;
    hpcc->u = (1 - weight) * hpcc->u + weight * u;
    return true;
}

static void compute_wind(struct reaction_point *rp, bool updates)
{
    const struct parameters *parameters = rp->parameters;
    struct hpcc *hpcc = own(rp);
    bool multiplies = hpcc->u >= parameters->eta || hpcc->stage >= parameters->max_stage;
    double window = multiplies ? hpcc->w_c / (hpcc->u / parameters->eta) : hpcc->w_c;
    window = fmax(window + parameters->w_ai_bytes, window_at(rp, parameters->min_rate_bps));
    window = fmin(window, window_at(rp, rp->line_rate_bps));
    rp->window_bytes = window * parameters->frame_per_payload;
    rp->rate_bps = fmin(window * 8 / parameters->base_rtt_s, rp->line_rate_bps);
    if (updates) {
        hpcc->stage = multiplies ? 0 : hpcc->stage + 1;
        hpcc->w_c = window;
    }
}

static void on_ack(struct reaction_point *rp, const struct rp_ack *ack, double now_s)
{
    (void)now_s;
    struct hpcc *hpcc = own(rp);
    if (rp->parameters->first_rtt != 0 && hpcc->acked_bytes == 0)
        hpcc->update_ends = (double)rp->sent_bytes;
    hpcc->acked_bytes += (double)ack->acked_bytes;
    if (ack->telemetry == NULL || !measure_inflight(rp, ack->telemetry)) return;
    bool updates = hpcc->acked_bytes > hpcc->update_ends;
    compute_wind(rp, updates);
    if (updates) hpcc->update_ends = (double)rp->sent_bytes;
}

const struct reaction_point_events reaction_point = {
    .begin = begin,
    .on_ack = on_ack,
    .logged =
        {
            {"window_bytes", offsetof(struct reaction_point, window_bytes)},
            {"u", offsetof(struct reaction_point, own) + offsetof(struct hpcc, u)},
        },
};
