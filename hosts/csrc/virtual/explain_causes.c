/* What waited for which port when a PAUSE fell due. */
#include "virtual/explain_state.h"

struct portion {
    uint32_t in_link;
    uint64_t bytes;
};

static void count_portion(void *to, const struct vn_packet *packet, uint32_t class)
{
    struct portion *portion = to;
    (void)class;
    if (packet->in_link == portion->in_link) portion->bytes += packet->bytes;
}

static void vn_explain_pauses(const struct vn_context *context, const struct vn_link *end,
                              uint32_t class, bool pauses)
{
    if (!explain_of(context)->causes) return;
    const struct vn_class *in = &end->classes[class];
    struct portion portion = {.in_link = vn_into(context, end)};
    struct vn_explain_cause *cause = entry(context, VN_EXPLAIN_CAUSE);
    if (cause == NULL) return;
    *cause = (struct vn_explain_cause){.time_ps = context->now,
                                       .link = portion.in_link,
                                       .out = VN_NONE,
                                       .class = class,
                                       .bytes = in->held_bytes,
                                       .kind = pauses ? VN_EXPLAIN_XOFF : VN_EXPLAIN_XON};
    if (vn_is_shared(in)) {
        cause->used = vn_share_used(vn_share_of(context, in), in);
        cause->threshold = vn_share_threshold(vn_share_of(context, in));
    } else {
        cause->used = in->held_bytes;
        cause->threshold = vn_pfc_class((struct vn_class *)in)->xoff;
    }
    const struct vn_node *node = vn_near(context, end);
    for (uint32_t i = 0; pauses && i < node->n_in; i++) {
        const struct vn_link *out = &context->links[node->in[i].link ^ 1];
        portion.bytes = 0;
        if (vn_scheduler_waiting(out, class) != 0)
            vn_scheduler_each(context, out, class, count_portion, &portion);
        if (portion.bytes == 0) continue;
        bool stopped = explain_of(context)->stopped[out - context->links];
        const struct line_class *of = line_of(context, out, class);
        uint64_t work = work_of(context, out, class);
        struct vn_explain_cause *waits = entry(context, VN_EXPLAIN_CAUSE);
        if (waits == NULL) return;
        *waits =
            (struct vn_explain_cause){.time_ps = context->now,
                                      .work_ps = work,
                                      .without_ps = stopped ? work_without(of, context->now) : work,
                                      .busy_ps = stopped ? of->busy : context->now,
                                      .bytes = portion.bytes,
                                      .link = portion.in_link,
                                      .out = (uint32_t)(out - context->links),
                                      .class = class,
                                      .kind = VN_EXPLAIN_WAITS};
    }
}
