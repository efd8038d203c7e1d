/* Owns shared buffers of switches: a pool that the classes of all ports share, beside what each of
 * them has for itself. A class of a port has a share: its reserve first; then the pool, up to the
 * dynamic threshold `fixed` + alpha (free bytes of the pool) that Choudhury and Hahne have (ToN
 * 1998); then, while its PAUSE takes effect, its headroom. */
#ifndef VN_SHARED_BUFFER_H
#define VN_SHARED_BUFFER_H

#include "links/pfc.h"

enum { VN_ALPHA_BITS = 16 };

struct vn_shared_buffer {
    uint64_t shared; /* the pool: the size less all reserves and headrooms */
    uint64_t used, used_max; /* of the pool */
    uint64_t size;
    uint32_t n_shares, n_paused;
    uint32_t *shares; /* numbers of vn_context.shares */
    uint32_t *paused; /* those whose PAUSE no RESUME has followed; room for all */
    uint32_t node;
};

/* One class of a port, in one cache line. */
struct vn_share {
    struct vn_shared_buffer *buffer;
    uint64_t fixed, headroom, in_headroom, in_headroom_max;
    uint32_t alpha; /* times 2^VN_ALPHA_BITS */
    uint32_t reserve, resume;
    uint32_t end; /* the port: its link's number */
    uint8_t class;
    bool lossless, grows; /* grows: its headroom is what flow control needs */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct vn_share) == 64, "a cache line");

static inline struct vn_share *vn_share_of(const struct vn_context *context,
                                           const struct vn_class *in)
{
    return &context->shares[vn_pfc_class((struct vn_class *)in)->share];
}
static inline bool vn_is_shared(const struct vn_class *in)
{
    return in->lossless == VN_FLOW_CONTROL_shared_buffer;
}

/* What of a class's bytes is outside its headroom and beyond its reserve. */
static inline uint64_t vn_share_used(const struct vn_share *share, const struct vn_class *in)
{
    uint64_t outside = in->held_bytes - share->in_headroom;
    return outside > share->reserve ? outside - share->reserve : 0;
}

/* With so many free bytes in the pool. */
static inline uint64_t vn_share_threshold_of(const struct vn_share *share, uint64_t free)
{
    return share->fixed + (uint64_t)(((unsigned __int128)free * share->alpha) >> VN_ALPHA_BITS);
}

static inline uint64_t vn_share_threshold(const struct vn_share *share)
{
    return vn_share_threshold_of(share, share->buffer->shared - share->buffer->used);
}

/* Whether there is room for a packet of a class that may be refused: one without PFC, or whose
 * PAUSE was lost or late. */
static bool vn_share_has_room(const struct vn_context *, const struct vn_class *in, uint32_t bytes);
/* A lossless class can have so many bytes inside after its PAUSE falls due: its headroom has to
 * hold them. */
static void vn_share_needs(struct vn_context *, const struct vn_class *in, uint64_t bytes);
static void vn_shared_buffer_free(struct vn_shared_buffer *);
static void vn_shares_free(struct vn_context *);
/* Of the node that has the buffer: see vn_set_shared_buffer, vn_set_share and vn_buffer_stats. */
/* NULL: out of memory */
static struct vn_shared_buffer *vn_shared_buffer_new(uint32_t node, uint64_t size);
static int vn_share_new(struct vn_context *, struct vn_shared_buffer *, struct vn_link *end,
                        uint32_t class, const struct vn_share_config *);
/* A class's packet that leaves it, or comes, is not within `inside`; the occupancy has it no more,
 * or already. */
static void vn_share_left(struct vn_context *, struct vn_link *end, uint32_t class, uint32_t bytes);
static void vn_share_came(struct vn_context *, struct vn_link *end, uint32_t class, uint32_t bytes);
static void vn_shared_buffer_count(const struct vn_context *, const struct vn_shared_buffer *,
                                   struct vn_shared_buffer_stats *);

VN_ALWAYS void vn_share_hold(struct vn_context *context, struct vn_link *end, uint32_t class,
                             uint32_t bytes)
{
    struct vn_class *in = &end->classes[class];
    in->held_bytes += bytes;
    if (in->held_bytes > in->held_max) in->held_max = in->held_bytes;
    if (in->held_bytes > vn_pfc_class(in)->inside) vn_share_came(context, end, class, bytes);
}

VN_ALWAYS void vn_share_release(struct vn_context *context, struct vn_link *end, uint32_t class,
                                uint32_t bytes)
{
    struct vn_class *in = &end->classes[class];
    uint64_t held = in->held_bytes;
    VN_ASSERT(held >= bytes);
    in->held_bytes = held - bytes;
    if (held > vn_pfc_class(in)->inside) vn_share_left(context, end, class, bytes);
}

#endif
