/* Receivers that grant (base.py's NotificationPoint.grants): data brings a flow's demand to its NP,
 * and a host gives its NPs turns, one after the other, of which each sends a grant. Those that want
 * a turn wait in a list, round robin; those that take one when nobody else does, in another. The
 * next turn comes when the line has carried what this one granted. */
#include <stdlib.h>

#include "virtual/flow.h"

bool vn_grants_new(struct vn_context *context)
{
    struct vn_rdma *rdma = vn_rdma_of(context);
    if (rdma->n_grants == context->n_nodes) return true;
    struct vn_grants *grants = realloc(rdma->grants, context->n_nodes * sizeof *grants);
    if (grants == NULL) return false;
    rdma->grants = grants;
    for (; rdma->n_grants < context->n_nodes; rdma->n_grants++) {
        grants[rdma->n_grants] = (struct vn_grants){.pending = false};
        for (uint32_t turn = 0; turn <= NP_TURN; turn++)
            grants[rdma->n_grants].waiting[turn].element = sizeof(uint32_t);
    }
    return true;
}

void vn_grants_free(struct vn_context *context)
{
    const struct vn_rdma *rdma = vn_rdma_of(context);
    for (uint32_t node = 0; node < rdma->n_grants; node++) {
        for (uint32_t turn = 0; turn <= NP_TURN; turn++) free(rdma->grants[node].waiting[turn].all);
    }
    free(rdma->grants);
}

static struct vn_grants *grants_of(const struct vn_context *context, uint32_t number)
{
    return &vn_rdma_of(context)->grants[vn_receiver_of(context, vn_flow_at(context, number))];
}

static void schedule(struct vn_context *context, uint32_t number, uint64_t time)
{
    grants_of(context, number)->pending = true;
    vn_endpoint_at(context, vn_receiver_of(context, vn_flow_at(context, number)), time, VN_EV_TIMER,
                   VN_ENDPOINT_rdma, VN_GRANT_TIMERS | number);
}

/* Puts a flow at the end of a list, unless it is there. */
static void wait_for_turn(struct vn_context *context, uint32_t number, enum np_turn turn)
{
    struct vn_flow *flow = vn_flow_at(context, number);
    struct ring *waiting = &grants_of(context, number)->waiting[turn];
    if (turn == NP_NO_TURN || flow->turns >> turn & 1) return;
    if (!ring_grow(waiting)) {
        vn_fail(context, "out of memory for grants");
        return;
    }
    ring_push(waiting, &number);
    flow->turns |= (uint8_t)(1u << turn);
}

void vn_grants_demanded(struct vn_context *context, uint32_t number, enum np_turn turn)
{
    if (turn != NP_TURN) return;
    wait_for_turn(context, number, turn);
    if (!grants_of(context, number)->pending) schedule(context, number, context->now);
}

void vn_grants_timer(struct vn_context *context, uint32_t number)
{
    struct vn_grants *grants = grants_of(context, number);
    grants->pending = false;
    for (uint32_t turn = NP_TURN; turn != NP_NO_TURN; turn--) {
        struct ring *waiting = &grants->waiting[turn];
        if (waiting->count == 0) continue;
        uint32_t next = *(uint32_t *)ring_at(waiting, 0);
        ring_pop(waiting);
        vn_flow_at(context, next)->turns &= (uint8_t)~(1u << turn);
        vn_call_back(context, &(struct vn_callback){
                                  .method = VN_ON_TURN, .flow = next, .mark = (uint8_t)turn});
        return;
    }
}

void vn_grants_pass(struct vn_context *context, uint32_t number)
{
    if (!grants_of(context, number)->pending) schedule(context, number, context->now);
}

void vn_grants_made(struct vn_context *context, uint32_t number, uint64_t granted_bytes,
                    double pace_bytes, enum np_turn turn)
{
    const struct vn_flow *flow = vn_flow_at(context, number);
    if (granted_bytes >= VN_MOST_CREDIT && context->unable != NULL) {
        context->unable[vn_receiver_of(context, flow)]++;
        vn_grants_pass(context, number);
        return;
    }
    if (granted_bytes >= VN_MOST_CREDIT) {
        vn_fail(context, "a flow was granted 2^40 bytes: as much as a grant can carry");
        return;
    }
    vn_send_grant(context, number, granted_bytes);
    wait_for_turn(context, number, turn);
    schedule(context, number,
             context->now + vn_duration(&context->links[flow->back_port], (uint64_t)pace_bytes));
}

uint64_t vn_grants_left(const struct vn_flow *flow)
{
    if (flow->packets == 0) return RP_NEVER;
    if (!flow->repeats) {
        uint64_t packets = flow->packets - flow->sent;
        return packets != 0 ? (packets - 1) * flow->frame_bytes + flow->last_frame_bytes : 0;
    }
    const struct reliable *reliable = &vn_repeat_of(flow)->reliable;
    const struct transport *transport = &reliable->flow;
    uint64_t fresh = transport_bytes(transport, transport->packets) -
                     transport_bytes(transport, transport->sent);
    return fresh + reliable->lost * transport->frame_bytes;
}

/* ---- in Python ---- */

/* Whether an NP may decide so. */
static bool possible_turn(uint64_t turn, double pace_bytes)
{
    return turn <= NP_TURN && pace_bytes >= 1 && pace_bytes < 0x1p40;
}

/* Sets Python's error where it may not. */
static bool refuse_turn(uint64_t turn)
{
    const char *why = turn > NP_TURN ? "an NP's turn is one of Turn"
                                     : "an NP's pace_bytes: from 1 to 2^40 are possible";
    PyErr_SetString(PyExc_ValueError, why);
    return false;
}

static bool to_u64(PyObject *value, uint64_t *to)
{
    if (value == NULL) return false;
    *to = PyLong_AsUnsignedLongLong(value);
    Py_DecRef(value);
    return *to != UINT64_MAX || PyErr_Occurred() == NULL;
}

bool vn_grants_call(struct vn_context *context, const struct vn_callback *callback, PyObject *now)
{
    const struct vn_python *python = &vn_rdma_of(context)->python;
    const struct vn_flow *flow = vn_flow_at(context, callback->flow);
    PyObject *result;
    if (callback->method == VN_ON_DEMAND) {
        PyObject *fields[] = {PyLong_FromUnsignedLongLong(callback->bytes),
                              callback->timeout ? &_Py_TrueStruct : &_Py_FalseStruct};
        Py_IncRef(fields[1]);
        PyObject *demand = vn_new_tuple(python->demand, 2, fields);
        if (demand == NULL) return false;
        result =
            PyObject_CallMethodObjArgs(flow->np, python->names[VN_ON_DEMAND], demand, now, NULL);
        Py_DecRef(demand);
    } else {
        PyObject *turns = python->turns[callback->mark];
        result = PyObject_CallMethodObjArgs(flow->np, python->names[VN_ON_TURN], turns, now, NULL);
    }
    uint64_t granted = 0, turn;
    double pace_bytes;
    if (callback->method == VN_ON_TURN ? !to_u64(result, &granted) : !vn_succeeded(result))
        return false;
    if (!to_u64(PyObject_GetAttr(flow->np, python->names[VN_TURN]), &turn) ||
        !vn_to_double(PyObject_GetAttr(flow->np, python->names[VN_PACE_BYTES]), &pace_bytes)) {
        return false;
    }
    if (!possible_turn(turn, pace_bytes)) return refuse_turn(turn);
    if (callback->method == VN_ON_TURN)
        vn_grants_made(context, callback->flow, granted, pace_bytes, (enum np_turn)turn);
    else vn_grants_demanded(context, callback->flow, (enum np_turn)turn);
    return true;
}

bool vn_grants_call_in_c(struct vn_context *context, const struct vn_callback *callback)
{
    struct notification_point *np = vn_flow_at(context, callback->flow)->np_in_c;
    uint64_t granted = 0;
    if (callback->method == VN_ON_TURN)
        granted = np->events->on_turn(np, callback->mark, vn_seconds(context->now));
    else np->events->on_demand(np, callback->bytes, callback->timeout, vn_seconds(context->now));
    if (!possible_turn(np->turn, np->pace_bytes)) return false;
    if (callback->method == VN_ON_TURN) {
        vn_grants_made(context, callback->flow, granted, np->pace_bytes, (enum np_turn)np->turn);
    } else {
        vn_grants_demanded(context, callback->flow, (enum np_turn)np->turn);
    }
    return true;
}

bool vn_grants_refuse(const struct vn_context *context, const struct vn_callback *callback)
{
    return refuse_turn(vn_flow_at(context, callback->flow)->np_in_c->turn);
}
