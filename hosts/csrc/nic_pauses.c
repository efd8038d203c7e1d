/* PFC at the live NIC: PAUSE and RESUME that came, and PAUSEs that run out. */
#include "nic_inside.h"

static void end_pause(struct nic *nic, struct nic_pause *pause, uint64_t at_ps)
{
    if (at_ps < pause->until_ps) pause->until_ps = at_ps;
    pause->paused_ps += since(pause->since_ps, pause->until_ps);
    pause->paused = false;
    nic->paused_classes--;
}

/* A PFC frame arrived: pause quanta of 512 bit times by class; 0 is RESUME. */
void nic_pfc(struct nic *nic, uint8_t enabled, const uint16_t *quanta, double now_s)
{
    uint64_t now_ps = picoseconds(now_s);
    nic_account_until(nic, now_ps);
    for (int i = 0; i < WIRE_CLASSES; i++) {
        if (!(enabled >> i & 1)) continue;
        struct nic_pause *pause = &nic->state.pauses[i];
        struct event *event = nic_event(nic, quanta[i] ? EVENT_PAUSE : EVENT_RESUME, now_s);
        event->priority = i;
        event->count = quanta[i];
        if (quanta[i]) {
            pause->pause++;
            if (!pause->paused) {
                pause->paused = true;
                pause->since_ps = now_ps;
                nic->paused_classes++;
            }
            pause->until_ps = now_ps + on_line_ps(nic, quanta[i] * WIRE_QUANTUM_BITS);
        } else {
            pause->resume++;
            if (pause->paused) end_pause(nic, pause, now_ps);
        }
    }
    nic->chosen = false;
}

bool nic_is_paused(const struct nic *nic) { return nic->paused_classes > 0; }

double nic_paused_s(const struct nic *nic, int priority, double now_s)
{
    const struct nic_pause *pause = &nic->state.pauses[priority];
    uint64_t now_ps = picoseconds(now_s),
             end_ps = now_ps < pause->until_ps ? now_ps : pause->until_ps;
    return nic_seconds(pause->paused_ps + (pause->paused ? since(pause->since_ps, end_ps) : 0));
}

void nic_expire(struct nic *nic, uint64_t now_ps)
{
    for (int i = 0; i < WIRE_CLASSES; i++) {
        struct nic_pause *pause = &nic->state.pauses[i];
        if (!pause->paused || pause->until_ps > now_ps) continue;
        pause->expired++;
        end_pause(nic, pause, now_ps);
        nic_event(nic, EVENT_EXPIRY, nic_seconds(pause->until_ps))->priority = i;
    }
}
