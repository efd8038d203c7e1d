/* Calls RPs, in Python or C: on_start, on_cnp, on_cnm, on_ack, on_loss, on_timer, on_bytes_sent and
 * on_grant (hosts/algorithms/base.py). Applies an RP's decision: rate, window, timer, byte counter,
 * demand. */
#include <math.h>
#include <stdio.h>

#include "virtual/flow.h"

static PyObject *cnp_of(const struct vn_context *context, const struct vn_callback *callback)
{
    PyObject *mark = vn_rdma_of(context)->python.marks[callback->mark],
             *rate_bps = PyFloat_FromDouble(callback->feedback);
    PyObject *cnp = rate_bps != NULL ? PyObject_CallFunctionObjArgs(vn_rdma_of(context)->python.cnp,
                                                                    mark, rate_bps, NULL)
                                     : NULL;
    Py_DecRef(rate_bps);
    return cnp;
}

static PyObject *hop_of(const struct vn_python *python, const struct rp_hop *hop)
{
    PyObject *fields[] = {
        PyFloat_FromDouble(hop->rate_bps),
        PyLong_FromUnsignedLongLong(hop->ticks),
        PyLong_FromUnsignedLongLong(hop->sent_bytes),
        PyLong_FromUnsignedLongLong(hop->queue_bytes),
    };
    return vn_new_tuple(python->hop, 4, fields);
}

static PyObject *telemetry_of(const struct vn_context *context, const struct vn_callback *callback)
{
    const struct vn_python *python = &vn_rdma_of(context)->python;
    if (!callback->has_telemetry) {
        Py_IncRef(&_Py_NoneStruct);
        return &_Py_NoneStruct;
    }
    struct rp_telemetry telemetry;
    telemetry_read(callback->telemetry, vn_rdma_of(context)->tick_s, &telemetry);
    PyObject *hops[RP_MOST_HOPS];
    for (uint32_t i = 0; i < telemetry.n_hops; i++) hops[i] = hop_of(python, &telemetry.hops[i]);
    PyObject *fields[] = {
        PyLong_FromUnsignedLongLong(telemetry.path_id),
        PyFloat_FromDouble(telemetry.tick_s),
        vn_new_tuple((PyObject *)&PyTuple_Type, telemetry.n_hops, hops),
    };
    return vn_new_tuple(python->telemetry, 3, fields);
}

/* Calls a method with feedback (steals the reference) and the time. */
static bool call_with(PyObject *rp, PyObject *method, PyObject *feedback, PyObject *now)
{
    if (feedback == NULL) return false;
    PyObject *result = PyObject_CallMethodObjArgs(rp, method, feedback, now, NULL);
    Py_DecRef(feedback);
    return vn_succeeded(result);
}

static bool call_rp(const struct vn_context *context, const struct vn_callback *callback,
                    PyObject *rp, PyObject *now)
{
    const struct vn_python *python = &vn_rdma_of(context)->python;
    PyObject *method = python->names[callback->method];
    switch (callback->method) {
    case VN_ON_CNP: return call_with(rp, method, cnp_of(context, callback), now);
    case VN_ON_CNM: {
        PyObject *feedback = PyLong_FromUnsignedLongLong((unsigned long long)callback->feedback);
        return call_with(rp, method, vn_new_tuple(python->cnm, 1, &feedback), now);
    }
    case VN_ON_ACK: {
        PyObject *fields[] = {
            PyFloat_FromDouble(callback->feedback),
            python->marks[callback->mark],
            PyLong_FromUnsignedLongLong(callback->bytes),
            PyLong_FromUnsignedLongLong(callback->psn),
            PyLong_FromUnsignedLongLong(callback->path),
            telemetry_of(context, callback),
        };
        Py_IncRef(fields[1]);
        return call_with(rp, method, vn_new_tuple(python->ack, 6, fields), now);
    }
    case VN_ON_GRANT: {
        PyObject *granted = PyLong_FromUnsignedLongLong(callback->bytes);
        return call_with(rp, method, vn_new_tuple(python->grant, 1, &granted), now);
    }
    case VN_ON_LOSS: {
        PyObject *fields[] = {PyLong_FromUnsignedLongLong(callback->bytes),
                              callback->timeout ? &_Py_TrueStruct : &_Py_FalseStruct,
                              PyFloat_FromDouble(callback->feedback)};
        Py_IncRef(fields[1]);
        return call_with(rp, method, vn_new_tuple(python->loss, 3, fields), now);
    }
    case VN_ON_TIMER: {
        PyObject *due_s = PyObject_GetAttr(rp, python->names[VN_TIMER_S]);
        if (due_s == NULL) return false;
        PyObject *result = PyObject_CallMethodObjArgs(rp, method, due_s, NULL);
        Py_DecRef(due_s);
        return vn_succeeded(result);
    }
    default: return vn_succeeded(PyObject_CallMethodObjArgs(rp, method, now, NULL));
    }
}

/* What an RP wants from now on. */
struct decision {
    double rate_bps, window_bytes;
    uint64_t timer, due_bytes; /* VN_NEVER: none */
    uint64_t demand_bytes;
};

/* Whether it is one that hosts/algorithms/base.py allows (check_rate, check_window). */
static bool possible_rate(const struct decision *decision)
{
    return decision->rate_bps > 0 && decision->rate_bps < INFINITY;
}
static bool possible_window(const struct decision *decision, bool windowed)
{
    return !windowed || decision->window_bytes > 0;
}

/* The same, with Python's error where it isn't. */
static bool possible(const struct decision *decision, bool windowed)
{
    char text[96];
    if (!possible_rate(decision)) {
        snprintf(text, sizeof text, "rate_bps is %g: a rate is finite, and above 0",
                 decision->rate_bps);
    } else if (!possible_window(decision, windowed)) {
        snprintf(text, sizeof text,
                 "window_bytes is %g: a window is above 0, and infinite without one",
                 decision->window_bytes);
    } else {
        return true;
    }
    PyErr_SetString(PyExc_ValueError, text);
    return false;
}

static bool read_double(PyObject *rp, PyObject *name, double *to)
{
    return vn_to_double(PyObject_GetAttr(rp, name), to);
}

/* Reads the RP's timer. */
static bool read_timer(const struct vn_python *python, PyObject *rp, uint64_t *timer)
{
    PyObject *value = PyObject_GetAttr(rp, python->names[VN_TIMER_S]);
    if (value == NULL) return false;
    *timer = VN_NEVER;
    bool none = value == &_Py_NoneStruct;
    double timer_s = none ? 0 : PyFloat_AsDouble(value);
    Py_DecRef(value);
    return none || (!vn_conversion_failed(timer_s) && vn_to_ps(timer_s, timer));
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
static bool decide(const struct vn_context *context, const struct vn_callback *callback,
                   PyObject *now, struct decision *decision)
{
    const struct vn_python *python = &vn_rdma_of(context)->python;
    const struct vn_flow *flow = vn_flow_at(context, callback->flow);
    PyObject *rp = flow->rp, *sent = PyLong_FromUnsignedLongLong(flow->sent_bytes);
    bool ok = sent != NULL && PyObject_SetAttr(rp, python->names[VN_SENT_BYTES], sent) == 0;
    Py_DecRef(sent);
    decision->demand_bytes = 0;
    if (ok && flow->granted) ok = set_left(python, rp, flow);
    return ok && call_rp(context, callback, rp, now) &&
           (!flow->granted || read_demand(python, rp, &decision->demand_bytes)) &&
           read_double(rp, python->names[VN_RATE_BPS], &decision->rate_bps) &&
           (!flow->windowed ||
            read_double(rp, python->names[VN_WINDOW_BYTES], &decision->window_bytes)) &&
           possible(decision, flow->windowed) && read_timer(python, rp, &decision->timer) &&
           read_due_bytes(python, rp, &decision->due_bytes);
}

/* Brings the event to an RP in C. */
static void decide_in_c(const struct vn_context *context, const struct vn_flow *flow,
                        const struct vn_callback *callback, double now_s)
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
            telemetry_read(callback->telemetry, vn_rdma_of(context)->tick_s, &telemetry);
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
        events->on_loss(rp,
                        &(struct rp_loss){.lost_bytes = callback->bytes,
                                          .timeout = callback->timeout,
                                          .rtt_s = callback->feedback},
                        now_s);
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
    *decision = (struct decision){rp->rate_bps, rp->window_bytes, VN_NEVER, rp->due_bytes,
                                  rp->demand_bytes};
    return possible_rate(decision) && possible_window(decision, flow->windowed) &&
           (rp->timer_s == INFINITY || vn_in_ps(rp->timer_s, &decision->timer));
}

static void apply(struct vn_context *context, uint32_t number, const struct decision *decision)
{
    struct vn_flow *flow = vn_flow_at(context, number);
    vn_nic_rate(context, number,
                decision->rate_bps > flow->limit_bps ? flow->limit_bps : decision->rate_bps);
    if (flow->windowed) vn_nic_window(context, number, decision->window_bytes);
    flow->due_bytes = decision->due_bytes;
    if (flow->granted) flow->demand = vn_grants_demand(decision->demand_bytes);
    if (decision->timer == flow->timer) return;
    flow->timer = decision->timer < context->now ? context->now : decision->timer;
    if (flow->timer != VN_NEVER)
        vn_endpoint_at(context, vn_sender_of(context, flow), flow->timer, VN_EV_TIMER,
                       VN_ENDPOINT_rdma, number);
}

bool vn_rp_call(struct vn_context *context, const struct vn_callback *callback, PyObject *now)
{
    const struct vn_python *python = &vn_rdma_of(context)->python;
    const struct vn_flow *flow = vn_flow_at(context, callback->flow);
    struct decision decision;
    bool ok = true;
    if (flow->compiled == NULL) {
        ok = decide(context, callback, now, &decision);
    } else {
        if (!callback->decided) decide_in_c(context, flow, callback, vn_seconds(context->now));
        uint64_t ps;
        if (!decided_in_c(flow, &decision))
            ok = possible(&decision, flow->windowed) && vn_to_ps(flow->compiled->timer_s, &ps);
    }
    if (ok && python->on_rate != &_Py_NoneStruct) {
        PyObject *flow_object = PySequence_GetItem(python->flows, callback->flow);
        ok = flow_object != NULL &&
             vn_succeeded(PyObject_CallFunctionObjArgs(python->on_rate, flow_object, now, NULL));
        Py_DecRef(flow_object);
    }
    if (ok) apply(context, callback->flow, &decision);
    return ok;
}

bool vn_rp_decides_in_c(struct vn_context *context, const struct vn_callback *callback)
{
    const struct vn_flow *flow = vn_flow_at(context, callback->flow);
    struct decision decision;
    decide_in_c(context, flow, callback, vn_seconds(context->now));
    if (!decided_in_c(flow, &decision)) return false;
    apply(context, callback->flow, &decision);
    return true;
}
