/* Owns the contexts of a network, and the threads that run their nodes' turns. A round's turns
 * are in phases (phases.h): in each, every thread gives its context's nodes their turns, and
 * those of contexts whose threads are late. A node whose event asks Python stops; when all are
 * over, the first thread answers, in the order of nodes, and those nodes' turns go on in another
 * pass.
 *
 * It promises that rounds, passes, turns and answers are the same with any number of contexts. */
#ifndef VN_CREW_H
#define VN_CREW_H

#include "context.h"
#include "virtualnet.h"

/* Before the first event: so many contexts, or fewer where nodes are. False: the run has failed. */
static bool vn_crew_init(struct vn_context *, uint32_t n);
static void vn_crew_free(struct vn_context *); /* ends its threads */
/* Of the network's contexts, the one with this number; NULL: there are no more. */
static struct vn_context *vn_crew_context(struct vn_context *, uint32_t number);
/* Once there is a pool: where each context's packets come from. False: no memory. */
static bool vn_crew_packets(struct vn_context *);
/* At the start of vn_run: contexts know what has changed since the last one. */
static void vn_crew_share(struct vn_context *);
/* Gives each node its turn. False: the run has failed. */
static bool vn_crew_round(struct vn_context *);

/* ---- order.c ---- */
/* What the context has of the order of events; `owners`: of nodes, NULL: it owns all. False: the
 * run has failed. */
static bool vn_turns_init(struct vn_context *, const uint32_t *owners);
static void vn_turns_free(struct vn_turns *);
/* The node's turn has failed. Those of others go on as if it hadn't: then the same has happened
 * with any number of contexts. */
static void vn_turn_failed(struct vn_context *, uint32_t node);
/* Gives each node of `order`, from `turn` on, its turn, or the group for which it stands. */
static void vn_run_turns(struct vn_context *);

/* For an endpoint, as the last step of what an event does for a packet, or altogether: asks what
 * only the first thread can answer. `about`: VN_QUESTION_BYTES at most. False: events happen in one
 * order, or this is part of an answer; the caller acts at once. */
VN_OFFERED bool vn_ask(struct vn_context *, uint32_t endpoint, const void *about, size_t bytes);

#endif
