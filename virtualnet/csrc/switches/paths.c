/* Flows' paths. A flow's switches are few, so they are searched one after another. */
#include "switches/paths.h"

#include <errno.h>
#include <stdlib.h>

enum { HOPS = 15 };

/* A flow's, in one cache line. */
struct vn_path {
    uint32_t links[HOPS];
    uint16_t given; /* bit mask */
    uint8_t n;
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

/* NULL: out of memory. */
static struct vn_path *path_of(struct vn_paths *paths, uint32_t flow)
{
    if (flow < paths->n) return &paths->of[flow];
    uint32_t n = 2 * flow + 1;
    struct vn_path *larger = aligned_alloc(64, n * sizeof *larger);
    if (larger == NULL) return NULL;
    memset(larger, 0, n * sizeof *larger);
    if (paths->n != 0) memcpy(larger, paths->of, paths->n * sizeof *larger);
    free(paths->of);
    paths->of = larger;
    paths->n = n;
    return &larger[flow];
}

/* The hop at the switch where the link starts; HOPS: there is none. */
static uint32_t hop_at(const struct vn_context *context, const struct vn_path *path, uint32_t node)
{
    for (uint32_t i = 0; i < path->n; i++) {
        if (context->links[path->links[i]].node == node) return i;
    }
    return HOPS;
}

static bool hop_add(struct vn_path *path, uint32_t link, bool given)
{
    if (path->n == HOPS) return false;
    path->given |= (uint16_t)(given << path->n);
    path->links[path->n++] = link;
    return true;
}

uint32_t vn_path_taken(struct vn_context *context, uint32_t link, const struct vn_packet *packet)
{
    struct vn_paths *paths = context->paths;
    if (!packet->data || packet->flow == VN_NONE || (packet->flow >= paths->n && !paths->logged)) return link;
    struct vn_path *path = path_of(paths, packet->flow);
    uint32_t hop = path != NULL ? hop_at(context, path, context->links[link].node) : HOPS;
    if (hop != HOPS) return path->given >> hop & 1 ? path->links[hop] : link;
    if (paths->logged && (path == NULL || !hop_add(path, link, false))) {
        vn_fail(context, "flow number %u goes through more than %u switches, or no memory is left for its path", packet->flow,
                HOPS);
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
    struct vn_path *path = paths_of(context) != NULL ? path_of(context->paths, flow) : NULL;
    if (path == NULL) return vn_refuse(context, -ENOMEM, "out of memory for paths");
    if (hop_at(context, path, context->links[link].node) != HOPS)
        return vn_refuse(context, -EEXIST, "the flow has a path there already");
    return hop_add(path, link, true) ? 0 : vn_refuse(context, -ENOSPC, "a path through more than 15 switches");
}

uint32_t vn_path(const struct vn_context *context, uint32_t flow, const uint32_t **links)
{
    if (context->paths == NULL || flow >= context->paths->n) return 0;
    *links = context->paths->of[flow].links;
    return context->paths->of[flow].n;
}
