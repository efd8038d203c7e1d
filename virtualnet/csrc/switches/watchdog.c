/* A PFC watchdog, as SONiC has it: it looks at each lossless class of a port at a period. A class
 * that was paused, had packets and sent none for the detection time is in a storm. Then, by its
 * action, the port drops what waits and what comes for the class, or it ignores its PAUSE frames
 * and sends. Once no PAUSE has held the class for the restoration time, all is as before. A PAUSE
 * counts that held it at any time since the last look: one that lets go only when the watchdog
 * looks holds the class all the same. */
#include "switches/watchdog.h"

#include <errno.h>
#include <stdlib.h>

#include "switches/scheduler.h"

struct vn_watchdog {
    struct vn_watchdog_config config;
    struct vn_watchdog_stats counts;
    uint64_t since[VN_CLASSES]; /* stuck, or, in a storm, not paused; VN_NEVER: it isn't */
    uint64_t served[VN_CLASSES];
};

/* Whether a PAUSE held, or, where it is ignored, would have held the class at a time after
 * `since`. */
static bool was_paused(const struct vn_link *link, uint32_t class, uint64_t since)
{
    return vn_gate_closed(link, class) ||
           vn_pfc_class((struct vn_class *)&link->classes[class])->paused_until > since;
}

static bool in_storm(const struct vn_link *link, uint32_t class)
{
    return (vn_port_of(link)->dropping | vn_pfc_of(link)->ignored) >> class & 1;
}

static void drop_waiting(struct vn_context *context, struct vn_link *link, uint32_t class)
{
    while (link->waiting >> class & 1) {
        struct vn_departure departure = vn_scheduler_next(context, link, class);
        vn_port_more(link)->watchdog->counts.dropped++;
        vn_packet_lose(context, departure.packet);
        vn_scheduler_release(context, class, &departure);
    }
}

static void begin_storm(struct vn_context *context, struct vn_link *link, uint32_t class)
{
    struct vn_watchdog *watchdog = vn_port_more(link)->watchdog;
    watchdog->counts.storms++;
    watchdog->since[class] = VN_NEVER;
    if (watchdog->config.forward) {
        vn_pfc_of(link)->ignored |= (uint8_t)(1u << class);
        vn_gate_open(context, link, class);
        vn_gate_changed(context, link);
    } else {
        vn_port_of(link)->dropping |= (uint8_t)(1u << class);
        drop_waiting(context, link, class);
    }
}

static void end_storm(struct vn_link *link, uint32_t class)
{
    struct vn_watchdog *watchdog = vn_port_more(link)->watchdog;
    watchdog->counts.restored++;
    watchdog->since[class] = VN_NEVER;
    vn_pfc_of(link)->ignored &= (uint8_t)~(1u << class);
    if (!vn_port_of(link)->discards) vn_port_of(link)->dropping &= (uint8_t)~(1u << class);
}

void vn_watchdog_poll(struct vn_context *context, uint32_t number)
{
    struct vn_link *link = vn_link_of(context, number);
    struct vn_watchdog *watchdog = vn_port_more(link)->watchdog;
    uint64_t last = context->now - watchdog->config.poll_ps;
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        if (!((vn_pfc_of(link)->lossless & watchdog->config.classes) >> class & 1)) continue;
        uint64_t served = vn_port_more(link)->served[class];
        bool storm = in_storm(link, class), paused = was_paused(link, class, last);
        bool stuck = paused && link->waiting >> class & 1 && served == watchdog->served[class];
        watchdog->served[class] = served;
        if (storm ? paused : !stuck) {
            watchdog->since[class] = VN_NEVER;
            continue;
        }
        if (watchdog->since[class] == VN_NEVER)
            watchdog->since[class] = storm ? last : context->now;
        uint64_t lasts = context->now - watchdog->since[class];
        if (storm && lasts >= watchdog->config.restore_ps) end_storm(link, class);
        else if (!storm && lasts >= watchdog->config.detect_ps) begin_storm(context, link, class);
    }
    vn_at(context, link->node, context->now + watchdog->config.poll_ps, VN_EV_WATCHDOG, number);
}

bool vn_watchdog_drops(struct vn_context *context, struct vn_link *link, uint32_t packet)
{
    struct vn_watchdog *watchdog = vn_port_more(link)->watchdog;
    watchdog->counts.dropped++;
    vn_packet_lose(context, packet);
    return true;
}

void vn_watchdog_count(const struct vn_link *link, struct vn_watchdog_stats *out)
{
    const struct vn_watchdog *watchdog = vn_port_more(link)->watchdog;
    *out = watchdog != NULL ? watchdog->counts : (struct vn_watchdog_stats){0};
}

int vn_watchdog_set(struct vn_context *context, struct vn_link *link,
                    const struct vn_watchdog_config *config)
{
    struct vn_port_more *more = vn_port_more(link);
    if (vn_pfc_of(link) == NULL)
        return vn_refuse(context, -EINVAL, "a port without PFC has no PFC watchdog");
    if (more->output != NULL)
        return vn_refuse(context, -EINVAL, "a PFC watchdog isn't for output buffers");
    if (config->poll_ps == 0)
        return vn_refuse(context, -EINVAL, "a PFC watchdog needs a period above 0");
    if (more->watchdog != NULL)
        return vn_refuse(context, -EEXIST, "the port has a PFC watchdog already");
    more->watchdog = calloc(1, sizeof *more->watchdog);
    if (more->watchdog == NULL)
        return vn_refuse(context, -ENOMEM, "out of memory for PFC watchdogs");
    more->watchdog->config = *config;
    memset(more->watchdog->since, 0xff, sizeof more->watchdog->since); /* VN_NEVER */
    vn_port_of(link)->rated = true; /* its departures are counted */
    /* which has no room for more */
    if (config->forward) vn_fault_overruns(vn_end_of(context, (uint32_t)(link - context->links)));
    vn_at(context, link->node, context->now + config->poll_ps, VN_EV_WATCHDOG,
          (uint32_t)(link - context->links));
    return 0;
}
