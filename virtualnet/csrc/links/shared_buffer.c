/* The account of shared buffers, and when it pauses and resumes. A packet that no reserve and no
 * threshold has room for counts whole as headroom; what leaves, leaves the headroom first (as the
 * switch of HPCC's simulator does, SIGCOMM'19). PAUSE falls due when a class is at its threshold or
 * in its headroom. RESUME depends on the occupancies alone, and not on whose packet leaves:
 * whenever the pool falls, each paused class is looked at. */
#include "links/shared_buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct vn_shared_buffer *vn_shared_buffer_new(uint32_t node, uint64_t size)
{
    struct vn_shared_buffer *buffer = calloc(1, sizeof *buffer);
    if (buffer != NULL)
        *buffer = (struct vn_shared_buffer){.size = size, .shared = size, .node = node};
    return buffer;
}

void vn_shared_buffer_free(struct vn_shared_buffer *buffer)
{
    if (buffer == NULL) return;
    free(buffer->shares);
    free(buffer->paused);
    free(buffer);
}

void vn_shares_free(struct vn_context *context) { free(context->shares); }

static bool numbers_grow(uint32_t **array, uint32_t n)
{
    uint32_t *larger = realloc(*array, (n + 1) * sizeof **array);
    if (larger != NULL) *array = larger;
    return larger != NULL;
}

/* Doubles the context's array where its length is a power of two. */
static bool shares_grow(struct vn_context *context)
{
    uint32_t n = context->n_shares;
    if ((n & (n - 1)) != 0) return true;
    struct vn_share *larger = aligned_alloc(64, (n ? 2 * (size_t)n : 1) * sizeof *larger);
    if (larger == NULL) return false;
    if (n != 0) memcpy(larger, context->shares, n * sizeof *larger);
    free(context->shares);
    context->shares = larger;
    return true;
}

int vn_share_new(struct vn_context *context, struct vn_shared_buffer *buffer, struct vn_link *end,
                 uint32_t class, const struct vn_share_config *config)
{
    struct vn_class *in = &end->classes[class];
    const struct vn_pfc *pfc = vn_pfc_of(end);
    bool lossless = pfc != NULL && pfc->lossless >> class & 1;
    if (vn_is_shared(in) || in->held_bytes != 0)
        return vn_refuse(context, -EBUSY, "the class has a share already, or packets");
    if (end->flow_control != VN_FLOW_CONTROL_pfc)
        return vn_refuse(context, -EINVAL, "a buffer is shared by PFC alone");
    if (config->reserve + config->headroom >= buffer->shared) {
        return vn_refuse(context, -ENOSPC,
                         "reserves and headroom leave nothing of the buffer to share");
    }
    if (!shares_grow(context) || !numbers_grow(&buffer->shares, buffer->n_shares) ||
        !numbers_grow(&buffer->paused, buffer->n_shares)) {
        return vn_refuse(context, -ENOMEM, "out of memory for shares of a buffer");
    }
    context->shares[context->n_shares] = (struct vn_share){
        .buffer = buffer,
        .fixed = config->fixed,
        .headroom = config->headroom,
        .alpha = config->alpha,
        .reserve = config->reserve,
        .resume = config->resume,
        .end = (uint32_t)(end - context->links),
        .class = (uint8_t)class,
        .lossless = lossless,
        .grows = lossless && config->headroom == 0,
    };
    buffer->shares[buffer->n_shares++] = context->n_shares;
    buffer->shared -= config->reserve + config->headroom;
    in->lossless = VN_FLOW_CONTROL_shared_buffer;
    in->refuses = in->refuses || !lossless;
    vn_pfc_class(in)->inside = config->reserve;
    vn_pfc_class(in)->share = context->n_shares++;
    vn_flow_control_limits(context, vn_into(context, end));
    return context->failed ? -ENOSPC : 0;
}

void vn_share_needs(struct vn_context *context, const struct vn_class *in, uint64_t bytes)
{
    struct vn_share *share = vn_share_of(context, in);
    struct vn_shared_buffer *buffer = share->buffer;
    if (!share->lossless || share->headroom >= bytes) return;
    uint16_t port = context->links[share->end].port;
    if (!share->grows) {
        vn_fail(context,
                "node %u port %u class %u has a headroom of %llu bytes: after a PAUSE falls due "
                "%llu can still come in",
                buffer->node, port, share->class, (unsigned long long)share->headroom,
                (unsigned long long)bytes);
    } else if (bytes - share->headroom >= buffer->shared - buffer->used) {
        vn_fail(context,
                "the shared buffer of node %u, %llu bytes, has no room for the headroom of port %u "
                "class %u, %llu bytes",
                buffer->node, (unsigned long long)buffer->size, port, share->class,
                (unsigned long long)bytes);
    } else {
        buffer->shared -= bytes - share->headroom;
        share->headroom = bytes;
    }
}

/* What a packet takes of the pool that finds so much held; VN_NEVER: there is no room for it
 * outside the headroom. */
static uint64_t share_takes(const struct vn_share *share, uint64_t held, uint32_t bytes)
{
    uint64_t outside = held - share->in_headroom + bytes;
    if (outside <= share->reserve) return 0;
    uint64_t beyond = outside - share->reserve, more = beyond < bytes ? beyond : bytes;
    bool room =
        beyond <= vn_share_threshold(share) && more <= share->buffer->shared - share->buffer->used;
    return room ? more : VN_NEVER;
}

bool vn_share_has_room(const struct vn_context *context, const struct vn_class *in, uint32_t bytes)
{
    const struct vn_share *share = vn_share_of(context, in);
    return share_takes(share, in->held_bytes, bytes) != VN_NEVER ||
           (share->lossless && share->in_headroom + bytes <= share->headroom);
}

static bool share_may_resume(const struct vn_context *context, const struct vn_share *share)
{
    if (share->in_headroom != 0) return false;
    uint64_t used = vn_share_used(share, &context->links[share->end].classes[share->class]);
    uint64_t threshold = vn_share_threshold(share);
    return used == 0 || (used < threshold && used + share->resume <= threshold);
}

static __attribute__((noinline)) void resume_shares(struct vn_context *context,
                                                    struct vn_shared_buffer *buffer)
{
    for (uint32_t i = 0; i < buffer->n_paused;) {
        const struct vn_share *share = &context->shares[buffer->paused[i]];
        if (!share_may_resume(context, share)) {
            i++;
            continue;
        }
        buffer->paused[i] = buffer->paused[--buffer->n_paused];
        vn_pfc_go(context, &context->links[share->end], share->class);
    }
}

/* A packet that may be headroom, or with which PAUSE may fall due. */
static __attribute__((noinline)) void share_fills(struct vn_context *context, struct vn_link *end,
                                                  uint32_t class, uint32_t bytes)
{
    struct vn_class *in = &end->classes[class];
    struct vn_share *share = vn_share_of(context, in);
    struct vn_shared_buffer *buffer = share->buffer;
    uint64_t more = share_takes(share, in->held_bytes - bytes, bytes);
    if (more == VN_NEVER) {
        share->in_headroom += bytes;
        vn_pfc_class(in)->inside = 0;
        if (share->in_headroom > share->in_headroom_max)
            share->in_headroom_max = share->in_headroom;
        if (share->in_headroom > share->headroom) {
            vn_fail(context, "link %u class %u has %llu bytes in its headroom of %llu",
                    vn_into(context, end), class, (unsigned long long)share->in_headroom,
                    (unsigned long long)share->headroom);
        }
    } else {
        buffer->used += more;
        if (buffer->used > buffer->used_max) buffer->used_max = buffer->used;
    }
    VN_ASSERT(buffer->used <= buffer->shared && share->in_headroom <= in->held_bytes);
    if (!share->lossless || vn_pfc_class(in)->passed != 0) return;
    uint64_t used = vn_share_used(share, in);
    if (share->in_headroom == 0 && (used == 0 || used < vn_share_threshold(share))) return;
    VN_ASSERT(buffer->n_paused < buffer->n_shares);
    buffer->paused[buffer->n_paused++] = vn_pfc_class(in)->share;
    vn_pfc_stop(context, end, class);
}

/* What most packets find: nothing is in the headroom, and the class is below the threshold as it is
 * with the packet, so that it was below that without. */
void vn_share_came(struct vn_context *context, struct vn_link *end, uint32_t class, uint32_t bytes)
{
    const struct vn_class *in = &end->classes[class];
    const struct vn_share *share = vn_share_of(context, in);
    struct vn_shared_buffer *buffer = share->buffer;
    VN_ASSERT(vn_pfc_class((struct vn_class *)in)->inside ==
              (share->in_headroom != 0 ? 0 : share->reserve));
    uint64_t beyond = in->held_bytes - share->reserve, more = beyond < bytes ? beyond : bytes;
    uint64_t used = buffer->used + more, free = buffer->shared - used;
    if (share->in_headroom != 0 || used > buffer->shared ||
        beyond >= vn_share_threshold_of(share, free)) {
        share_fills(context, end, class, bytes);
        return;
    }
    buffer->used = used;
    if (used > buffer->used_max) buffer->used_max = used;
}

/* A class without headroom in use has at most `inside` in its reserve. While it is paused it has
 * more: what leaves the reserve resumes nothing. */
void vn_share_left(struct vn_context *context, struct vn_link *end, uint32_t class, uint32_t bytes)
{
    struct vn_class *in = &end->classes[class];
    struct vn_share *share = vn_share_of(context, in);
    struct vn_shared_buffer *buffer = share->buffer;
    VN_ASSERT(vn_pfc_class(in)->inside == (share->in_headroom != 0 ? 0 : share->reserve));
    uint64_t rest = bytes, outside = in->held_bytes + bytes - share->in_headroom;
    if (__builtin_expect(share->in_headroom != 0, 0)) {
        uint64_t from_headroom = bytes < share->in_headroom ? bytes : share->in_headroom;
        share->in_headroom -= from_headroom;
        rest -= from_headroom;
        if (share->in_headroom == 0) vn_pfc_class(in)->inside = share->reserve;
    }
    uint64_t used = outside > share->reserve ? outside - share->reserve : 0;
    buffer->used -= rest < used ? rest : used;
    if (__builtin_expect(buffer->n_paused != 0, 0)) resume_shares(context, buffer);
}

static void shared_buffer_admitted(struct vn_context *context, struct vn_link *end, uint32_t class,
                                   uint32_t bytes)
{
    vn_share_hold(context, end, class, bytes);
}

static void shared_buffer_departed(struct vn_context *context, struct vn_link *end, uint32_t class,
                                   uint32_t bytes)
{
    vn_share_release(context, end, class, bytes);
}

/* Of a link's class where it ends. All else about the link is PFC's. */
static const struct vn_flow_control vn_flow_control_shared_buffer = {
    .admitted = shared_buffer_admitted,
    .departed = shared_buffer_departed,
};

void vn_shared_buffer_count(const struct vn_context *context, const struct vn_shared_buffer *buffer,
                            struct vn_shared_buffer_stats *out)
{
    *out = (struct vn_shared_buffer_stats){
        .size_bytes = buffer->size,
        .shared_bytes = buffer->shared,
        .used_bytes = buffer->used,
        .used_max_bytes = buffer->used_max,
        .paused = buffer->n_paused,
    };
    for (uint32_t i = 0; i < buffer->n_shares; i++) {
        const struct vn_share *share = &context->shares[buffer->shares[i]];
        const struct vn_class *in = &context->links[share->end].classes[share->class];
        out->held_bytes += in->held_bytes;
        out->summed_bytes += vn_share_used(share, in);
        out->headroom_bytes += share->in_headroom;
        if (share->in_headroom_max > out->headroom_max_bytes)
            out->headroom_max_bytes = share->in_headroom_max;
    }
}
