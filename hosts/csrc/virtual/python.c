/* What Python's algorithms need of the engine: names of methods and fields, conversions of values,
 * and errors that wait for their turn. */
#include "virtual/python.h"

#include <math.h>
#include <stdlib.h>

#include "time/crew.h"
#include "virtual/flow.h"

static const char *const NAMES[VN_NAMES] = {
    [VN_NP] = "np",
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

PyObject *vn_new_tuple(PyObject *type, uint32_t n, PyObject *const *fields)
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

bool vn_succeeded(PyObject *result)
{
    Py_DecRef(result);
    return result != NULL;
}

bool vn_conversion_failed(double value) { return value == -1 && PyErr_Occurred() != NULL; }

bool vn_to_double(PyObject *value, double *to)
{
    if (value == NULL) return false;
    *to = PyFloat_AsDouble(value);
    Py_DecRef(value);
    return !vn_conversion_failed(*to);
}

bool vn_in_ps(double seconds, uint64_t *to)
{
    double ps = rint(seconds * 1e12);
    bool held = ps >= 0 && ps < 0x1p64;
    if (held) *to = (uint64_t)ps;
    return held;
}

bool vn_to_ps(double seconds, uint64_t *to)
{
    if (!vn_in_ps(seconds, to)) {
        PyErr_SetString(PyExc_OverflowError, "a time that picoseconds in 64 bits can't hold");
        return false;
    }
    return true;
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
