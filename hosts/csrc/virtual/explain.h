/* The API of the observer "explain": where each flow's time goes, and, of chosen flows and ports,
 * logs that say why. For ctypes. */
#ifndef VN_EXPLAIN_H
#define VN_EXPLAIN_H

#include "virtualnet.h"

struct vn_context;

/* Parts of a flow's completion time, of which each is added where it passes; their sum is the
 * completion time. The first six are the sender's, until the packet leaves that completes the flow;
 * the others are this packet's. */
enum vn_part {
    VN_PART_OWN, /* frames of the flow are on the NIC's line */
    VN_PART_RATE, /* its pacing lets no frame go */
    VN_PART_WINDOW, /* its window is full */
    VN_PART_RECOVER, /* likewise, since what was lost has to be noticed, or to be acknowledged */
    VN_PART_PAUSED, /* its class is PAUSEd or has no credits, and the line is idle */
    VN_PART_NIC, /* the rest: other frames are on the line, or the link is down */
    VN_PARTS_SENDER,
    /* in queues, as long as if these ports had never been PAUSEd */
    VN_PART_CONTENTION = VN_PARTS_SENDER,
    VN_PART_PAUSE_BACKLOG, /* in queues, behind what earlier PAUSEs of these ports had left there */
    /* in queues, while its class was PAUSEd or had no credits and the line was idle */
    VN_PART_PAUSE_IDLE,
    /* in queues, while frames went first that came later, or in a fabric, or by a class's rate */
    VN_PART_OVERTAKEN,
    VN_PART_WIRE, /* serialisation and propagation */
    VN_PART_INSIDE, /* switches' latencies */
    VN_PARTS
};

/* What a window waited for, in parts that sum to VN_PART_WINDOW. Each time in which it was full is
 * split, by Bresenham's rule in whole ps, as the way of the ACK that opened it was: VN_PART_CONTENTION
 * to VN_PART_INSIDE, from there on, of the packet whose arrival made the ACK and of the ACK, which
 * waits at its host's port as well. */
enum vn_window_part {
    VN_WINDOW_TIMER = VN_PARTS - VN_PARTS_SENDER, /* no ACK opened it: a timer or a grant did */
    VN_WINDOW_PARTS
};

struct vn_explained {
    uint64_t start_ps, complete_ps; /* complete_ps 0: it isn't complete */
    uint64_t parts_ps[VN_PARTS]; /* by enum vn_part */
    uint64_t window_ps[VN_WINDOW_PARTS]; /* by enum vn_window_part */
};

/* Before the first flow. unordered: packets of a flow may overtake each other though it has one
 * path and repeats none. */
int vn_explain(struct vn_context *, bool unordered);
/* Before the first packet: logs packets of those of `n_flows` flows that aren't 0 in `flows`, and,
 * from `from_ps` to `to_ps`, what starts on links that aren't 0 in `links`, of which there are
 * `n_links`; with `causes` each PAUSE and what waited then; with `marks` it counts why packets have
 * marks, or none. */
int vn_explain_log(struct vn_context *, const uint8_t *flows, uint32_t n_flows,
                   const uint8_t *links, uint32_t n_links, uint64_t from_ps, uint64_t to_ps,
                   bool causes, bool marks);
/* Of `n` flows from `flow` on. -EPROTO: of a flow, the sum isn't the time from its start to its
 * completion, or its window's parts are less than the window's. */
int vn_explained(const struct vn_context *, uint32_t flow, uint32_t n, struct vn_explained *out);

/* A packet leaves its sender: the sender's parts as of then. `serial`: which of the flow's
 * transmissions it is, from 0. */
struct vn_explain_sent {
    uint64_t time_ps, parts_ps[VN_PARTS_SENDER], window_ps[VN_WINDOW_PARTS];
    uint32_t flow, serial, bytes, link;
};
/* A packet leaves a switch. behind_ps: work ahead of it when it came; without_ps: likewise, if the
 * port had never been PAUSEd, both 2^40 - 1 if the port doesn't serve in order; idle_ps: the line
 * was idle for its class's PAUSE; busy_ps: since when the port hasn't been without work of its
 * class or above. */
struct vn_explain_hop {
    uint64_t since_ps, start_ps, behind_ps, without_ps, idle_ps, busy_ps;
    uint32_t flow, serial, link, queue_bytes, bytes;
    uint8_t class, ecn_before, ecn_after, reason; /* enum vn_mark_reason */
};
/* Why a packet of data that leaves a switch has a mark (CE), or none. HELD: it waited there when a
 * PAUSE ended. */
enum vn_mark_reason {
    VN_MARK_BEFORE,
    VN_MARK_HERE,
    VN_MARK_EMPTY,
    VN_MARK_HELD,
    VN_MARK_OTHER,
    VN_MARK_REASONS
};
/* What would have been ahead of it if the port had never been PAUSEd: nothing, no more than the
 * time of a frame of its length, more; or it isn't known, as the port doesn't serve in order. */
enum vn_mark_ahead {
    VN_AHEAD_NOTHING,
    VN_AHEAD_FRAME,
    VN_AHEAD_MORE,
    VN_AHEAD_UNKNOWN,
    VN_MARK_AHEADS
};
struct vn_explain_marks {
    uint64_t packets[VN_MARK_REASONS][VN_MARK_AHEADS];
};
/* A frame starts on a link. flow VN_NONE: it is no flow's data; about: whose ACK or CNP it is;
 * VN_NONE: nobody's. */
struct vn_explain_line {
    uint64_t start_ps;
    uint32_t link, flow, bytes, about;
};
/* A PAUSE or RESUME falls due for what comes in over `link`, which holds `bytes` and, of a shared
 * buffer, uses `used` of `threshold`; or, behind a PAUSE, one for each output `out` where `bytes`
 * of these wait: work_ps and without_ps as of vn_explain_hop, for a packet that came then. Or the
 * gate of `link` closes or opens. */
enum vn_explain_what {
    VN_EXPLAIN_XOFF,
    VN_EXPLAIN_XON,
    VN_EXPLAIN_WAITS,
    VN_EXPLAIN_CLOSES,
    VN_EXPLAIN_OPENS
};
struct vn_explain_cause {
    uint64_t time_ps, work_ps, without_ps, busy_ps, bytes, used, threshold;
    uint32_t link, out, class, kind;
};
enum vn_explain_logs {
    VN_EXPLAIN_SENT,
    VN_EXPLAIN_HOP,
    VN_EXPLAIN_LINE,
    VN_EXPLAIN_CAUSE,
    VN_EXPLAIN_LOGS
};
/* The log of a thread, from 0: how many entries it has, valid until the next vn_run; of one node
 * they are in order. */
uint64_t vn_explain_entries(const struct vn_context *, uint32_t thread, uint32_t log,
                            const void **entries);
/* Of links 0 to n - 1 what was counted; -ENOENT: nothing was. */
int vn_explain_counted_marks(const struct vn_context *, uint32_t n, struct vn_explain_marks *out);
/* -ENOMEM: a log had no memory; 0: all are whole. */
int vn_explain_whole(const struct vn_context *);

#endif
