/* Calls of RPs' and NPs' methods in Python, with their arguments: see callback.c. */
#ifndef VN_CALLBACK_H
#define VN_CALLBACK_H

#include "base.h"
#include "telemetry.h"
#include "virtual/python.h"

/* Methods and fields of hosts/algorithms/base.py, by name. */
enum vn_name {
    VN_ON_WINDOW,
    VN_ON_MARKED,
    VN_ON_START,
    VN_ON_CNP,
    VN_ON_CNM,
    VN_ON_ACK,
    VN_ON_LOSS,
    VN_ON_TIMER,
    VN_ON_BYTES_SENT,
    VN_ON_GRANT,
    VN_ON_DEMAND,
    VN_ON_TURN,
    VN_RATE_BPS,
    VN_WINDOW_BYTES,
    VN_TIMER_S,
    VN_SENT_BYTES,
    VN_DUE_BYTES,
    VN_MARKED_FROM_S,
    VN_NP,
    VN_MARK,
    VN_REC_RATE_BPS,
    VN_LEFT_BYTES,
    VN_DEMAND_BYTES,
    VN_TURN,
    VN_PACE_BYTES,
    VN_NAMES,                /* their number */
    VN_NO_METHOD = VN_NAMES, /* of a vn_callback */
};
struct vn_python {
    PyObject *window, *cnp, *cnm, *ack, *loss, *telemetry, *hop, *demand, *grant,
        *names[VN_NAMES]; /* classes; the names as Python strings */
    PyObject *marks[4]; /* of base.py's Mark, by the ECN field's value */
    PyObject *turns[3]; /* of base.py's Turn, by enum np_turn */
    PyObject *flows, *on_window, *on_rate, *on_failure; /* vn_run's arguments */
};

/* A method of a flow's NP or RP that is due, with its arguments. */
struct vn_callback {
    enum vn_name method;
    uint32_t flow;
    uint32_t packets, marked_ce, marked_ue; /* on_window */
    /* on_window; on_ack: acked_bytes; on_loss: lost_bytes; on_demand, on_grant: demanded_bytes,
     * granted_bytes */
    uint64_t bytes;
    uint64_t lost_bytes; /* on_ack: on_loss follows, unless 0 */
    bool timeout; /* on_loss; on_demand: trimmed */
    bool decided; /* RP or NP in C has, what isn't possible; an NP: `mark`, `feedback` */
    double first_s, last_s;
    uint32_t psn; /* on_ack */
    uint16_t path;
    uint8_t mark; /* on_cnp, on_ack: the ECN field's value; on_turn: enum np_turn */
    bool has_telemetry; /* on_ack */
    uint8_t telemetry[WIRE_TELEMETRY_BYTES]; /* on_ack, as it arrived */
    /* on_cnp: RecRate; on_cnm: quantised feedback; on_ack, on_loss: the round trip, in seconds */
    double feedback;
};
#endif
