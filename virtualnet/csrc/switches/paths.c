/* Flows' paths. A flow's switches are few, so they are searched one after another. Threads that
 * have turns of its switches at once add hops to one path: each takes a place of its own, and only
 * that switch's thread reads it. */
#include "switches/paths.h"

#include <errno.h>
#include <stdlib.h>

enum { HOPS = 15 };

/* A flow's, in one cache line. */
struct vn_path {
    uint32_t links[HOPS]; /* VN_NONE: taken, and not written yet, or free */
    uint16_t fixed; /* bit mask */
    uint16_t n; /* places taken; more than HOPS: there were too many */
} __attribute__((aligned(64)));

struct vn_paths {
    bool logged;
    uint32_t n;
    struct vn_path *of; /* by flow */
};

void vn_paths_free(struct vn_paths *paths)
{
    if (paths == NULL) return;
    free(paths->of);
    free(paths);
}

static struct vn_paths *paths_of(struct vn_context *context)
{
    if (context->paths == NULL) context->paths = calloc(1, sizeof *context->paths);
    return context->paths;
}

bool vn_paths_room(struct vn_context *context)
{
    struct vn_paths *paths = context->paths;
    uint32_t n = context->pool.n_lost; /* at least one a flow */
    if (paths == NULL || n <= paths->n) return true;
    struct vn_path *larger = aligned_alloc(64, n * sizeof *larger);
    if (larger == NULL) return false;
    if (paths->n != 0) memcpy(larger, paths->of, paths->n * sizeof *larger);
    for (uint32_t i = paths->n; i < n; i++) {
        memset(larger[i].links, 0xff, sizeof larger[i].links); /* VN_NONE */
        larger[i].fixed = larger[i].n = 0;
    }
    free(paths->of);
    paths->of = larger;
    paths->n = n;
    return true;
}

static uint32_t hops(const struct vn_path *path)
{
    uint32_t n = __atomic_load_n(&path->n, __ATOMIC_RELAXED);
    return n < HOPS ? n : HOPS;
}

/* The hop at the switch where the link starts; HOPS: there is none. */
static uint32_t hop_at(const struct vn_context *context, const struct vn_path *path, uint32_t node)
{
    for (uint32_t i = 0; i < hops(path); i++) {
        uint32_t link = __atomic_load_n(&path->links[i], __ATOMIC_RELAXED);
        if (link != VN_NONE && context->links[link].node == node) return i;
    }
    return HOPS;
}

static bool hop_add(struct vn_path *path, uint32_t link, bool fixed)
{
    uint32_t place = hops(path) == HOPS ? HOPS : __atomic_fetch_add(&path->n, 1, __ATOMIC_RELAXED);
    if (place >= HOPS) return false;
    if (fixed) path->fixed |= (uint16_t)(1u << place); /* between runs */
    __atomic_store_n(&path->links[place], link, __ATOMIC_RELAXED);
    return true;
}

uint32_t vn_path_taken(struct vn_context *context, uint32_t link, const struct vn_packet *packet)
{
    struct vn_paths *paths = context->paths;
    if (!packet->data || packet->flow == VN_NONE || packet->flow >= paths->n) return link;
    struct vn_path *path = &paths->of[packet->flow];
    uint32_t hop = hop_at(context, path, context->links[link].node);
    if (hop != HOPS) return path->fixed >> hop & 1 ? path->links[hop] : link;
    if (paths->logged && !hop_add(path, link, false)) {
        vn_fail(context, "flow number %u goes through more than %u switches", packet->flow, HOPS);
    }
    return link;
}

int vn_log_paths(struct vn_context *context)
{
    if (paths_of(context) == NULL) return vn_refuse(context, -ENOMEM, "out of memory for paths");
    context->paths->logged = true;
    return 0;
}

int vn_set_path(struct vn_context *context, uint32_t flow, uint32_t link)
{
    if (link >= context->n_links || !vn_is_switch(vn_near(context, &context->links[link]))) {
        return vn_refuse(context, -EINVAL, "no link that starts at a switch");
    }
    if (flow >= context->pool.n_lost) return vn_refuse(context, -EINVAL, "no such flow");
    if (paths_of(context) == NULL || !vn_paths_room(context))
        return vn_refuse(context, -ENOMEM, "out of memory for paths");
    struct vn_path *path = &context->paths->of[flow];
    if (hop_at(context, path, context->links[link].node) != HOPS)
        return vn_refuse(context, -EEXIST, "the flow has a path there already");
    return hop_add(path, link, true)
               ? 0
               : vn_refuse(context, -ENOSPC, "a path through more than 15 switches");
}

uint32_t vn_path(const struct vn_context *context, uint32_t flow, const uint32_t **links)
{
    if (context->paths == NULL || flow >= context->paths->n) return 0;
    *links = context->paths->of[flow].links;
    return hops(&context->paths->of[flow]);
}
