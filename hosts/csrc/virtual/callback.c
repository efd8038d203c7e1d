/* Brings events to the algorithms: NPs (notification.c, grants.c) and RPs (reaction.c). Their
 * decisions are applied before the next event.
 *
 * An exception in a method ends vn_run; where the run survives it ends its algorithm: the flow of
 * an RP is stopped, and that of an NP goes on without CNPs, as agents have it. */
#include "virtual/callback.h"

#include "time/crew.h"
#include "virtual/flow.h"

_Static_assert(sizeof(struct vn_callback) <= VN_QUESTION_BYTES, "a question has room for it");

/* Packets that an acknowledgement shows to be lost are another event. */
static void call_about_loss(struct vn_context *context, const struct vn_callback *callback)
{
    if (callback->lost_bytes == 0 || context->failed) return;
    vn_call_back(context, &(struct vn_callback){.method = VN_ON_LOSS,
                                                .flow = callback->flow,
                                                .bytes = callback->lost_bytes});
}

/* Whether an error that Python has set ends its RP or NP alone. The event is one of the RP's or the
 * NP's own host: so the RP's flow is stopped where it is sent. */
static bool ends_alone(struct vn_context *context, const struct vn_callback *callback, bool of_np,
                       PyObject *now)
{
    const struct vn_python *python = &vn_rdma_of(context)->python;
    struct vn_flow *flow = vn_flow_at(context, callback->flow);
    /* a signal's, as Ctrl-C, is nobody's */
    if (context->unable == NULL || !PyErr_ExceptionMatches(PyExc_Exception)) return false;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL) PyException_SetTraceback(value, traceback);
    PyObject *flow_object = PySequence_GetItem(python->flows, callback->flow);
    bool ok = flow_object != NULL && vn_succeeded(PyObject_CallFunctionObjArgs(
                                         python->on_failure, flow_object, now,
                                         of_np ? &_Py_TrueStruct : &_Py_FalseStruct, value, NULL));
    Py_DecRef(flow_object);
    Py_DecRef(type);
    Py_DecRef(value);
    Py_DecRef(traceback);
    if (!ok) return false;
    if (of_np) {
        flow->np_failed = true;
        if (callback->method == VN_ON_TURN) vn_grants_pass(context, callback->flow);
    } else {
        flow->rp_failed = true;
        if (flow->ended == VN_NEVER) vn_nic_stop(context, callback->flow);
    }
    return true;
}

static void call_python(struct vn_context *context, const struct vn_callback *callback)
{
    struct vn_exchange *exchange = &vn_crew_context(context, 0)->exchange;
    exchange->reason = VN_CALLBACK;
    exchange->flow = callback->flow;
    exchange->np = vn_is_of_np(callback);
    exchange->now_s = vn_seconds(context->now);
    vn_take_python(vn_crew_context(context, 0)->pace);
    PyObject *now = PyFloat_FromDouble(exchange->now_s);
    bool ok = now != NULL && (exchange->np ? vn_np_call(context, callback, now)
                                           : vn_rp_call(context, callback, now));
    if (!ok && (now == NULL || !ends_alone(context, callback, exchange->np, now)))
        context->failed = context->raised = true;
    Py_DecRef(now);
    call_about_loss(context, callback);
}

void vn_answer(struct vn_context *context, const void *about) { call_python(context, about); }

/* An RP in C needs no copy of the callback: one is made for what comes behind. */
void vn_call_back(struct vn_context *context, const struct vn_callback *callback)
{
    const struct vn_flow *flow = vn_flow_at(context, callback->flow);
    const struct vn_python *python = &vn_rdma_of(context)->python;
    /* decided: but not what is possible, so Python raises */
    bool of_np = vn_is_of_np(callback), decided = false;
    if (__builtin_expect(of_np ? flow->np_failed : flow->rp_failed, 0)) {
        if (callback->method == VN_ON_TURN) vn_grants_pass(context, callback->flow);
        return;
    }
    if (!of_np && flow->compiled != NULL && python->on_rate == &_Py_NoneStruct) {
        if (vn_rp_decides_in_c(context, callback)) {
            call_about_loss(context, callback);
            return;
        }
        decided = true;
    }
    struct vn_callback question = *callback;
    if (of_np && flow->np_in_c != NULL &&
        (callback->method != VN_ON_WINDOW || python->on_window == &_Py_NoneStruct)) {
        if (vn_np_decides_in_c(context, &question)) return;
        decided = true;
    }
    question.decided |= decided;
    if (!vn_ask(context, VN_ENDPOINT_rdma, &question, sizeof question))
        call_python(context, &question);
}
