/* A switch: the API that Python calls (softswitch/native.py, by ctypes). On the live clock one
 * worker thread moves all packets; with the manual clock calls do so themselves; in virtual time
 * a switch only holds its program and tables. Calls between sw_create and sw_destroy, but for
 * sw_start and sw_stop, may come from any thread. They take the switch's lock; sw_next_event and
 * sw_departed only that of their queue.
 *
 * Calls that can fail return 0 or a handle >= 0, or a negative errno, and write one line into
 * `error`. */
#ifndef SW_SWITCH_H
#define SW_SWITCH_H

#include "pipeline.h"

struct sw_switch;

enum { SW_ERROR_BYTES = 256 };

/* LIVE: the machine's monotonic clock, 0 when the switch was created. MANUAL: starts at 0;
 * sw_advance alone moves it. */
enum sw_clock { SW_CLOCK_LIVE, SW_CLOCK_MANUAL };

struct sw_switch *sw_create(uint32_t priorities, uint32_t queue_depth_packets,
                            uint16_t cpu_port /* 0: none */, uint16_t drop_port, uint64_t seed,
                            uint32_t clock, char error[SW_ERROR_BYTES]);
void sw_destroy(struct sw_switch *); /* stops, closes ports, frees */

/* ring_frames: slots of the receive ring. interface NULL (manual clock only): a port without
 * interface; frames come in by sw_inject and go out by sw_departed. */
int sw_port_add(struct sw_switch *, uint16_t port, const char *interface, uint32_t ring_frames,
                char error[SW_ERROR_BYTES]);
int sw_port_remove(struct sw_switch *, uint16_t port, char error[SW_ERROR_BYTES]);
/* rate 0: unshaped */
int sw_port_shape(struct sw_switch *, uint16_t port, uint64_t rate_bps, uint64_t delay_ns,
                  char error[SW_ERROR_BYTES]);
/* A queue's depth in packets, and the time in which one packet leaves it (0: any; at most 1 s);
 * UINT64_MAX: as it is. port < 0: all ports, and those to come; queue < 0: all queues. */
int sw_queue_set(struct sw_switch *, int port, int queue, uint64_t depth, uint64_t interval_ns,
                 char error[SW_ERROR_BYTES]);

/* Of all ports: packets that a full queue refuses are trimmed (trim.h). */
struct sw_trimming;
int sw_set_trimming(struct sw_switch *, const struct sw_trimming *);
/* Captures the frames that come in by a port, or leave by it, from now on: a pcap file. */
int sw_port_capture(struct sw_switch *, uint16_t port, bool out, int descriptor,
                    char error[SW_ERROR_BYTES]);

struct sw_port_stats {
    uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
    /* no program; no memory, to resubmit or recirculate, too; a frame over 9,216 B; a full ring */
    uint64_t rx_dropped;
    /* the interface refused, is down or is gone; frames that leave a port without one and nobody
     * takes */
    uint64_t tx_dropped;
    uint64_t queue_dropped; /* a full queue, or a priority beyond the last one */
    uint64_t trimmed; /* packets that a full queue refused, and that went to another one */
    uint32_t queue_packets[SW_PRIORITIES];
    uint32_t in_flight; /* on the delay line */
    uint8_t up;         /* frames can leave: the interface is open, IFF_UP and IFF_RUNNING */
};
int sw_port_stats(struct sw_switch *, uint16_t port, struct sw_port_stats *);

/* Before sw_start: reports on a board (pace.h), which outlives the switch. */
struct sw_pace_board;
struct sw_pace_slot;
int sw_report_pace(struct sw_switch *, const struct sw_pace_board *, struct sw_pace_slot *);

/* Before sw_start: the worker may do what is due so late, for fewer wake-ups. */
int sw_set_slack(struct sw_switch *, uint64_t ns);

int sw_start(struct sw_switch *, char error[SW_ERROR_BYTES]);
/* One worker for all of them. Switches with links between them end before any is destroyed. */
int sw_start_together(struct sw_switch **, uint32_t n, char error[SW_ERROR_BYTES]);
/* Before sw_start, on the live clock: the link between two ports, each of an interface, is in
 * memory, with the ports' rates and delays. Frames take the way through the kernel while others
 * listen at the receiving interface, which is promiscuous then. The interfaces' states are the
 * link's. */
int sw_connect(struct sw_switch *, uint16_t port, struct sw_switch *, uint16_t other_port);
/* The same of a port's link to another process, a host's agent or a switch: memory for both
 * directions (channel.h), which of its two ends the port is, 0 or 1, and a socket that wakes the
 * other one. The switch closes the socket. 0 or -errno. */
int sw_connect_process(struct sw_switch *, uint16_t port, int memory, int bell, uint32_t end);
/* The worker opens interfaces that return in the network namespace that the caller is in. */
int sw_keep_namespace(struct sw_switch *);
int sw_stop(struct sw_switch *);

/* Loads a program's shared object. The new program starts with empty tables and zeroed state;
 * packets inside are dropped. On failure the old program stays. The counts of a covered program are
 * added to `coverage`, n_coverage of them, by sw_collect and at the program's end; NULL: nowhere. */
int sw_load(struct sw_switch *, const char *path, uint64_t *coverage, uint32_t n_coverage,
            char error[SW_ERROR_BYTES]);
int sw_collect(struct sw_switch *);

/* key and mask: spec->key_bytes bytes, layout of sw_const_entry. args: n words, as sw_action_spec
 * says. priority: P4Runtime's, the higher wins; ignored for EXACT and LPM. Returns the handle.
 * -EEXIST: same key (and priority) is there. -ENOSPC: table full. */
int64_t sw_table_add(struct sw_switch *, uint32_t table, const uint8_t *key, const uint8_t *mask,
                     int32_t prefix, int32_t priority, uint32_t action, const uint64_t *args,
                     uint32_t n_args, char error[SW_ERROR_BYTES]);
/* An entry that sw_table_add_all adds: this head, the key of n_key words, the mask of as many if
 * `masked`, and n_args words of arguments. Key and mask end in zeros that fill their last word. */
struct sw_addition {
    uint32_t table, n_key, masked;
    int32_t prefix, priority;
    uint32_t action, n_args, unused;
};
/* Adds n entries that follow each other, as sw_table_add does each. results: by entry, its handle or
 * -errno; what is refused keeps nothing else out. 0 or -EINVAL: `bytes` isn't the length of n
 * entries, and none is added. */
int sw_table_add_all(struct sw_switch *, const uint64_t *additions, uint64_t bytes, uint32_t n,
                     int64_t *results);
int sw_table_modify(struct sw_switch *, uint32_t table, uint32_t handle, uint32_t action,
                    const uint64_t *args, uint32_t n_args, char error[SW_ERROR_BYTES]);
int sw_table_delete(struct sw_switch *, uint32_t table, uint32_t handle,
                    char error[SW_ERROR_BYTES]);
/* action UINT32_MAX: back to the program's own default. */
int sw_table_set_default(struct sw_switch *, uint32_t table, uint32_t action, const uint64_t *args,
                         uint32_t n_args, char error[SW_ERROR_BYTES]);
/* Action profiles. handle -1: adds a member or group at the lowest free handle; else replaces that
 * one. An entry of an indirect table has SW_MEMBER or SW_GROUP as its action and the handle as its
 * one argument word. Deletion doesn't check for references. */
int64_t sw_member_put(struct sw_switch *, uint32_t profile, int64_t handle, uint32_t action,
                      const uint64_t *args, uint32_t n_args, char error[SW_ERROR_BYTES]);
int sw_member_delete(struct sw_switch *, uint32_t profile, uint32_t handle,
                     char error[SW_ERROR_BYTES]);
int64_t sw_group_put(struct sw_switch *, uint32_t profile, int64_t handle, const uint32_t *members,
                     uint32_t n, char error[SW_ERROR_BYTES]);
int sw_group_delete(struct sw_switch *, uint32_t profile, uint32_t handle,
                    char error[SW_ERROR_BYTES]);

int sw_table_counter_read(struct sw_switch *, uint32_t table, int64_t handle /* -1: default */,
                          struct sw_counter *);
/* Time since the last hit, or else since the entry was added, us. For tables with
 * SW_IDLE_TIMEOUT. */
int sw_table_idle(struct sw_switch *, uint32_t table, uint32_t handle, uint64_t *us);
int sw_table_counter_write(struct sw_switch *, uint32_t table, int64_t handle,
                           const struct sw_counter *);

int sw_counter_read(struct sw_switch *, uint32_t counter, uint32_t first, uint32_t n,
                    struct sw_counter *out);
int sw_counter_write(struct sw_switch *, uint32_t counter, uint32_t first, uint32_t n,
                     const struct sw_counter *in);
/* Cells in the layout of sw_register: cell_bytes each, host order. */
int sw_register_read(struct sw_switch *, uint32_t reg, uint32_t first, uint32_t n, void *out);
int sw_register_write(struct sw_switch *, uint32_t reg, uint32_t first, uint32_t n, const void *in);

/* Rates in units in per_us microseconds; burst in units. Units are bytes or packets, as the program
 * says. */
struct sw_meter_config {
    uint64_t cir, cburst, pir, pburst, per_us;
};
int sw_meter_read(struct sw_switch *, uint32_t meter, uint32_t index, struct sw_meter_config *);
/* NULL: not configured, every packet is green (the state after load); read then gives all ones
 * (UINT64_MAX). */
int sw_meter_write(struct sw_switch *, uint32_t meter, uint32_t index,
                   const struct sw_meter_config *);

int sw_table_meter_read(struct sw_switch *, uint32_t table, uint32_t handle,
                        struct sw_meter_config *);
int sw_table_meter_write(struct sw_switch *, uint32_t table, uint32_t handle,
                         const struct sw_meter_config *);

/* Packet replication engine. n = 0 deletes. */
struct sw_replica {
    uint16_t port;
    uint16_t instance;
};
int sw_clone_session(struct sw_switch *, uint32_t session, const struct sw_replica *, uint32_t n,
                     uint32_t truncate_to, char error[SW_ERROR_BYTES]);
int sw_multicast_group(struct sw_switch *, uint32_t group, const struct sw_replica *, uint32_t n,
                       char error[SW_ERROR_BYTES]);

/* Injects a frame as if it came in on `port`. */
int sw_packet_out(struct sw_switch *, uint16_t port, const uint8_t *frame, uint32_t length);

/* The packet generator: every period_ns from now on a batch of n frames comes in on `port`, one
 * with each packet id (generator.h). n = 0 turns it off. Without a program nothing is made. In
 * virtual time: what is set before the first run, from its start on. */
int sw_generate(struct sw_switch *, uint16_t port, uint64_t period_ns, const uint16_t *packet_ids,
                uint32_t n, char error[SW_ERROR_BYTES]);

/* ---- the clock ---- */

uint64_t sw_time_ns(struct sw_switch *);
/* Manual clock, in virtual time: what it is now, for calls. Nothing is processed. */
int sw_set_time(struct sw_switch *, uint64_t ns);

/* Manual clock: advances to until_ns and processes all that is due up to then, in order of time. A
 * time in the past counts as now. Stops earlier after a new event for sw_next_event, after frame
 * number `frames` has left by `port` (0: not), or after some 4,000 steps, so that other callers get
 * the lock. 0: the clock is at until_ns; 1: call again; -EPERM: live clock. */
int sw_advance(struct sw_switch *, uint64_t until_ns, uint16_t port, uint64_t frames);
/* Manual clock: the delay of resubmitted and recirculated packets on the way back to the parser; 0
 * by default. */
int sw_reentry(struct sw_switch *, uint64_t ns);
/* Before the first packet: the tick of the clock that programs read, 1 to 1,000 ns. 1,000, BMv2's,
 * is the default. */
int sw_set_tick(struct sw_switch *, uint32_t ns);
/* The number of frames that have left by a port. */
uint64_t sw_tx_count(struct sw_switch *, uint16_t port);
/* Manual clock: injects a frame of 0 to 9,216 bytes at a port without interface. All that it causes
 * at the current time is processed before this returns. */
int sw_inject(struct sw_switch *, uint16_t port, const uint8_t *frame, uint32_t length,
              char error[SW_ERROR_BYTES]);

/* LOG: a line by the program's log_msg(). NOTICE: a line by the switch, e.g. about a port that went
 * down. No NUL at the end. */
enum sw_event_kind {
    SW_EVENT_PACKET_IN = 1,
    SW_EVENT_DIGEST = 2,
    SW_EVENT_LOG = 3,
    SW_EVENT_NOTICE = 4,
    SW_EVENT_FENCE = 5,
    SW_EVENT_FRAME = 6
};
struct sw_event {
    uint32_t kind;
    uint32_t id; /* digest list, fence, port */
    uint32_t length;
    uint64_t now_ns;
};
/* Waits up to timeout_ms for the next event (any but FRAME). 1: one was written; 0: none; < 0:
 * stopped. */
int sw_next_event(struct sw_switch *, int timeout_ms, struct sw_event *, uint8_t *data,
                  uint32_t capacity);
/* Adds a FENCE event: a reader that has reached it has read all earlier events. */
int sw_fence(struct sw_switch *, uint32_t id);
/* ---- steps of a traced program (pipeline.h) ---- */

struct sw_trace_step {
    uint64_t packet, time_ns; /* by sw_time_ns; in virtual time, the network's */
    uint32_t kind, a, b, length; /* of the data that follow, padded to 8 bytes */
};
/* Keeps steps from now on, in at most most_bytes. `full`, where the caller's thread moves packets,
 * has to empty it; NULL: what finds no room is lost. */
int sw_trace_start(struct sw_switch *, uint64_t most_bytes, void (*full)(void));
void sw_trace_clock(struct sw_switch *, uint64_t (*now_ns)(void *context), void *context);
/* Waits up to timeout_ms for steps and takes whole ones; returns their bytes. `lost`: how many
 * since the last call. < 0: stopped. */
int64_t sw_trace_take(struct sw_switch *, int timeout_ms, uint8_t *out, uint64_t capacity,
                      uint64_t *lost);

/* The next frame that left a port without interface. 1: one was written; 0: none. */
int sw_departed(struct sw_switch *, struct sw_event *, uint8_t *data, uint32_t capacity);

#endif
