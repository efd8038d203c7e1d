/* Memory of packets, and of whatever else is used from its start and never moves: one area each. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "frames/packets.h"

/* LEAST of anything whose size is a multiple of 8 are whole pages, of 64 KB too. */
enum { LEAST = 1 << 14 };

enum { VN_LIST = 256 };

/* Packets that no context has. Contexts give and take free ones in lists of VN_LIST. */
struct vn_depot {
    pthread_mutex_t lock;
    uint32_t n_packets; /* so far */
    uint32_t *lists, n_lists; /* heads of lists; NULL: there is one context, which keeps all */
};

/* Where address space is limited (ulimit -v), it is for as many items as fit a quarter of what is
 * left, since there is more to come. The kernel adds memory as it is touched, if it can in huge
 * pages. */
void *vn_reserve(struct vn_context *context, const char *items, size_t item_bytes, uint32_t *most)
{
    for (; *most >= LEAST; *most /= 2) {
        size_t bytes = item_bytes * *most;
        char *area = mmap(NULL, 4 * bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (area == MAP_FAILED) continue;
        munmap(area + bytes, 3 * bytes);
        madvise(area, bytes, MADV_HUGEPAGE);
        return area;
    }
    vn_fail(context, "no address space for %s: %s; raise its limit (ulimit -v)", items,
            strerror(errno));
    return NULL;
}

bool vn_pool_init(struct vn_context *context, uint32_t between)
{
    struct vn_pool *pool = &context->pool;
    pool->frame_at = (uint32_t)sizeof(struct vn_packet) + between;
    pool->stored = VN_LENT            ? 0
                   : pool->whole != 0 ? pool->whole
                   : pool->inplace    ? pool->depth
                                      : VN_STORED;
    pool->lines = (pool->frame_at + pool->stored + 63) / 64 + VN_OBSERVED_LINES;
    pool->most_packets = vn_most_packets(context);
    pool->base = vn_reserve(context, "packets", (size_t)pool->lines * 64, &pool->most_packets);
    if (pool->base == NULL) return false;
    pool->depot = calloc(1, sizeof *pool->depot);
    if (pool->depot == NULL) vn_fail(context, "out of memory for packets");
    else pthread_mutex_init(&pool->depot->lock, NULL);
    return !context->failed;
}

bool vn_packets_init(struct vn_context *context, uint32_t n)
{
    struct vn_depot *depot = context->pool.depot;
    context->packets = (struct vn_packets){
        .free = VN_NONE, .spare = VN_NONE, .full_at = n == 1 ? INT32_MIN : -VN_LIST};
    if (n == 1 || depot->lists != NULL) return true;
    depot->lists = malloc((context->pool.most_packets / VN_LIST + 1) * sizeof *depot->lists);
    return depot->lists != NULL;
}

void vn_packets_merge(struct vn_packets *network, struct vn_packets *part)
{
    network->in_use += part->in_use;
    network->full_at += part->in_use;
    network->flow_control += part->flow_control;
    if (network->in_use > network->most_in_use) network->most_in_use = network->in_use;
    part->full_at -= part->in_use;
    part->in_use = part->most_in_use = part->flow_control = 0;
}

int vn_pool_store(struct vn_context *context, uint32_t bytes)
{
    struct vn_pool *pool = &context->pool;
    uint32_t depth = (uint32_t)vn_aligned(bytes);
    if (pool->base != NULL && pool->stored < depth) {
        return vn_refuse(
            context, -EBUSY,
            "the network runs already, and stores less of its frames: add such a flow before");
    }
    if (pool->base == NULL && pool->depth < depth) pool->depth = depth;
    return 0;
}

/* What all packets were lent. */
static void give_back(struct vn_pool *pool)
{
    for (uint32_t i = 0; pool->depot != NULL && i < pool->depot->n_packets; i++) {
        struct vn_packet *packet =
            (struct vn_packet *)(void *)(pool->base + (size_t)i * pool->lines * 64);
        if (packet->lent != NULL) sw_pkt_free(pool->lender, packet->lent);
    }
}

void vn_pool_free(struct vn_pool *pool)
{
    if (VN_LENT) give_back(pool);
    if (pool->base != NULL) munmap(pool->base, (size_t)pool->lines * 64 * pool->most_packets);
    free(pool->lost);
    if (pool->depot != NULL) free(pool->depot->lists);
    free(pool->depot);
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

/* A list of `n` new packets, or one of the depot's: the first; VN_NONE: there is no room for so
 * many. */
static uint32_t list_of_depot(const struct vn_pool *pool, uint32_t n)
{
    struct vn_depot *depot = pool->depot;
    uint32_t id = VN_NONE, new = VN_NONE;
    pthread_mutex_lock(&depot->lock);
    if (depot->n_lists != 0) {
        id = depot->lists[--depot->n_lists];
    } else if (pool->most_packets - depot->n_packets >= n) {
        id = new = depot->n_packets * pool->lines;
        depot->n_packets += n;
    }
    pthread_mutex_unlock(&depot->lock);
    for (uint32_t i = 0; new != VN_NONE && i < n; i++, new += pool->lines) {
        ((struct vn_packet *)(void *)(pool->base + (size_t)new * 64))->next =
            i + 1 < n ? new + pool->lines : VN_NONE;
    }
    return id;
}

uint32_t vn_packet_grow(struct vn_context *context)
{
    const struct vn_pool *pool = &context->pool;
    struct vn_packets *packets = &context->packets;
    bool alone = pool->depot->lists == NULL;
    uint32_t id = packets->spare;
    VN_ASSERT(packets->free == VN_NONE);
    packets->spare = VN_NONE;
    if (id == VN_NONE) id = list_of_depot(pool, alone ? 1 : VN_LIST);
    if (id == VN_NONE && pool->limit != 0 && context->unable != NULL) return VN_NONE;
    if (id == VN_NONE) {
        const char *why = pool->most_packets < vn_most_packets(context)
                              ? "; raise the limit of address space (ulimit -v)"
                              : "";
        vn_fail(context, "more than %u packets are inside the network%s", pool->most_packets, why);
        return VN_NONE;
    }
    packets->free = vn_packet_at(context, id)->next;
    if (!alone) packets->full_at = packets->in_use;
    return id;
}

void vn_packets_full(struct vn_context *context)
{
    struct vn_packets *packets = &context->packets;
    struct vn_depot *depot = context->pool.depot;
    if (packets->spare != VN_NONE) {
        pthread_mutex_lock(&depot->lock);
        VN_ASSERT(depot->n_lists <= context->pool.most_packets / VN_LIST);
        depot->lists[depot->n_lists++] = packets->spare;
        pthread_mutex_unlock(&depot->lock);
    }
    packets->spare = packets->free;
    packets->free = VN_NONE;
    packets->full_at = packets->in_use - VN_LIST;
}

bool vn_pool_exceeds(const struct vn_pool *pool, uint32_t lines)
{
    return (uint64_t)pool->depot->n_packets * (pool->lines - VN_OBSERVED_LINES) > lines;
}
