/* Calls NPs, in Python or C: on_window and on_marked (hosts/algorithms/base.py); on_demand and
 * on_turn: grants.c. Sends the CNP that an NP decides. */
#include <stdio.h>

#include "virtual/flow.h"

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
    return vn_new_tuple(vn_rdma_of(context)->python.window, 6, fields);
}

/* Whether the wire can carry it, as hosts/wire.py has it: bit/s. */
static bool possible_rec_rate(double rate_bps) { return rate_bps >= 0 && rate_bps < 0x1p32 * 1e6; }

static bool refuse_rec_rate(double rate_bps)
{
    char text[96];
    snprintf(text, sizeof text, "rec_rate_bps is %g: bit/s, from 0 (none) to 4294967295e6",
             rate_bps);
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
    if (!vn_to_double(PyObject_GetAttr(cnp, vn_rdma_of(context)->python.names[VN_REC_RATE_BPS]),
                      &rate_bps))
        return false;
    if (!possible_rec_rate(rate_bps)) return refuse_rec_rate(rate_bps);
    vn_send_cnp(context, flow, ecn, rate_bps);
    return true;
}

static bool on_window(struct vn_context *context, const struct vn_callback *callback, PyObject *now)
{
    const struct vn_python *python = &vn_rdma_of(context)->python;
    PyObject *window = window_of(context, callback);
    if (window == NULL) return false;
    const struct vn_flow *flow = vn_flow_at(context, callback->flow);
    PyObject *flow_object = NULL, *np = flow->np, *cnp = NULL;
    bool ok = true;
    if (python->on_window != &_Py_NoneStruct) {
        flow_object = PySequence_GetItem(python->flows, callback->flow);
        ok = flow_object != NULL;
    }
    /* of an NP in C, `np` is what keeps its struct alive */
    if (flow->np_in_c != NULL) {
        np = ok ? PyObject_GetAttr(flow_object, python->names[VN_NP]) : NULL;
        ok = np != NULL;
    }
    if (ok) cnp = PyObject_CallMethodObjArgs(np, python->names[VN_ON_WINDOW], window, NULL);
    ok = cnp != NULL && send_cnp(context, callback->flow, cnp);
    if (ok && flow_object != NULL) {
        ok = vn_succeeded(
            PyObject_CallFunctionObjArgs(python->on_window, flow_object, now, window, cnp, NULL));
    }
    if (flow->np_in_c != NULL) Py_DecRef(np);
    Py_DecRef(flow_object);
    Py_DecRef(window);
    Py_DecRef(cnp);
    return ok;
}

static bool on_marked(struct vn_context *context, uint32_t number, PyObject *now)
{
    struct vn_flow *flow = vn_flow_at(context, number);
    PyObject *cnp = PyObject_CallMethodObjArgs(
        flow->np, vn_rdma_of(context)->python.names[VN_ON_MARKED], now, NULL);
    double from_s;
    bool ok = cnp != NULL &&
              vn_to_double(
                  PyObject_GetAttr(flow->np, vn_rdma_of(context)->python.names[VN_MARKED_FROM_S]),
                  &from_s);
    flow->marked_from = 0;
    ok = ok && (from_s <= 0 || vn_to_ps(from_s, &flow->marked_from)) &&
         send_cnp(context, number, cnp);
    Py_DecRef(cnp);
    return ok;
}

static bool of_grants(const struct vn_callback *callback)
{
    return callback->method == VN_ON_DEMAND || callback->method == VN_ON_TURN;
}

bool vn_np_decides_in_c(struct vn_context *context, struct vn_callback *callback)
{
    struct vn_flow *flow = vn_flow_at(context, callback->flow);
    struct notification_point *np = flow->np_in_c;
    struct np_cnp cnp = {.mark = RP_NONE};
    bool sends = false, possible = true;
    if (of_grants(callback)) return vn_grants_call_in_c(context, callback);
    if (callback->method == VN_ON_MARKED) {
        sends = np->events->on_marked(np, vn_seconds(context->now), &cnp);
        flow->marked_from = 0;
        possible = np->marked_from_s <= 0 || vn_in_ps(np->marked_from_s, &flow->marked_from);
    } else if (np->events->on_window != NULL) {
        const struct np_window window = {callback->packets,   callback->marked_ce,
                                         callback->marked_ue, callback->bytes,
                                         callback->first_s,   callback->last_s};
        sends = np->events->on_window(np, &window, &cnp);
    }
    callback->mark = cnp.mark >= RP_UE && cnp.mark <= RP_CE ? (uint8_t)cnp.mark : 0;
    callback->feedback = cnp.rec_rate_bps;
    if (!possible || (sends && (callback->mark == 0 || !possible_rec_rate(cnp.rec_rate_bps))))
        return false;
    if (sends) vn_send_cnp(context, callback->flow, callback->mark, cnp.rec_rate_bps);
    return true;
}

/* Sets Python's error of an NP's decision in C that isn't possible. */
static bool refuse_in_c(const struct vn_context *context, const struct vn_callback *callback)
{
    uint64_t ps;
    if (of_grants(callback)) return vn_grants_refuse(context, callback);
    if (callback->mark == 0) PyErr_SetString(PyExc_TypeError, "a Cnp's mark is one of Mark");
    else if (!possible_rec_rate(callback->feedback)) refuse_rec_rate(callback->feedback);
    else vn_to_ps(vn_flow_at(context, callback->flow)->np_in_c->marked_from_s, &ps);
    return false;
}

bool vn_is_of_np(const struct vn_callback *callback)
{
    return callback->method == VN_ON_WINDOW || callback->method == VN_ON_MARKED ||
           of_grants(callback);
}

bool vn_np_call(struct vn_context *context, const struct vn_callback *callback, PyObject *now)
{
    if (callback->decided) return refuse_in_c(context, callback);
    if (of_grants(callback)) return vn_grants_call(context, callback, now);
    if (callback->method == VN_ON_WINDOW) return on_window(context, callback, now);
    return on_marked(context, callback->flow, now);
}
