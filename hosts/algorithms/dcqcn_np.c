/* DCQCN's NP: dcqcn.py, which is the specification, in C. */
#include "notification_point.h"

static bool on_marked(struct notification_point *np, double now_s, struct np_cnp *cnp)
{
    if (now_s < np->marked_from_s) return false;
    np->marked_from_s = now_s + np->parameters->cnp_interval_s;
    *cnp = (struct np_cnp){.mark = RP_CE};
    return true;
}

const struct notification_point_events notification_point = {.on_marked = on_marked};
