/* A network: what the parts are composed of. Its context, the samplers, and their composition with
 * Python's calls are here; only what means the whole is passed it. It may touch every part but
 * those of endpoints, which it knows as kinds. */
#ifndef VN_NET_H
#define VN_NET_H

#include "hosts/host.h"
#include "switches/switch.h"

struct vn_sampler {
    uint64_t every, last, n, capacity, most; /* most: samples, an even number; 0: any number */
    uint32_t n_sources;
    bool largest;
    struct vn_source_spec *sources;
    uint64_t *times;
    double *values;
};

struct vn_net {
    struct vn_context context; /* first: Python's handle of either is the same */
    struct vn_sampler *samplers;
    uint32_t n_samplers, threads;
};

static inline struct vn_net *vn_net_of(struct vn_context *context)
{
    return (struct vn_net *)context;
}

static void vn_sample(struct vn_context *, uint32_t sampler);

/* The kinds of register.h, by number. */
static const struct vn_event_kind vn_event_kinds[];
static const struct vn_endpoint_kind *const vn_endpoint_kinds[VN_ENDPOINT_KINDS];

#endif
