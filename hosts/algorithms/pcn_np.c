/* PCN's NP: pcn.py, which is the specification, in C. */
#include "notification_point.h"

#include <math.h>

enum { LAST_ARRIVAL_S, ANY_ARRIVED }; /* of an NP's state */

static bool on_window(struct notification_point *np, const struct np_window *window,
                      struct np_cnp *cnp)
{
    const double unit_bps = 1e6;
    const struct parameters *parameters = np->parameters;
    if (window->packets == 0) return false;
    double packets = (double)window->packets, marked = (double)window->marked_ce;
    bool congested = marked > 0 && marked + 1e-9 >= parameters->congested_fraction * packets;
    double elapsed_s = parameters->period_s;
    if (window->packets == 1 && np->own[ANY_ARRIVED] != 0)
        elapsed_s = fmax(elapsed_s, window->last_s - np->own[LAST_ARRIVAL_S]);
    np->own[LAST_ARRIVAL_S] = window->last_s;
    np->own[ANY_ARRIVED] = 1;
    double units = fmax(floor((double)(window->bytes * 8) / elapsed_s / unit_bps + 0.5), 1);
    *cnp = (struct np_cnp){congested ? RP_CE : RP_NONE, units * unit_bps};
    return true;
}

const struct notification_point_events notification_point = {.on_window = on_window};
