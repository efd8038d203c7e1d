/* Switches of another process's part: links lead there, and no event is theirs. What such a one
 * costs here is its node and its links; it has no program, no tables and no ports. */
#include "switches/switch.h"

#include <errno.h>

#include "links/build.h"

static bool elsewhere_attach(struct vn_context *context, struct vn_node *node, uint16_t port,
                             uint32_t link)
{
    (void)context, (void)node, (void)port, (void)link;
    return true;
}

static void elsewhere_may_send(struct vn_context *context, struct vn_link *link, uint32_t number)
{
    (void)context, (void)link, (void)number;
}

static const struct vn_node_kind vn_elsewhere_kind = {
    .name = "a switch of another process",
    .holds = true,
    .attach = elsewhere_attach,
    .may_send = elsewhere_may_send,
};

int64_t vn_add_elsewhere(struct vn_context *context)
{
    if (context->pool.base != NULL)
        return vn_refuse(context, -EBUSY, "the network runs already: no switch can be added");
    struct vn_node *node = vn_node_new(context, &vn_elsewhere_kind);
    if (node == NULL) return vn_refuse(context, -ENOMEM, "out of memory");
    return node->number;
}
