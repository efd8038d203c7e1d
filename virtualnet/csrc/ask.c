/* Asks the algorithms: the NP of a window or a marked packet, the RP of a notice, its timer, or bytes that it has sent. Each
 * question is a call of one method of hosts/algorithms, and its answer stands in `question` before the next event.
 *
 * What a method raises ends vn_run, as Python's error. */
#include <math.h>
#include <stdio.h>

#include "net.h"

static const char *const NAMES[VN_NAMES] = {
    [VN_ON_WINDOW] = "on_window", [VN_ON_MARKED] = "on_marked", [VN_ON_CNP] = "on_cnp", [VN_ON_CNM] = "on_cnm",
    [VN_ON_ACK] = "on_ack", [VN_ON_TIMER] = "on_timer", [VN_ON_BYTES_SENT] = "on_bytes_sent",
    [VN_RATE_BPS] = "rate_bps", [VN_TIMER_S] = "timer_s", [VN_SENT_BYTES] = "sent_bytes", [VN_DUE_BYTES] = "due_bytes",
    [VN_MARKED_FROM_S] = "marked_from_s", [VN_MARK] = "mark", [VN_REC_RATE_BPS] = "rec_rate_bps",
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

/* A value of one of base.py's named tuples; takes its fields over. NULL: Python's error. */
static PyObject *record(PyObject *type, uint32_t n, PyObject *const *fields)
{
    PyObject *made = PyType_GenericAlloc(type, n);
    bool whole = made != NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (fields[i] == NULL) whole = false;
        if (made == NULL) Py_DecRef(fields[i]);
        else PyTuple_SetItem(made, i, fields[i]);
    }
    if (whole) return made;
    Py_DecRef(made);
    return NULL;
}

/* Takes `result` over; false: there is none. */
static bool done(PyObject *result)
{
    Py_DecRef(result);
    return result != NULL;
}

static bool failed(double value) { return value == -1 && PyErr_Occurred() != NULL; }

/* Takes `value` over. */
static bool to_double(PyObject *value, double *to)
{
    if (value == NULL) return false;
    *to = PyFloat_AsDouble(value);
    Py_DecRef(value);
    return !failed(*to);
}

static bool to_ps(double seconds, uint64_t *to)
{
    double ps = rint(seconds * 1e12);
    if (!(ps >= 0 && ps < 0x1p64)) {
        PyErr_SetString(PyExc_OverflowError, "a time that picoseconds in 64 bits can't hold");
        return false;
    }
    *to = (uint64_t)ps;
    return true;
}

/* ---- NP ---- */

static PyObject *window_of(const struct vn_net *net)
{
    const struct vn_question *question = &net->question;
    PyObject *fields[] = {
        PyLong_FromUnsignedLongLong(question->packets), PyLong_FromUnsignedLongLong(question->marked_ce),
        PyLong_FromUnsignedLongLong(question->marked_ue), PyLong_FromUnsignedLongLong(question->bytes),
        PyFloat_FromDouble(question->first_s), PyFloat_FromDouble(question->last_s),
    };
    return record(net->python.window, 6, fields);
}

static bool take_notice(struct vn_net *net, PyObject *cnp)
{
    struct vn_question *question = &net->question;
    if (cnp == &_Py_NoneStruct) return true;
    int sound = PyObject_IsInstance(cnp, net->python.cnp);
    if (sound == 0) PyErr_SetString(PyExc_TypeError, "an NP's answer is a Cnp or None");
    if (sound != 1) return false;
    PyObject *mark = PyObject_GetAttr(cnp, net->python.names[VN_MARK]);
    if (mark == NULL) return false;
    uint8_t ecn = 1;
    while (ecn < 4 && net->python.marks[ecn] != mark) ecn++;
    Py_DecRef(mark);
    if (ecn == 4) {
        PyErr_SetString(PyExc_TypeError, "a Cnp's mark is one of Mark");
        return false;
    }
    if (!to_double(PyObject_GetAttr(cnp, net->python.names[VN_REC_RATE_BPS]), &question->rate_bps)) return false;
    question->answered = true;
    question->answer_mark = ecn;
    return true;
}

static bool ask_np_of_window(struct vn_net *net, PyObject *np, PyObject *flow, PyObject *now, PyObject *told)
{
    const struct vn_python *python = &net->python;
    PyObject *window = window_of(net);
    if (window == NULL) return false;
    PyObject *cnp = PyObject_CallMethodObjArgs(np, python->names[VN_ON_WINDOW], window, NULL);
    bool well = cnp != NULL && take_notice(net, cnp);
    if (well && told != &_Py_NoneStruct) {
        well = done(PyObject_CallFunctionObjArgs(told, flow, now, window, cnp, NULL));
    }
    Py_DecRef(window);
    Py_DecRef(cnp);
    return well;
}

static bool ask_np_of_mark(struct vn_net *net, PyObject *np, PyObject *now)
{
    const struct vn_python *python = &net->python;
    PyObject *cnp = PyObject_CallMethodObjArgs(np, python->names[VN_ON_MARKED], now, NULL);
    double from_s;
    bool well = cnp != NULL && take_notice(net, cnp) &&
                to_double(PyObject_GetAttr(np, python->names[VN_MARKED_FROM_S]), &from_s);
    Py_DecRef(cnp);
    net->question.marked_from = 0;
    return well && (from_s <= 0 || to_ps(from_s, &net->question.marked_from));
}

/* ---- RP ---- */

static PyObject *notice_of(const struct vn_net *net)
{
    PyObject *mark = net->python.marks[net->question.mark], *rate_bps = PyFloat_FromDouble(net->question.told);
    PyObject *cnp = rate_bps != NULL ? PyObject_CallFunctionObjArgs(net->python.cnp, mark, rate_bps, NULL) : NULL;
    Py_DecRef(rate_bps);
    return cnp;
}

/* One that is told something, which it takes over, and the time. */
static bool inform(PyObject *rp, PyObject *name, PyObject *notice, PyObject *now)
{
    if (notice == NULL) return false;
    PyObject *result = PyObject_CallMethodObjArgs(rp, name, notice, now, NULL);
    Py_DecRef(notice);
    return done(result);
}

static bool tell_rp(struct vn_net *net, PyObject *rp, PyObject *now)
{
    const struct vn_python *python = &net->python;
    const struct vn_question *question = &net->question;
    PyObject *const *names = python->names;
    switch (net->reason) {
    case VN_CNP: return inform(rp, names[VN_ON_CNP], notice_of(net), now);
    case VN_CNM: {
        PyObject *feedback = PyLong_FromUnsignedLongLong((unsigned long long)question->told);
        return inform(rp, names[VN_ON_CNM], record(python->cnm, 1, &feedback), now);
    }
    case VN_ACK: {
        PyObject *fields[] = {PyFloat_FromDouble(question->told), python->marks[question->mark]};
        Py_IncRef(fields[1]);
        return inform(rp, names[VN_ON_ACK], record(python->ack, 2, fields), now);
    }
    case VN_TIMER: {
        PyObject *due_s = PyObject_GetAttr(rp, names[VN_TIMER_S]);
        if (due_s == NULL) return false;
        PyObject *result = PyObject_CallMethodObjArgs(rp, names[VN_ON_TIMER], due_s, NULL);
        Py_DecRef(due_s);
        return done(result);
    }
    default: return done(PyObject_CallMethodObjArgs(rp, names[VN_ON_BYTES_SENT], now, NULL));
    }
}

/* What the RP wants from now on. */
static bool read_rp(struct vn_net *net, PyObject *rp, double limit_bps)
{
    const struct vn_python *python = &net->python;
    struct vn_question *question = &net->question;
    double rate_bps, timer_s = 0;
    if (!to_double(PyObject_GetAttr(rp, python->names[VN_RATE_BPS]), &rate_bps)) return false;
    if (!(rate_bps > 0 && rate_bps < INFINITY)) {
        char text[96];
        snprintf(text, sizeof text, "rate_bps is %g: a rate is finite, and above 0", rate_bps);
        PyErr_SetString(PyExc_ValueError, text);
        return false;
    }
    question->rate_bps = rate_bps > limit_bps ? limit_bps : rate_bps;
    question->answered = true;

    PyObject *timer = PyObject_GetAttr(rp, python->names[VN_TIMER_S]);
    if (timer == NULL) return false;
    bool has_timer = timer != &_Py_NoneStruct;
    question->timer = VN_NEVER;
    if (has_timer) timer_s = PyFloat_AsDouble(timer);
    Py_DecRef(timer);
    if (failed(timer_s) || (has_timer && !to_ps(timer_s, &question->timer))) return false;

    PyObject *due = PyObject_GetAttr(rp, python->names[VN_DUE_BYTES]);
    if (due == NULL) return false;
    question->due_bytes = due == &_Py_NoneStruct ? VN_NEVER : PyLong_AsUnsignedLongLong(due);
    bool well = due == &_Py_NoneStruct || question->due_bytes != VN_NEVER || PyErr_Occurred() == NULL;
    Py_DecRef(due);
    return well;
}

static bool ask_rp(struct vn_net *net, const struct vn_flow *asked, PyObject *flow, PyObject *now, PyObject *told)
{
    PyObject *rp = asked->rp, *sent = PyLong_FromUnsignedLongLong(net->question.sent_bytes);
    bool well = sent != NULL && PyObject_SetAttr(rp, net->python.names[VN_SENT_BYTES], sent) == 0;
    Py_DecRef(sent);
    if (!well || !tell_rp(net, rp, now)) return false;
    if (!read_rp(net, rp, asked->limit_bps)) return false;
    return told == &_Py_NoneStruct || done(PyObject_CallFunctionObjArgs(told, flow, now, NULL));
}

/* ---- both ---- */

bool vn_is_question(enum vn_reason reason)
{
    return (reason >= VN_WINDOW && reason <= VN_BYTES) || reason == VN_CNM || reason == VN_ACK;
}

bool vn_ask_python(struct vn_net *net, PyObject *flows, PyObject *on_window, PyObject *on_rate)
{
    const struct vn_flow *asked = &net->flows[net->exchange.flow];
    bool window = net->reason == VN_WINDOW, mark = net->reason == VN_MARKED;
    bool told = (window ? on_window : on_rate) != &_Py_NoneStruct && !mark;
    PyObject *flow = told ? PyList_GetItem(flows, net->exchange.flow) : NULL, *now = PyFloat_FromDouble(net->exchange.now_s);
    bool well = now != NULL && (!told || flow != NULL);
    if (well && window) well = ask_np_of_window(net, asked->np, flow, now, on_window);
    else if (well && mark) well = ask_np_of_mark(net, asked->np, now);
    else if (well) well = ask_rp(net, asked, flow, now, on_rate);
    Py_DecRef(now);
    return well;
}
