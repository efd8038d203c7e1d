/* Brings events to the algorithms: NPs (notification.c, grants.c) and RPs (reaction.c). Their
 * decisions are applied before the next event.
 *
 * An exception in a method ends vn_run. */
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

static void call_python(struct vn_context *context, const struct vn_callback *callback)
{
    struct vn_exchange *exchange = &vn_crew_context(context, 0)->exchange;
    exchange->reason = VN_CALLBACK;
    exchange->flow = callback->flow;
    exchange->np = vn_is_of_np(callback);
    exchange->now_s = vn_seconds(context->now);
    PyObject *now = PyFloat_FromDouble(exchange->now_s);
    bool ok = now != NULL && (exchange->np ? vn_np_call(context, callback, now)
                                           : vn_rp_call(context, callback, now));
    Py_DecRef(now);
    if (!ok) context->failed = context->raised = true;
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
    if (!of_np && flow->compiled != NULL && python->on_rate == &_Py_NoneStruct) {
        if (vn_rp_decides_in_c(context, callback)) {
            call_about_loss(context, callback);
            return;
        }
        decided = true;
    }
    struct vn_callback asked = *callback;
    if (of_np && flow->np_in_c != NULL &&
        (callback->method != VN_ON_WINDOW || python->on_window == &_Py_NoneStruct)) {
        if (vn_np_decides_in_c(context, &asked)) return;
        decided = true;
    }
    asked.decided |= decided;
    if (!vn_ask(context, VN_ENDPOINT_rdma, &asked, sizeof asked)) call_python(context, &asked);
}
