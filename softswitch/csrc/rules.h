/* simple_switch's rules (not table entries): what it does with a packet after ingress and after
 * egress, that is clone, resubmit, recirculate, replicate, truncate, drop. The live switch
 * (run.c) and virtual time (virtualnet/csrc/phv.c) share them; they differ in the packet's type
 * and in its queues.
 *
 * The including file defines the types `rules_switch` and `rules_packet` and RULES_NONE (no
 * packet) before the include, and the functions declared below after it. */
#ifndef SW_RULES_H
#define SW_RULES_H

#include <string.h>

#include "pipeline.h"
#include "pre.h"

static struct sw_instance *rules_instance(rules_switch *);
static const struct sw_pre *rules_groups(rules_switch *), *rules_clone_sessions(rules_switch *);
static uint64_t rules_now(rules_switch *); /* in ticks */
static struct sw_packet *rules_view(rules_switch *, rules_packet);
static uint32_t *rules_truncate_to(rules_switch *, rules_packet);

/* A copy with headers and metadata, untruncated. RULES_NONE: no memory. */
static rules_packet rules_copy(rules_switch *, rules_packet);
/* An unparsed packet with the frame as it entered ingress, from the same ingress port. RULES_NONE:
 * no memory. */
static rules_packet rules_copy_unparsed(rules_switch *, rules_packet, const uint8_t *frame,
                                        uint32_t length);
/* These take ownership of the packet: they add it to a port's queue; send it back to ingress, with
 * the metadata of a field list; drop it, since the program drops it; drop it, since its multicast
 * group doesn't exist. */
static void rules_enqueue(rules_switch *, rules_packet, uint32_t port);
static void rules_reenter(rules_switch *, rules_packet, int32_t list, enum sw_instance_type);
static void rules_drop(rules_switch *, rules_packet);
static void rules_drop_ungrouped(rules_switch *, rules_packet);
static void rules_digest(rules_switch *, rules_packet);

/* ---- the rules ---- */

static void rules_reset_metadata(rules_switch *sw, struct sw_packet *p)
{
    const struct sw_program *program = rules_instance(sw)->program;
    memset((char *)p->phv + program->metadata_offset, 0,
           program->phv_size - program->metadata_offset);
    p->std = (struct sw_std){0};
}

static void rules_preserve(rules_switch *sw, int32_t list, const struct sw_packet *from,
                           struct sw_packet *to, enum sw_instance_type type)
{
    if (list != SW_NONE) rules_instance(sw)->program->copy_list(list, from, to);
    to->std.instance_type = type;
}

/* Takes ownership of the packet, which becomes the last replica. No group is empty (pre.c). */
static void rules_replicate(rules_switch *sw, rules_packet packet, const struct sw_pre_group *group)
{
    for (uint32_t i = 0; i < group->n; i++) {
        rules_packet copy = i + 1 == group->n ? packet : rules_copy(sw, packet);
        if (copy == RULES_NONE) continue;
        *rules_truncate_to(sw, copy) = group->truncate_to != 0 ? group->truncate_to : UINT32_MAX;
        rules_view(sw, copy)->std.egress_rid = group->replicas[i].instance;
        rules_enqueue(sw, copy, group->replicas[i].port);
    }
}

/* Clones the frame as it entered ingress: parsed again, with the field list's values after
 * ingress. */
static void rules_clone_ingress(rules_switch *sw, rules_packet packet, const uint8_t *entered,
                                uint32_t length)
{
    const struct sw_packet *p = rules_view(sw, packet);
    const struct sw_pre_group *session =
        sw_pre_find(rules_clone_sessions(sw), (uint32_t)p->req.clone_session);
    rules_packet clone =
        session != NULL ? rules_copy_unparsed(sw, packet, entered, length) : RULES_NONE;
    if (clone == RULES_NONE) return;
    rules_instance(sw)->program->parse(rules_instance(sw), rules_view(sw, clone));
    rules_reset_metadata(sw, rules_view(sw, clone));
    rules_preserve(sw, p->req.clone_list, p, rules_view(sw, clone), SW_INGRESS_CLONE);
    rules_replicate(sw, clone, session);
}

/* Clones the packet after egress: with its headers and the field list's metadata. */
static void rules_clone_egress(rules_switch *sw, rules_packet packet)
{
    const struct sw_packet *p = rules_view(sw, packet);
    const struct sw_pre_group *session =
        sw_pre_find(rules_clone_sessions(sw), (uint32_t)p->req.clone_session);
    rules_packet clone = session != NULL ? rules_copy(sw, packet) : RULES_NONE;
    if (clone == RULES_NONE) return;
    rules_reset_metadata(sw, rules_view(sw, clone));
    rules_preserve(sw, p->req.clone_list, p, rules_view(sw, clone), SW_EGRESS_CLONE);
    rules_replicate(sw, clone, session);
}

static void rules_note_truncation(rules_switch *sw, rules_packet packet)
{
    uint32_t to = rules_view(sw, packet)->req.truncate_to, *limit = rules_truncate_to(sw, packet);
    if (to < *limit) *limit = to;
}

/* Takes ownership of the packet. */
static void rules_ingress(rules_switch *sw, rules_packet packet)
{
    struct sw_packet *p = rules_view(sw, packet);
    struct sw_instance *instance = rules_instance(sw);
    uint8_t *entered = p->data;
    uint32_t entered_length = p->length;
    p->req = SW_NO_REQUESTS;
    p->length_register = p->length;
    instance->now = rules_now(sw);
    instance->program->ingress(instance, p);
    rules_note_truncation(sw, packet);
    if (p->req.clone_session != SW_NONE) rules_clone_ingress(sw, packet, entered, entered_length);
    if (p->req.digest_list != SW_NONE) rules_digest(sw, packet);
    if (p->req.resubmit_list != SW_NONE) {
        p->data = entered;
        p->length = entered_length;
        rules_reenter(sw, packet, p->req.resubmit_list, SW_RESUBMIT);
        return;
    }
    if (p->std.mcast_grp != 0) {
        const struct sw_pre_group *group = sw_pre_find(rules_groups(sw), p->std.mcast_grp);
        p->std.instance_type = SW_REPLICATION;
        if (group != NULL) rules_replicate(sw, packet, group);
        else rules_drop_ungrouped(sw, packet);
        return;
    }
    if (p->std.egress_spec == instance->drop_port) {
        rules_drop(sw, packet);
        return;
    }
    p->std.instance_type = SW_NORMAL; /* recirculated packets too: BMv2 */
    rules_enqueue(sw, packet, p->std.egress_spec);
}

enum rules_verdict { RULES_SEND, RULES_DROPPED, RULES_RECIRCULATED };

/* `deq_qdepth`: packets left in the queue. std has enq_timestamp and enq_qdepth. The caller keeps
 * the packet for RULES_SEND alone. */
static inline __attribute__((always_inline)) enum rules_verdict
rules_egress(rules_switch *sw, rules_packet packet, uint16_t port, uint32_t queue,
             uint32_t deq_qdepth)
{
    struct sw_packet *p = rules_view(sw, packet);
    struct sw_instance *instance = rules_instance(sw);
    p->req = SW_NO_REQUESTS;
    instance->now = rules_now(sw);
    sw_before_egress(instance, p, port, queue, deq_qdepth);
    instance->program->egress(instance, p);
    rules_note_truncation(sw, packet);
    if (p->req.clone_session != SW_NONE) rules_clone_egress(sw, packet);
    if (p->std.egress_spec == instance->drop_port) {
        rules_drop(sw, packet);
        return RULES_DROPPED;
    }
    instance->program->deparse(instance, p);
    if (p->req.recirculate_list == SW_NONE) return RULES_SEND;
    rules_reenter(sw, packet, p->req.recirculate_list, SW_RECIRC);
    return RULES_RECIRCULATED;
}

#endif
