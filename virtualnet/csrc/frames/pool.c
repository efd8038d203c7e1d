/* Memory of packets, and of whatever else is used from its start and never moves: one area each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "frames/packets.h"

/* LEAST of anything whose size is a multiple of 8 are whole pages, of 64 KB too. */
enum { MOST_PACKETS = 1 << 22, LEAST = 1 << 14 };

/* Where address space is limited (ulimit -v), it is for as many items as fit a quarter of what is left, since there is more to come.
 * The kernel adds memory as it is touched, if it can in huge pages. */
void *vn_reserve(struct vn_context *context, const char *what, size_t item_bytes, uint32_t *most)
{
    for (; *most >= LEAST; *most /= 2) {
        size_t bytes = item_bytes * *most;
        char *area = mmap(NULL, 4 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (area == MAP_FAILED) continue;
        munmap(area + bytes, 3 * bytes);
        madvise(area, bytes, MADV_HUGEPAGE);
        return area;
    }
    vn_fail(context, "no address space for %s: %s; raise its limit (ulimit -v)", what, strerror(errno));
    return NULL;
}

bool vn_pool_init(struct vn_context *context, uint32_t between)
{
    struct vn_pool *pool = &context->pool;
    pool->frame_at = (uint32_t)sizeof(struct vn_packet) + between;
    pool->stored = pool->whole != 0 ? pool->whole : pool->inplace ? SW_INPLACE_DEPTH : VN_STORED;
    pool->lines = (pool->frame_at + pool->stored + 63) / 64;
    pool->most_packets = MOST_PACKETS;
    pool->base = vn_reserve(context, "packets", (size_t)pool->lines * 64, &pool->most_packets);
    return pool->base != NULL;
}

void vn_pool_free(struct vn_pool *pool)
{
    if (pool->base != NULL) munmap(pool->base, (size_t)pool->lines * 64 * pool->most_packets);
    free(pool->lost);
}

bool vn_pool_counts(struct vn_pool *pool, uint32_t flow)
{
    if (flow < pool->n_lost) return true;
    uint32_t n = flow + flow / 8 + 64;
    uint64_t *lost = realloc(pool->lost, n * sizeof *lost);
    if (lost == NULL) return false;
    memset(lost + pool->n_lost, 0, (n - pool->n_lost) * sizeof *lost);
    pool->lost = lost;
    pool->n_lost = n;
    return true;
}

uint32_t vn_packet_grow(struct vn_context *context)
{
    struct vn_pool *pool = &context->pool;
    VN_ASSERT(pool->free_packet == VN_NONE && pool->in_use == pool->n_packets && pool->n_packets <= pool->most_packets);
    if (pool->n_packets == pool->most_packets) {
        const char *why = pool->most_packets < MOST_PACKETS ? "; raise the limit of address space (ulimit -v)" : "";
        vn_fail(context, "more than %u packets are inside the network%s", pool->most_packets, why);
        return VN_NONE;
    }
    return pool->n_packets++ * pool->lines;
}
