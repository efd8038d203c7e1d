/* The loop. A wake-up costs most (20 to 30 us of CPU in a virtual machine, against 2 us a packet), so dense frames are
 * batched. Received frames may wait for `receive_gap_s`, except before a frame is sent; they have the kernel's receive
 * timestamps. Outgoing frames leave about two at a time. */
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
    EVENTS = 1024, /* that wait for Python at most, and those of one turn more: frames make them as fast as a peer sends */
    READABLE = 1,
    WAKEUP = 2,
};

static const double NS = 1e-9;

union stamp {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(struct timespec))];
};

struct loop {
    struct loop_state state; /* first: Python reads it */
    struct loop_settings settings;
    struct nic *nic;
    struct received *received;
    struct events *events;
    bool busy;             /* frames are dense: receive them in batches */
    double last_receive_s; /* when frames were received last */
    double last_arrival_s;
    double next_transmit_s;
    struct mmsghdr in[BATCH], out[BATCH];
    struct iovec in_part[BATCH], out_part[BATCH];
    union stamp stamps[BATCH];
    int in_next, in_count; /* frames received but not processed yet */
    int64_t real_ahead_ns; /* CLOCK_REALTIME, the timestamps' clock, minus CLOCK_MONOTONIC */
    uint8_t in_frame[BATCH][WIRE_MAX_FRAME], out_frame[BATCH][WIRE_MAX_FRAME];
};

struct loop *loop_new(const struct loop_settings *settings, struct nic *nic, struct received *received, struct events *events)
{
    struct loop *loop = calloc(1, sizeof *loop);
    if (loop == NULL) return NULL;
    loop->settings = *settings;
    loop->nic = nic;
    loop->received = received;
    loop->events = events;
    loop->next_transmit_s = loop->last_receive_s = -INFINITY;
    for (int i = 0; i < BATCH; i++) {
        loop->in_part[i] = (struct iovec){loop->in_frame[i], WIRE_MAX_FRAME};
        loop->out[i].msg_hdr = (struct msghdr){.msg_iov = &loop->out_part[i], .msg_iovlen = 1};
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
    return ((double)monotonic_ns * NS - loop->settings.origin_real_s) * (1 / loop->settings.dilation);
}

static void update_now(struct loop *loop)
{
    loop->state.now_s = fmax(loop->state.now_s, nominal_s(loop, clock_ns(CLOCK_MONOTONIC)));
}

/* CLOCK_REALTIME minus CLOCK_MONOTONIC. Reads them again if the process was preempted in between. */
static int64_t real_ahead_ns(void)
{
    enum { CLOSE_NS = 5000, LOOKS = 8 };
    int64_t ahead = 0, closest = INT64_MAX;
    for (int i = 0; i < LOOKS && closest > CLOSE_NS; i++) {
        int64_t before = clock_ns(CLOCK_MONOTONIC), real = clock_ns(CLOCK_REALTIME), after = clock_ns(CLOCK_MONOTONIC);
        if (after - before >= closest) continue;
        closest = after - before;
        ahead = real - after;
    }
    return ahead;
}

/* A received frame's arrival time, by the kernel's timestamp: not before the previous frame's, and not later than now. */
static double arrival_s(struct loop *loop, int i)
{
    double now_s = loop->state.now_s, at_s = now_s;
    struct cmsghdr *header = CMSG_FIRSTHDR(&loop->in[i].msg_hdr);
    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_TIMESTAMPNS) {
        struct timespec stamp;
        memcpy(&stamp, CMSG_DATA(header), sizeof stamp);
        at_s = nominal_s(loop, stamp.tv_sec * 1000000000 + stamp.tv_nsec - loop->real_ahead_ns);
    }
    loop->last_arrival_s = fmin(fmax(at_s, loop->last_arrival_s), now_s);
    return loop->last_arrival_s;
}

/* Waits. Returns a mask of READABLE and WAKEUP, or -errno. */
static int wait_until(struct loop *loop, double wake_s, bool for_frames)
{
    struct pollfd waited[2] = {{.fd = loop->settings.wakeup, .events = POLLIN}, {.fd = loop->settings.socket, .events = POLLIN}};
    double real_s = fmax(0, (wake_s - loop->state.now_s) * loop->settings.dilation);
    double most_s = 3600;
    if (real_s > most_s) real_s = most_s;
    struct timespec timeout = {.tv_sec = (time_t)real_s};
    timeout.tv_nsec = (long)((real_s - (double)timeout.tv_sec) / NS);
    int status = ppoll(waited, for_frames ? 2 : 1, &timeout, NULL);
    if (status < 0) return errno == EINTR ? WAKEUP : -errno;
    return (waited[0].revents ? WAKEUP : 0) | (for_frames && waited[1].revents ? READABLE : 0);
}

/* ---- receiving ---- */

static void add_frame_event(struct loop *loop, enum event_kind kind, const uint8_t *frame, uint32_t length, double at_s)
{
    struct event *event = events_add(loop->events, kind, true, at_s);
    event->count = length < EVENT_FRAME_BYTES ? length : EVENT_FRAME_BYTES;
    memcpy(event->frame, frame, event->count);
}

bool loop_frame(struct loop *loop, const uint8_t *frame, uint32_t length, double now_s)
{
    union wire_content content;
    switch (wire_read(frame, length, loop->settings.ip, &content)) {
    case WIRE_DATA:
        if (received_packet(loop->received, &content.data, now_s)) return true;
        add_frame_event(loop, EVENT_UNKNOWN, frame, length, now_s);
        return false;
    case WIRE_PFC:
        nic_advance(loop->nic, now_s);
        nic_pfc(loop->nic, content.pfc.enabled, content.pfc.quanta, now_s);
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

/* Processes received frames. False: it stopped at one whose flow Python must add first. */
static bool process_frames(struct loop *loop)
{
    for (; loop->in_next < loop->in_count; loop->in_next++) {
        int i = loop->in_next;
        if (!loop_frame(loop, loop->in_frame[i], loop->in[i].msg_len, arrival_s(loop, i))) return false;
    }
    return true;
}

/* Receives at most BATCHES batches of frames. Returns their number, or -errno; `drained`: the socket is empty. */
static int receive(struct loop *loop, bool *drained)
{
    int total = 0;
    *drained = false;
    if (!process_frames(loop)) return 0;
    for (int batch = 0; batch < BATCHES; batch++) {
        for (int i = 0; i < BATCH; i++) {
            loop->in[i].msg_hdr = (struct msghdr){.msg_iov = &loop->in_part[i],
                                                  .msg_iovlen = 1,
                                                  .msg_control = &loop->stamps[i],
                                                  .msg_controllen = sizeof loop->stamps[i]};
        }
        int count = recvmmsg(loop->settings.socket, loop->in, BATCH, MSG_DONTWAIT, NULL);
        if (count < 0) {
            *drained = true;
            return errno == EAGAIN || errno == EINTR ? total : -errno;
        }
        update_now(loop);
        loop->real_ahead_ns = real_ahead_ns();
        loop->in_next = 0;
        loop->in_count = count;
        total += count;
        *drained = count < BATCH;
        if (!process_frames(loop)) {
            *drained = false;
            return total;
        }
        if (*drained) return total;
    }
    return total;
}

/* ---- sending ---- */

static bool is_temporary(int error) { return error == EAGAIN || error == ENOBUFS || error == ENOMEM || error == EINTR; }

static void note_lateness(struct loop *loop, double late_s)
{
    struct loop_state *state = &loop->state;
    state->sent_frames++;
    if (late_s > loop->settings.tolerance_s) state->late_frames++;
    state->late_s = fmax(state->late_s, late_s);
    state->worst_s = fmax(state->worst_s, late_s);
}

/* Sends the frames that are due. 0; 1 if the kernel refused a frame for now (try again soon); -errno if the interface failed. */
static int transmit(struct loop *loop)
{
    double now_s = loop->state.now_s;
    for (;;) {
        uint32_t count = 0;
        for (const struct nic_item *item; count < BATCH && (item = nic_due(loop->nic, count, now_s)); count++) {
            loop->out_part[count] = (struct iovec){loop->out_frame[count], nic_frame(item, loop->out_frame[count])};
        }
        if (count == 0) return 0;
        int sent = sendmmsg(loop->settings.socket, loop->out, count, MSG_DONTWAIT);
        if (sent < 0) {
            loop->state.send_retries++;
            return is_temporary(errno) ? 1 : -errno;
        }
        for (int i = 0; i < sent; i++) {
            note_lateness(loop, now_s - nic_seconds(nic_due(loop->nic, 0, now_s)->due_ps));
            nic_delivered(loop->nic, now_s);
        }
    }
}

/* ---- the loop ---- */

static double next_wake_s(struct loop *loop, double until_s)
{
    double wake_s = fmin(fmax(nic_wake(loop->nic), loop->next_transmit_s), until_s);
    wake_s = fmin(wake_s, received_state(loop->received)->timer_s);
    if (loop->busy) wake_s = fmin(wake_s, loop->last_receive_s + loop->settings.receive_gap_s);
    return wake_s;
}

int loop_run(struct loop *loop, double until_s)
{
    struct loop_state *state = &loop->state;
    update_now(loop);
    for (;;) {
        bool pending = loop->in_next < loop->in_count;
        int ready = wait_until(loop, pending ? state->now_s : next_wake_s(loop, until_s), !loop->busy);
        if (ready < 0) return ready;
        update_now(loop);
        bool drained = true;
        if (loop->busy || pending || ready & READABLE) {
            int count = receive(loop, &drained);
            if (count < 0) return count;
            /* Frames come faster than the gap: wake up once for several of them */
            loop->busy = count > 0 && state->now_s - loop->last_receive_s < 2 * loop->settings.receive_gap_s;
            if (count > 0) loop->last_receive_s = drained ? state->now_s : -INFINITY;
        }
        nic_advance(loop->nic, state->now_s);
        if (drained && received_state(loop->received)->timer_s <= state->now_s) {
            received_timers(loop->received, state->now_s);
        }
        if (state->now_s >= loop->next_transmit_s && nic_wake(loop->nic) <= state->now_s) {
            int refused = transmit(loop);
            if (refused < 0) return refused;
            loop->next_transmit_s = state->now_s + (refused ? loop->settings.retry_s : loop->settings.transmit_gap_s);
        }
        if (ready & WAKEUP) return 1;
        if (loop->events->urgent > 0 || loop->events->count >= EVENTS || state->now_s >= until_s) return 0;
    }
}
