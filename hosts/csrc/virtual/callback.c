/* Calls the algorithms: an NP's on_window and on_marked, an RP's on_start, on_cnp, on_cnm, on_ack, on_loss, on_timer, on_bytes_sent and
 * on_grant (hosts/algorithms/base.py); on_demand and on_turn: grants.c. The algorithm's decisions (rate, timer, byte counter, CNP) are applied before the next event.
 *
 * An exception in a method ends vn_run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "time/crew.h"
#include "virtual/flow.h"

_Static_assert(sizeof(struct vn_callback) <= VN_QUESTION_BYTES, "a question has room for it");

static const char *const NAMES[VN_NAMES] = {
    [VN_ON_WINDOW] = "on_window",
    [VN_ON_MARKED] = "on_marked",
    [VN_ON_START] = "on_start",
    [VN_ON_CNP] = "on_cnp",
    [VN_ON_CNM] = "on_cnm",
    [VN_ON_ACK] = "on_ack",
    [VN_ON_LOSS] = "on_loss",
    [VN_ON_TIMER] = "on_timer",
    [VN_ON_BYTES_SENT] = "on_bytes_sent",
    [VN_ON_GRANT] = "on_grant",
    [VN_ON_DEMAND] = "on_demand",
    [VN_ON_TURN] = "on_turn",
    [VN_RATE_BPS] = "rate_bps",
    [VN_WINDOW_BYTES] = "window_bytes",
    [VN_TIMER_S] = "timer_s",
    [VN_SENT_BYTES] = "sent_bytes",
    [VN_DUE_BYTES] = "due_bytes",
    [VN_MARKED_FROM_S] = "marked_from_s",
    [VN_MARK] = "mark",
    [VN_REC_RATE_BPS] = "rec_rate_bps",
    [VN_LEFT_BYTES] = "left_bytes",
    [VN_DEMAND_BYTES] = "demand_bytes",
    [VN_TURN] = "turn",
    [VN_PACE_BYTES] = "pace_bytes",
};

bool vn_python_init(struct vn_python *python)
{
    for (uint32_t i = 0; i < VN_NAMES; i++) {
        python->names[i] = PyUnicode_InternFromString(NAMES[i]);
        if (python->names[i] == NULL) return false;
    }
    return true;
}

void vn_python_end(struct vn_python *python)
{
    for (uint32_t i = 0; i < VN_NAMES; i++) Py_DecRef(python->names[i]);
}

/* An instance of one of base.py's named tuples; steals the references to its fields. NULL: Python's error is set. */
static PyObject *new_tuple(PyObject *type, uint32_t n, PyObject *const *fields)
{
    PyObject *tuple = PyType_GenericAlloc(type, n);
    bool complete = tuple != NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (fields[i] == NULL) complete = false;
        if (tuple == NULL) Py_DecRef(fields[i]);
        else PyTuple_SetItem(tuple, i, fields[i]);
    }
    if (complete) return tuple;
    Py_DecRef(tuple);
    return NULL;
}

/* Releases a call's result. False: the call raised. */
static bool succeeded(PyObject *result)
{
    Py_DecRef(result);
    return result != NULL;
}

static bool conversion_failed(double value) { return value == -1 && PyErr_Occurred() != NULL; }

/* Steals the reference to `value`. */
static bool to_double(PyObject *value, double *to)
{
    if (value == NULL) return false;
    *to = PyFloat_AsDouble(value);
    Py_DecRef(value);
    return !conversion_failed(*to);
}

/* False: 64 bits can't hold it. */
static bool in_ps(double seconds, uint64_t *to)
{
    double ps = rint(seconds * 1e12);
    bool held = ps >= 0 && ps < 0x1p64;
    if (held) *to = (uint64_t)ps;
    return held;
}

static bool to_ps(double seconds, uint64_t *to)
{
    if (!in_ps(seconds, to)) {
        PyErr_SetString(PyExc_OverflowError, "a time that picoseconds in 64 bits can't hold");
        return false;
    }
    return true;
}

/* ---- NP ---- */

static PyObject *window_of(const struct vn_context *context, const struct vn_callback *callback)
{
    PyObject *fields[] = {
        PyLong_FromUnsignedLongLong(callback->packets),
        PyLong_FromUnsignedLongLong(callback->marked_ce),
        PyLong_FromUnsignedLongLong(callback->marked_ue),
        PyLong_FromUnsignedLongLong(callback->bytes),
        PyFloat_FromDouble(callback->first_s),
        PyFloat_FromDouble(callback->last_s),
    };
    return new_tuple(vn_rdma_of(context)->python.window, 6, fields);
}

/* Whether the wire can carry it, as hosts/wire.py has it: bit/s. */
static bool possible_rec_rate(double rate_bps) { return rate_bps >= 0 && rate_bps < 0x1p32 * 1e6; }

static bool refuse_rec_rate(double rate_bps)
{
    char text[96];
    snprintf(text, sizeof text, "rec_rate_bps is %g: bit/s, from 0 (none) to 4294967295e6", rate_bps);
    PyErr_SetString(PyExc_ValueError, text);
    return false;
}

/* Sends the Cnp that the NP returned, if it isn't None. */
static bool send_cnp(struct vn_context *context, uint32_t flow, PyObject *cnp)
{
    if (cnp == &_Py_NoneStruct) return true;
    int is_cnp = PyObject_IsInstance(cnp, vn_rdma_of(context)->python.cnp);
    if (is_cnp == 0) PyErr_SetString(PyExc_TypeError, "an NP's answer is a Cnp or None");
    if (is_cnp != 1) return false;
    PyObject *mark = PyObject_GetAttr(cnp, vn_rdma_of(context)->python.names[VN_MARK]);
    if (mark == NULL) return false;
    uint8_t ecn = 1;
    while (ecn < 4 && vn_rdma_of(context)->python.marks[ecn] != mark) ecn++;
    Py_DecRef(mark);
    if (ecn == 4) {
        PyErr_SetString(PyExc_TypeError, "a Cnp's mark is one of Mark");
        return false;
    }
    double rate_bps;
    if (!to_double(PyObject_GetAttr(cnp, vn_rdma_of(context)->python.names[VN_REC_RATE_BPS]), &rate_bps)) return false;
    if (!possible_rec_rate(rate_bps)) return refuse_rec_rate(rate_bps);
    vn_send_cnp(context, flow, ecn, rate_bps);
    return true;
}

static bool on_window(struct vn_context *context, const struct vn_callback *callback, PyObject *now)
{
    const struct vn_python *python = &vn_rdma_of(context)->python;
    PyObject *window = window_of(context, callback);
    if (window == NULL) return false;
    PyObject *cnp = PyObject_CallMethodObjArgs(vn_flow_at(context, callback->flow)->np, python->names[VN_ON_WINDOW], window, NULL);
    bool ok = cnp != NULL && send_cnp(context, callback->flow, cnp);
    if (ok && python->on_window != &_Py_NoneStruct) {
        PyObject *flow_object = PyList_GetItem(python->flows, callback->flow);
        ok = flow_object != NULL && succeeded(PyObject_CallFunctionObjArgs(python->on_window, flow_object, now, window, cnp, NULL));
    }
    Py_DecRef(window);
    Py_DecRef(cnp);
    return ok;
}

static bool on_marked(struct vn_context *context, uint32_t number, PyObject *now)
{
    struct vn_flow *flow = vn_flow_at(context, number);
    PyObject *cnp = PyObject_CallMethodObjArgs(flow->np, vn_rdma_of(context)->python.names[VN_ON_MARKED], now, NULL);
    double from_s;
    bool ok = cnp != NULL && to_double(PyObject_GetAttr(flow->np, vn_rdma_of(context)->python.names[VN_MARKED_FROM_S]), &from_s);
    flow->marked_from = 0;
    ok = ok && (from_s <= 0 || to_ps(from_s, &flow->marked_from)) && send_cnp(context, number, cnp);
    Py_DecRef(cnp);
    return ok;
}

static bool of_grants(const struct vn_callback *callback)
{
    return callback->method == VN_ON_DEMAND || callback->method == VN_ON_TURN;
}

/* Brings the event to an NP in C, and sends what it decides. False: that isn't possible; the callback has it. */
static bool np_decides_in_c(struct vn_context *context, struct vn_callback *callback)
{
    struct vn_flow *flow = vn_flow_at(context, callback->flow);
    struct notification_point *np = flow->np_in_c;
    struct np_cnp cnp = {.mark = RP_NONE};
    bool sends = false, possible = true;
    if (of_grants(callback)) return vn_grants_call_in_c(context, callback);
    if (callback->method == VN_ON_MARKED) {
        sends = np->events->on_marked(np, vn_seconds(context->now), &cnp);
        flow->marked_from = 0;
        possible = np->marked_from_s <= 0 || in_ps(np->marked_from_s, &flow->marked_from);
    } else if (np->events->on_window != NULL) {
        const struct np_window window = {callback->packets, callback->marked_ce, callback->marked_ue,
                                         callback->bytes,   callback->first_s,   callback->last_s};
        sends = np->events->on_window(np, &window, &cnp);
    }
    callback->mark = cnp.mark >= RP_UE && cnp.mark <= RP_CE ? (uint8_t)cnp.mark : 0;
    callback->feedback = cnp.rec_rate_bps;
    if (!possible || (sends && (callback->mark == 0 || !possible_rec_rate(cnp.rec_rate_bps)))) return false;
    if (sends) vn_send_cnp(context, callback->flow, callback->mark, cnp.rec_rate_bps);
    return true;
}

/* Python's error of such a decision. */
static bool refuse_of_np_in_c(const struct vn_context *context, const struct vn_callback *callback)
{
    uint64_t ps;
    if (of_grants(callback)) return vn_grants_refuse(context, callback);
    if (callback->mark == 0) PyErr_SetString(PyExc_TypeError, "a Cnp's mark is one of Mark");
    else if (!possible_rec_rate(callback->feedback)) refuse_rec_rate(callback->feedback);
    else to_ps(vn_flow_at(context, callback->flow)->np_in_c->marked_from_s, &ps);
    return false;
}

/* ---- RP ---- */

static PyObject *cnp_of(const struct vn_context *context, const struct vn_callback *callback)
{
    PyObject *mark = vn_rdma_of(context)->python.marks[callback->mark], *rate_bps = PyFloat_FromDouble(callback->feedback);
    PyObject *cnp = rate_bps != NULL ? PyObject_CallFunctionObjArgs(vn_rdma_of(context)->python.cnp, mark, rate_bps, NULL) : NULL;
    Py_DecRef(rate_bps);
    return cnp;
}

static const double SWITCH_TICK_S = 1e-6; /* v1model's clock */

static PyObject *hop_of(const struct vn_python *python, const struct rp_hop *hop)
{
    PyObject *fields[] = {
        PyFloat_FromDouble(hop->rate_bps),
        PyLong_FromUnsignedLongLong(hop->ticks),
        PyLong_FromUnsignedLongLong(hop->sent_bytes),
        PyLong_FromUnsignedLongLong(hop->queue_bytes),
    };
    return new_tuple(python->hop, 4, fields);
}

static PyObject *telemetry_of(const struct vn_python *python, const struct vn_callback *callback)
{
    if (!callback->has_telemetry) {
        Py_IncRef(&_Py_NoneStruct);
        return &_Py_NoneStruct;
    }
    struct rp_telemetry telemetry;
    telemetry_read(callback->telemetry, SWITCH_TICK_S, &telemetry);
    PyObject *hops[RP_MOST_HOPS];
    for (uint32_t i = 0; i < telemetry.n_hops; i++) hops[i] = hop_of(python, &telemetry.hops[i]);
    PyObject *fields[] = {
        PyLong_FromUnsignedLongLong(telemetry.path_id),
        PyFloat_FromDouble(telemetry.tick_s),
        new_tuple((PyObject *)&PyTuple_Type, telemetry.n_hops, hops),
    };
    return new_tuple(python->telemetry, 3, fields);
}

/* Calls a method with feedback (steals the reference) and the time. */
static bool call_with(PyObject *rp, PyObject *method, PyObject *feedback, PyObject *now)
{
    if (feedback == NULL) return false;
    PyObject *result = PyObject_CallMethodObjArgs(rp, method, feedback, now, NULL);
    Py_DecRef(feedback);
    return succeeded(result);
}

static bool call_rp(const struct vn_context *context, const struct vn_callback *callback, PyObject *rp, PyObject *now)
{
    const struct vn_python *python = &vn_rdma_of(context)->python;
    PyObject *method = python->names[callback->method];
    switch (callback->method) {
    case VN_ON_CNP: return call_with(rp, method, cnp_of(context, callback), now);
    case VN_ON_CNM: {
        PyObject *feedback = PyLong_FromUnsignedLongLong((unsigned long long)callback->feedback);
        return call_with(rp, method, new_tuple(python->cnm, 1, &feedback), now);
    }
    case VN_ON_ACK: {
        PyObject *fields[] = {
            PyFloat_FromDouble(callback->feedback),       python->marks[callback->mark],
            PyLong_FromUnsignedLongLong(callback->bytes), PyLong_FromUnsignedLongLong(callback->psn),
            PyLong_FromUnsignedLongLong(callback->path),  telemetry_of(python, callback),
        };
        Py_IncRef(fields[1]);
        return call_with(rp, method, new_tuple(python->ack, 6, fields), now);
    }
    case VN_ON_GRANT: {
        PyObject *granted = PyLong_FromUnsignedLongLong(callback->bytes);
        return call_with(rp, method, new_tuple(python->grant, 1, &granted), now);
    }
    case VN_ON_LOSS: {
        PyObject *fields[] = {PyLong_FromUnsignedLongLong(callback->bytes), callback->timeout ? &_Py_TrueStruct : &_Py_FalseStruct};
        Py_IncRef(fields[1]);
        return call_with(rp, method, new_tuple(python->loss, 2, fields), now);
    }
    case VN_ON_TIMER: {
        PyObject *due_s = PyObject_GetAttr(rp, python->names[VN_TIMER_S]);
        if (due_s == NULL) return false;
        PyObject *result = PyObject_CallMethodObjArgs(rp, method, due_s, NULL);
        Py_DecRef(due_s);
        return succeeded(result);
    }
    default: return succeeded(PyObject_CallMethodObjArgs(rp, method, now, NULL));
    }
}

/* What an RP wants from now on. */
struct decision {
    double rate_bps, window_bytes;
    uint64_t timer, due_bytes; /* VN_NEVER: none */
    uint64_t demand_bytes;
};

/* Whether it is one that hosts/algorithms/base.py allows (check_rate, check_window). */
static bool possible_rate(const struct decision *decision) { return decision->rate_bps > 0 && decision->rate_bps < INFINITY; }
static bool possible_window(const struct decision *decision, bool windowed) { return !windowed || decision->window_bytes > 0; }

/* The same, with Python's error where it isn't. */
static bool possible(const struct decision *decision, bool windowed)
{
    char text[96];
    if (!possible_rate(decision)) {
        snprintf(text, sizeof text, "rate_bps is %g: a rate is finite, and above 0", decision->rate_bps);
    } else if (!possible_window(decision, windowed)) {
        snprintf(text, sizeof text, "window_bytes is %g: a window is above 0, and infinite where there is none",
                 decision->window_bytes);
    } else {
        return true;
    }
    PyErr_SetString(PyExc_ValueError, text);
    return false;
}

static bool read_double(PyObject *rp, PyObject *name, double *to) { return to_double(PyObject_GetAttr(rp, name), to); }

/* Reads the RP's timer. */
static bool read_timer(const struct vn_python *python, PyObject *rp, uint64_t *timer)
{
    PyObject *value = PyObject_GetAttr(rp, python->names[VN_TIMER_S]);
    if (value == NULL) return false;
    *timer = VN_NEVER;
    bool none = value == &_Py_NoneStruct;
    double timer_s = none ? 0 : PyFloat_AsDouble(value);
    Py_DecRef(value);
    return none || (!conversion_failed(timer_s) && to_ps(timer_s, timer));
}

/* What is left to send is None where the flow has no end. */
static bool set_left(const struct vn_python *python, PyObject *rp, const struct vn_flow *flow)
{
    uint64_t left = vn_grants_left(flow);
    if (left == RP_NEVER) return true; /* as it was at the start */
    PyObject *value = PyLong_FromUnsignedLongLong(left);
    bool ok = value != NULL && PyObject_SetAttr(rp, python->names[VN_LEFT_BYTES], value) == 0;
    Py_DecRef(value);
    return ok;
}

static bool read_demand(const struct vn_python *python, PyObject *rp, uint64_t *demand_bytes)
{
    PyObject *value = PyObject_GetAttr(rp, python->names[VN_DEMAND_BYTES]);
    if (value == NULL) return false;
    *demand_bytes = PyLong_AsUnsignedLongLong(value);
    Py_DecRef(value);
    return *demand_bytes != VN_NEVER || PyErr_Occurred() == NULL;
}

/* Reads the RP's byte counter. */
static bool read_due_bytes(const struct vn_python *python, PyObject *rp, uint64_t *due_bytes)
{
    PyObject *value = PyObject_GetAttr(rp, python->names[VN_DUE_BYTES]);
    if (value == NULL) return false;
    bool none = value == &_Py_NoneStruct;
    *due_bytes = none ? VN_NEVER : PyLong_AsUnsignedLongLong(value);
    Py_DecRef(value);
    return none || *due_bytes != VN_NEVER || PyErr_Occurred() == NULL;
}

/* Brings the event to an RP in Python. False: it raised, or its decision isn't possible. */
static bool decide(const struct vn_context *context, const struct vn_callback *callback, PyObject *now, struct decision *decision)
{
    const struct vn_python *python = &vn_rdma_of(context)->python;
    const struct vn_flow *flow = vn_flow_at(context, callback->flow);
    PyObject *rp = flow->rp, *sent = PyLong_FromUnsignedLongLong(flow->sent_bytes);
    bool ok = sent != NULL && PyObject_SetAttr(rp, python->names[VN_SENT_BYTES], sent) == 0;
    Py_DecRef(sent);
    decision->demand_bytes = 0;
    if (ok && flow->granted) ok = set_left(python, rp, flow);
    return ok && call_rp(context, callback, rp, now) && (!flow->granted || read_demand(python, rp, &decision->demand_bytes)) &&
           read_double(rp, python->names[VN_RATE_BPS], &decision->rate_bps) &&
           (!flow->windowed || read_double(rp, python->names[VN_WINDOW_BYTES], &decision->window_bytes)) &&
           possible(decision, flow->windowed) && read_timer(python, rp, &decision->timer) &&
           read_due_bytes(python, rp, &decision->due_bytes);
}

/* Brings the event to an RP in C. */
static void decide_in_c(const struct vn_flow *flow, const struct vn_callback *callback, double now_s)
{
    struct reaction_point *rp = flow->compiled;
    const struct reaction_point_events *events = rp->events;
    uint8_t mark = callback->mark != 0 ? callback->mark : RP_NONE;
    rp->sent_bytes = flow->sent_bytes;
    if (flow->granted) rp->left_bytes = vn_grants_left(flow);
    if (callback->method == VN_ON_ACK && events->on_ack != NULL) {
        struct rp_ack ack = {
            .rtt_s = callback->feedback,
            .acked_bytes = callback->bytes,
            .psn = callback->psn,
            .path = callback->path,
            .mark = mark,
        };
        struct rp_telemetry telemetry;
        if (callback->has_telemetry) {
            telemetry_read(callback->telemetry, SWITCH_TICK_S, &telemetry);
            ack.telemetry = &telemetry;
        }
        events->on_ack(rp, &ack, now_s);
    } else if (callback->method == VN_ON_CNP && events->on_cnp != NULL) {
        events->on_cnp(rp, mark, callback->feedback, now_s);
    } else if (callback->method == VN_ON_CNM && events->on_cnm != NULL) {
        events->on_cnm(rp, (uint32_t)callback->feedback, now_s);
    } else if (callback->method == VN_ON_START && events->on_start != NULL) {
        events->on_start(rp, now_s);
    } else if (callback->method == VN_ON_LOSS && events->on_loss != NULL) {
        events->on_loss(rp, &(struct rp_loss){.lost_bytes = callback->bytes, .timeout = callback->timeout}, now_s);
    } else if (callback->method == VN_ON_TIMER && events->on_timer != NULL) {
        events->on_timer(rp, rp->timer_s);
    } else if (callback->method == VN_ON_BYTES_SENT && events->on_bytes_sent != NULL) {
        events->on_bytes_sent(rp, now_s);
    } else if (callback->method == VN_ON_GRANT && events->on_grant != NULL) {
        events->on_grant(rp, callback->bytes, now_s);
    }
}

/* What it has decided. False: that isn't possible. */
static bool decided_in_c(const struct vn_flow *flow, struct decision *decision)
{
    const struct reaction_point *rp = flow->compiled;
    *decision = (struct decision){rp->rate_bps, rp->window_bytes, VN_NEVER, rp->due_bytes, rp->demand_bytes};
    return possible_rate(decision) && possible_window(decision, flow->windowed) &&
           (rp->timer_s == INFINITY || in_ps(rp->timer_s, &decision->timer));
}

static void apply(struct vn_context *context, uint32_t number, const struct decision *decision)
{
    struct vn_flow *flow = vn_flow_at(context, number);
    vn_nic_rate(context, number, decision->rate_bps > flow->limit_bps ? flow->limit_bps : decision->rate_bps);
    if (flow->windowed) vn_nic_window(context, number, decision->window_bytes);
    flow->due_bytes = decision->due_bytes;
    if (flow->granted) flow->demand = vn_grants_demand(decision->demand_bytes);
    if (decision->timer == flow->timer) return;
    flow->timer = decision->timer < context->now ? context->now : decision->timer;
    if (flow->timer != VN_NEVER)
        vn_endpoint_at(context, vn_sender_of(context, flow), flow->timer, VN_EV_TIMER, VN_ENDPOINT_rdma, number);
}

static bool on_feedback(struct vn_context *context, const struct vn_callback *callback, PyObject *now)
{
    const struct vn_python *python = &vn_rdma_of(context)->python;
    const struct vn_flow *flow = vn_flow_at(context, callback->flow);
    struct decision decision;
    bool ok = true;
    if (flow->compiled == NULL) {
        ok = decide(context, callback, now, &decision);
    } else {
        if (!callback->decided) decide_in_c(flow, callback, vn_seconds(context->now));
        uint64_t ps;
        if (!decided_in_c(flow, &decision)) ok = possible(&decision, flow->windowed) && to_ps(flow->compiled->timer_s, &ps);
    }
    if (ok && python->on_rate != &_Py_NoneStruct) {
        PyObject *flow_object = PyList_GetItem(python->flows, callback->flow);
        ok = flow_object != NULL && succeeded(PyObject_CallFunctionObjArgs(python->on_rate, flow_object, now, NULL));
    }
    if (ok) apply(context, callback->flow, &decision);
    return ok;
}

/* ---- both ---- */

static bool of_np(const struct vn_callback *callback)
{
    return callback->method == VN_ON_WINDOW || callback->method == VN_ON_MARKED || of_grants(callback);
}

/* Packets that an acknowledgement shows to be lost are another event. */
static void call_about_loss(struct vn_context *context, const struct vn_callback *callback)
{
    if (callback->lost_bytes == 0 || context->failed) return;
    vn_call_back(context, &(struct vn_callback){.method = VN_ON_LOSS, .flow = callback->flow, .bytes = callback->lost_bytes});
}

static void call_python(struct vn_context *context, const struct vn_callback *callback)
{
    struct vn_exchange *exchange = &vn_crew_context(context, 0)->exchange;
    exchange->reason = VN_CALLBACK;
    exchange->flow = callback->flow;
    exchange->np = of_np(callback);
    exchange->now_s = vn_seconds(context->now);
    PyObject *now = PyFloat_FromDouble(exchange->now_s);
    bool ok = now != NULL;
    if (ok && of_np(callback) && callback->decided) ok = refuse_of_np_in_c(context, callback);
    else if (ok && of_grants(callback)) ok = vn_grants_call(context, callback, now);
    else if (ok && callback->method == VN_ON_WINDOW) ok = on_window(context, callback, now);
    else if (ok && callback->method == VN_ON_MARKED) ok = on_marked(context, callback->flow, now);
    else if (ok) ok = on_feedback(context, callback, now);
    Py_DecRef(now);
    if (!ok) context->failed = context->raised = true;
    call_about_loss(context, callback);
}

/* Python's error, and whose it is. */
struct held {
    PyObject *type, *value, *traceback;
    struct vn_exchange exchange;
};

void *vn_python_hold(struct vn_context *context)
{
    struct held *held = malloc(sizeof *held);
    if (held == NULL) {
        PyErr_Restore(NULL, NULL, NULL);
        return NULL;
    }
    PyErr_Fetch(&held->type, &held->value, &held->traceback);
    held->exchange = vn_crew_context(context, 0)->exchange;
    return held;
}

void vn_python_release(struct vn_context *context, void *of, bool raise)
{
    struct held *held = of;
    if (raise) {
        struct vn_exchange *exchange = &vn_crew_context(context, 0)->exchange;
        exchange->flow = held->exchange.flow;
        exchange->np = held->exchange.np;
        exchange->now_s = held->exchange.now_s;
        PyErr_Restore(held->type, held->value, held->traceback);
    } else {
        Py_DecRef(held->type);
        Py_DecRef(held->value);
        Py_DecRef(held->traceback);
    }
    free(held);
}

void vn_answer(struct vn_context *context, const void *about) { call_python(context, about); }

/* An RP in C needs no copy of the callback: one is made for what comes behind. */
void vn_call_back(struct vn_context *context, const struct vn_callback *callback)
{
    const struct vn_flow *flow = vn_flow_at(context, callback->flow);
    const struct vn_python *python = &vn_rdma_of(context)->python;
    struct decision decision;
    bool decided = false; /* but not what is possible: Python raises */
    if (!of_np(callback) && flow->compiled != NULL && python->on_rate == &_Py_NoneStruct) {
        decide_in_c(flow, callback, vn_seconds(context->now));
        if (decided_in_c(flow, &decision)) {
            apply(context, callback->flow, &decision);
            call_about_loss(context, callback);
            return;
        }
        decided = true;
    }
    struct vn_callback asked = *callback;
    if (of_np(callback) && flow->np_in_c != NULL && (callback->method != VN_ON_WINDOW || python->on_window == &_Py_NoneStruct)) {
        if (np_decides_in_c(context, &asked)) return;
        decided = true;
    }
    asked.decided |= decided;
    if (!vn_ask(context, VN_ENDPOINT_rdma, &asked, sizeof asked)) call_python(context, &asked);
}
