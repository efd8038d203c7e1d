/* The loop. A wake-up costs most (20 to 30 us of CPU in a virtual machine, against 2 us a packet),
 * so dense frames are batched. Received frames may wait for `receive_gap_s`, except before a frame
 * is sent; they have the kernel's receive timestamps. Outgoing frames leave about two at a time. By
 * a link in memory they have the times at which they are due, however early they are put. */
#define _GNU_SOURCE /* recvmmsg, sendmmsg, ppoll */
#include "loop.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
    BATCH = 32,
    BATCHES = 4, /* received at most before frames are sent */
    /* that wait for Python at most, and those of one turn more: frames make them as fast as a peer
     * sends */
    EVENTS = 1024,
};

static const double NS = 1e-9;
static const double LOOK_REAL_S = 1e-3; /* at descriptors so often at least */

union stamp {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(struct timespec))];
};

/* A port, and what has come in by its interface. */
struct port {
    struct loop_port is;
    bool busy; /* frames are dense: receive them in batches */
    double last_receive_s; /* when frames were received last */
    double last_arrival_s;
    double next_transmit_s;
    bool waits; /* the first frame on the link in memory is of a flow that Python must add first */
    struct mmsghdr in[BATCH];
    struct iovec in_part[BATCH];
    union stamp stamps[BATCH];
    int in_next, in_count; /* frames received but not processed yet */
    uint8_t in_frame[BATCH][WIRE_MAX_FRAME];
};

struct loop {
    struct loop_state state; /* first: Python reads it */
    struct loop_settings settings;
    struct received *received;
    struct events *events;
    double looked_s; /* at descriptors */
    int64_t real_ahead_ns; /* CLOCK_REALTIME, the timestamps' clock, minus CLOCK_MONOTONIC */
    struct mmsghdr out[BATCH];
    struct iovec out_part[BATCH];
    uint8_t out_frame[BATCH][WIRE_MAX_FRAME];
    uint32_t n_ports;
    struct port ports[];
};

#define FOR_PORTS(loop, port)                                                                      \
    for (struct port *port = (loop)->ports; port < (loop)->ports + (loop)->n_ports; port++)

struct loop *loop_new(const struct loop_settings *settings, const struct loop_port *ports,
                      uint32_t n_ports, struct received *received, struct events *events)
{
    struct loop *loop = calloc(1, sizeof *loop + n_ports * sizeof *loop->ports);
    if (loop == NULL) return NULL;
    loop->settings = *settings;
    loop->received = received;
    loop->events = events;
    loop->looked_s = -INFINITY;
    loop->n_ports = n_ports;
    for (int i = 0; i < BATCH; i++)
        loop->out[i].msg_hdr = (struct msghdr){.msg_iov = &loop->out_part[i], .msg_iovlen = 1};
    FOR_PORTS(loop, port)
    {
        port->is = ports[port - loop->ports];
        port->next_transmit_s = port->last_receive_s = -INFINITY;
        for (int i = 0; i < BATCH; i++)
            port->in_part[i] = (struct iovec){port->in_frame[i], WIRE_MAX_FRAME};
    }
    return loop;
}

void loop_free(struct loop *loop) { free(loop); }

struct loop_state *loop_state(struct loop *loop) { return &loop->state; }

/* ---- time ---- */

static int64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

static double nominal_s(const struct loop *loop, int64_t monotonic_ns)
{
    return ((double)monotonic_ns * NS - loop->settings.origin_real_s) *
           (1 / loop->settings.dilation);
}

static uint64_t monotonic_ns(const struct loop *loop, double nominal_s)
{
    double ns = (nominal_s * loop->settings.dilation + loop->settings.origin_real_s) / NS;
    return ns < 1.8e19 ? (uint64_t)fmax(ns, 0) : UINT64_MAX;
}

static void update_now(struct loop *loop)
{
    loop->state.now_s = fmax(loop->state.now_s, nominal_s(loop, clock_ns(CLOCK_MONOTONIC)));
}

/* CLOCK_REALTIME minus CLOCK_MONOTONIC. Reads them again if the process was preempted in
 * between. */
static int64_t real_ahead_ns(void)
{
    enum { CLOSE_NS = 5000, LOOKS = 8 };
    int64_t ahead = 0, closest = INT64_MAX;
    for (int i = 0; i < LOOKS && closest > CLOSE_NS; i++) {
        int64_t before = clock_ns(CLOCK_MONOTONIC), real = clock_ns(CLOCK_REALTIME),
                after = clock_ns(CLOCK_MONOTONIC);
        if (after - before >= closest) continue;
        closest = after - before;
        ahead = real - after;
    }
    return ahead;
}

/* A received frame's arrival time, by the kernel's timestamp: not before the previous frame's, and
 * not later than now. */
static double arrival_s(const struct loop *loop, struct port *port, int i)
{
    double now_s = loop->state.now_s, at_s = now_s;
    struct cmsghdr *header = CMSG_FIRSTHDR(&port->in[i].msg_hdr);
    if (header != NULL && header->cmsg_level == SOL_SOCKET &&
        header->cmsg_type == SCM_TIMESTAMPNS) {
        struct timespec stamp;
        memcpy(&stamp, CMSG_DATA(header), sizeof stamp);
        at_s = nominal_s(loop, stamp.tv_sec * 1000000000 + stamp.tv_nsec - loop->real_ahead_ns);
    }
    port->last_arrival_s = fmin(fmax(at_s, port->last_arrival_s), now_s);
    return port->last_arrival_s;
}

/* Whether a frame on the socket is worth a wake-up of its own: not where they are dense, unless
 * RESUME may be next. */
static bool watches_socket(const struct port *port)
{
    return !port->busy || nic_is_paused(port->is.nic);
}

/* Waits. Returns whether `wakeup` is readable, or -errno; *readable: ports, as a bit mask, whose
 * sockets are. */
static int wait_until(struct loop *loop, double wake_s, uint64_t *readable)
{
    struct pollfd waited[1 + 2 * LOOP_MOST_PORTS] = {
        {.fd = loop->settings.wakeup, .events = POLLIN}};
    struct pollfd *sockets = waited + 1, *bells = sockets + loop->n_ports;
    for (uint32_t i = 0; i < loop->n_ports; i++) {
        const struct port *port = &loop->ports[i];
        sockets[i] =
            (struct pollfd){.fd = watches_socket(port) ? port->is.socket : -1, .events = POLLIN};
        bells[i] = (struct pollfd){.fd = port->is.link.bell, .events = POLLIN};
    }
    *readable = 0;
    loop->looked_s = loop->state.now_s;
    double real_s = fmax(0, (wake_s - loop->state.now_s) * loop->settings.dilation);
    double most_s = 3600;
    if (real_s > most_s) real_s = most_s;
    struct timespec timeout = {.tv_sec = (time_t)real_s};
    timeout.tv_nsec = (long)((real_s - (double)timeout.tv_sec) / NS);
    int status = ppoll(waited, 1 + 2 * loop->n_ports, &timeout, NULL);
    if (status < 0) return errno == EINTR ? 1 : -errno;
    for (uint32_t i = 0; i < loop->n_ports; i++) {
        if (sockets[i].revents) *readable |= UINT64_C(1) << i;
        if (bells[i].revents) link_rang(&loop->ports[i].is.link);
    }
    return waited[0].revents != 0;
}

/* ---- receiving ---- */

static void add_frame_event(struct loop *loop, enum event_kind kind, const uint8_t *frame,
                            uint32_t length, double at_s)
{
    struct event *event = events_add(loop->events, kind, true, at_s);
    event->count = length < EVENT_FRAME_BYTES ? length : EVENT_FRAME_BYTES;
    memcpy(event->frame, frame, event->count);
}

static bool take_frame(struct loop *loop, struct port *port, const uint8_t *frame, uint32_t length,
                       double now_s)
{
    union wire_content content;
    switch (wire_read(frame, length, loop->settings.ip, &content)) {
    case WIRE_DATA:
        if (received_packet(loop->received, &content.data, now_s)) return true;
        add_frame_event(loop, EVENT_UNKNOWN, frame, length, now_s);
        return false;
    case WIRE_PFC:
        nic_advance(port->is.nic, now_s);
        nic_pfc(port->is.nic, content.pfc.enabled, content.pfc.quanta, now_s);
        return true;
    case WIRE_NOTIFICATION:
        if (length <= EVENT_FRAME_BYTES) add_frame_event(loop, EVENT_FRAME, frame, length, now_s);
        else loop->state.bad_frames++;
        return true;
    case WIRE_BAD: loop->state.bad_frames++; return true;
    case WIRE_OTHER: loop->state.other_frames++; return true;
    }
    return true;
}

bool loop_frame(struct loop *loop, uint32_t port, const uint8_t *frame, uint32_t length,
                double now_s)
{
    return take_frame(loop, &loop->ports[port], frame, length, now_s);
}

/* Processes received frames. False: it stopped at one whose flow Python must add first. */
static bool process_frames(struct loop *loop, struct port *port)
{
    for (; port->in_next < port->in_count; port->in_next++) {
        int i = port->in_next;
        if (!take_frame(loop, port, port->in_frame[i], port->in[i].msg_len,
                        arrival_s(loop, port, i)))
            return false;
    }
    return true;
}

/* Receives at most BATCHES batches of frames. Returns their number, or -errno; `drained`: the
 * socket is empty. */
static int receive(struct loop *loop, struct port *port, bool *drained)
{
    int total = 0;
    *drained = false;
    if (!process_frames(loop, port)) return 0;
    for (int batch = 0; batch < BATCHES; batch++) {
        for (int i = 0; i < BATCH; i++) {
            port->in[i].msg_hdr = (struct msghdr){.msg_iov = &port->in_part[i],
                                                  .msg_iovlen = 1,
                                                  .msg_control = &port->stamps[i],
                                                  .msg_controllen = sizeof port->stamps[i]};
        }
        int count = recvmmsg(port->is.socket, port->in, BATCH, MSG_DONTWAIT, NULL);
        if (count < 0) {
            *drained = true;
            return errno == EAGAIN || errno == EINTR ? total : -errno;
        }
        update_now(loop);
        loop->real_ahead_ns = real_ahead_ns();
        port->in_next = 0;
        port->in_count = count;
        total += count;
        *drained = count < BATCH;
        if (!process_frames(loop, port)) {
            *drained = false;
            return total;
        }
        if (*drained) return total;
    }
    return total;
}

/* Processes what has arrived by the link in memory. False: not all of it. */
static bool receive_by_link(struct loop *loop, struct port *port)
{
    struct sw_channel *in = port->is.link.in;
    port->waits = false;
    for (int left = BATCH * BATCHES; in != NULL; left--) {
        uint64_t at_ns = sw_channel_next(in);
        double at_s = at_ns == UINT64_MAX ? INFINITY : nominal_s(loop, (int64_t)at_ns);
        if (at_s > loop->state.now_s) return true;
        if (left == 0) return false;
        uint32_t length;
        const uint8_t *frame = sw_channel_first(in, &length);
        port->last_arrival_s = fmax(at_s, port->last_arrival_s);
        port->waits = !take_frame(loop, port, frame, length, port->last_arrival_s);
        if (port->waits) return false;
        sw_channel_drop(in, length);
    }
    return true;
}

/* ---- sending ---- */

static bool is_temporary(int error)
{
    return error == EAGAIN || error == ENOBUFS || error == ENOMEM || error == EINTR;
}

static void note_lateness(struct loop *loop, double late_s)
{
    struct loop_state *state = &loop->state;
    state->sent_frames++;
    if (late_s > loop->settings.tolerance_s) state->late_frames++;
    state->late_s = fmax(state->late_s, late_s);
    state->worst_s = fmax(state->worst_s, late_s);
}

/* Sends the frames that are due. 0; 1 if the kernel refused a frame for now (try again soon);
 * -errno if the interface failed. */
static int transmit(struct loop *loop, const struct port *port)
{
    double now_s = loop->state.now_s;
    for (;;) {
        uint32_t count = 0;
        for (const struct nic_item *item;
             count < BATCH && (item = nic_due(port->is.nic, count, now_s)); count++) {
            loop->out_part[count] =
                (struct iovec){loop->out_frame[count], nic_frame(item, loop->out_frame[count])};
        }
        if (count == 0) return 0;
        int sent = sendmmsg(port->is.socket, loop->out, count, MSG_DONTWAIT);
        if (sent < 0) {
            loop->state.send_retries++;
            return is_temporary(errno) ? 1 : -errno;
        }
        for (int i = 0; i < sent; i++) {
            note_lateness(loop, now_s - nic_seconds(nic_due(port->is.nic, 0, now_s)->due_ps));
            nic_delivered(port->is.nic, now_s);
        }
    }
}

/* Puts the frames that have started on the link in memory. 0, or 1 if it has no room or is down. */
static int transmit_by_link(struct loop *loop, const struct port *port)
{
    const struct link *link = &port->is.link;
    double now_s = loop->state.now_s;
    uint64_t first_ns = UINT64_MAX;
    const struct nic_item *item;
    bool refused = false;
    while ((item = nic_due(port->is.nic, 0, INFINITY)) != NULL) {
        refused =
            __atomic_load_n(&link->out->down, __ATOMIC_RELAXED) || !sw_channel_room(link->out);
        if (refused) break;
        double due_s = nic_seconds(item->due_ps);
        uint32_t length = nic_frame(item, sw_channel_begin(link->out));
        uint64_t at_ns = sw_channel_end(link->out, length, monotonic_ns(loop, due_s));
        if (first_ns == UINT64_MAX) first_ns = at_ns;
        note_lateness(loop, fmax(0, now_s - due_s));
        nic_delivered(port->is.nic, now_s);
    }
    if (first_ns != UINT64_MAX) link_ring(link, first_ns);
    loop->state.send_retries += refused;
    return refused;
}

/* Whether frames are to be given to the link or the socket by now. */
static bool has_due(const struct loop *loop, const struct port *port)
{
    if (link_carries(&port->is.link)) return nic_due(port->is.nic, 0, INFINITY) != NULL;
    return nic_wake(port->is.nic) <= loop->state.now_s;
}

/* ---- the loop ---- */

/* When the port has something to do, if nothing happens before. */
static double port_wake_s(const struct loop *loop, const struct port *port)
{
    bool early = link_carries(&port->is.link) && nic_due(port->is.nic, 0, INFINITY) == NULL;
    double send_s = early ? nic_decides(port->is.nic) + port->is.lead_s : nic_wake(port->is.nic);
    double wake_s = fmax(send_s, port->next_transmit_s);
    uint64_t arrival_ns = link_next(&port->is.link);
    if (arrival_ns != UINT64_MAX)
        wake_s = fmin(wake_s, nominal_s(loop, (int64_t)arrival_ns) + loop->settings.receive_gap_s);
    if (port->busy) wake_s = fmin(wake_s, port->last_receive_s + loop->settings.receive_gap_s);
    return wake_s;
}

static double next_wake_s(struct loop *loop, double until_s)
{
    double wake_s = fmin(until_s, received_state(loop->received)->timer_s);
    FOR_PORTS(loop, port) wake_s = fmin(wake_s, port_wake_s(loop, port));
    return wake_s;
}

static void announce(struct loop *loop, uint64_t until_ns)
{
    FOR_PORTS(loop, port) link_announce(&port->is.link, until_ns);
}

/* Sleeps until there is something to do. Where that comes before a frame that is put now may have
 * waited for long enough, no frame is worth a wake-up of its own. Returns as wait_until. */
static int sleep_until_due(struct loop *loop, double until_s, uint64_t *readable)
{
    const struct loop_settings *settings = &loop->settings;
    double now_s = loop->state.now_s, wake_s = next_wake_s(loop, until_s);
    /* nor have the other ports one */
    if (loop->ports->is.link.in == NULL) return wait_until(loop, wake_s, readable);
    double real_s = (wake_s - now_s) * settings->dilation;
    if (wake_s <= now_s + settings->receive_gap_s &&
        now_s < loop->looked_s + LOOK_REAL_S / settings->dilation) {
        struct timespec rest = {.tv_nsec = (long)(fmin(fmax(real_s, 0), 0.9) / NS)};
        if (rest.tv_nsec > 0) nanosleep(&rest, NULL);
        *readable = 0;
        return 0;
    }
    announce(loop, monotonic_ns(loop, wake_s - settings->receive_gap_s));
    /* what came before is seen by this second look */
    int ready = wait_until(loop, next_wake_s(loop, until_s), readable);
    announce(loop, 0);
    return ready;
}

void loop_watch(struct loop *loop, uint32_t port, bool watched)
{
    link_watch(&loop->ports[port].is.link, watched);
}

/* Takes in what has arrived at a port. False: not all of it. -errno in *status if the interface
 * failed. */
static bool arrivals(struct loop *loop, struct port *port, bool readable, int *status)
{
    const struct loop_state *state = &loop->state;
    bool all = receive_by_link(loop, port), drained = true;
    if (!port->busy && port->in_next == port->in_count && !readable) return all;
    int count = receive(loop, port, &drained);
    if (count < 0) {
        *status = count;
        return false;
    }
    /* Frames come faster than the gap: wake up once for several of them */
    port->busy =
        count > 0 && state->now_s - port->last_receive_s < 2 * loop->settings.receive_gap_s;
    if (count > 0) port->last_receive_s = drained ? state->now_s : -INFINITY;
    return all && drained;
}

/* Gives the link or the socket what is due at a port. 0, or -errno if the interface failed. */
static int departures(struct loop *loop, struct port *port)
{
    double now_s = loop->state.now_s;
    if (now_s < port->next_transmit_s || !has_due(loop, port)) return 0;
    bool by_link = link_carries(&port->is.link);
    int refused = by_link ? transmit_by_link(loop, port) : transmit(loop, port);
    if (refused < 0) return refused;
    double gap_s = by_link ? 0 : loop->settings.transmit_gap_s;
    port->next_transmit_s = now_s + (refused ? loop->settings.retry_s : gap_s);
    return 0;
}

static int failed(struct loop *loop, const struct port *port, int status)
{
    loop->state.failed_port = (uint64_t)(port - loop->ports);
    return status;
}

int loop_run(struct loop *loop, double until_s)
{
    struct loop_state *state = &loop->state;
    update_now(loop);
    for (;;) {
        bool waits = false, all = true;
        uint64_t readable;
        int status = 0;
        FOR_PORTS(loop, port) waits |= port->in_next < port->in_count || port->waits;
        int ready = waits ? wait_until(loop, state->now_s, &readable)
                          : sleep_until_due(loop, until_s, &readable);
        if (ready < 0) return ready;
        update_now(loop);
        FOR_PORTS(loop, port)
        {
            all &= arrivals(loop, port, readable >> (port - loop->ports) & 1, &status);
            if (status < 0) return failed(loop, port, status);
        }
        FOR_PORTS(loop, port) nic_advance(port->is.nic, state->now_s);
        if (all && received_state(loop->received)->timer_s <= state->now_s)
            received_timers(loop->received, state->now_s);
        FOR_PORTS(loop, port)
        {
            status = departures(loop, port);
            if (status < 0) return failed(loop, port, status);
        }
        if (ready) return 1;
        if (loop->events->urgent > 0 || loop->events->count >= EVENTS || state->now_s >= until_s)
            return 0;
    }
}
