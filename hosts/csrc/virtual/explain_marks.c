/* Why packets have marks, or none. */
#include "virtual/explain_state.h"

static uint8_t ecn_before(const struct note *note) { return note->came >> ECN_SHIFT & 3; }
static uint8_t ecn_after(const struct vn_context *context, uint32_t id)
{
    return vn_frame(context, vn_packet_at(context, id))[WIRE_TOS] & 3;
}

static enum vn_mark_reason reason_of(const struct vn_context *context, const struct vn_link *link,
                                     uint32_t id)
{
    const struct note *note = note_of(context, id);
    uint64_t opened = line_of(context, link, class_of(note))->opened, came = came_at(note);
    if (ecn_before(note) == ECN_CE) return VN_MARK_BEFORE;
    if (ecn_after(context, id) == ECN_CE) return VN_MARK_HERE;
    if (note->came & FOUND_EMPTY) return VN_MARK_EMPTY;
    return opened > came || (opened == came && opened != 0 && !(note->came & JUST_OPENED))
               ? VN_MARK_HELD
               : VN_MARK_OTHER;
}

static enum vn_mark_ahead ahead_of(const struct vn_context *context, const struct vn_link *link,
                                   uint32_t id)
{
    uint64_t without = load_queue(note_of(context, id)).without;
    if (!is_ordered(link)) return VN_AHEAD_UNKNOWN;
    if (without == 0) return VN_AHEAD_NOTHING;
    return without <= vn_duration(link, vn_packet_at(context, id)->bytes) ? VN_AHEAD_FRAME
                                                                          : VN_AHEAD_MORE;
}

static void count_mark(const struct vn_context *context, const struct vn_link *link, uint32_t id)
{
    struct vn_explain_marks *marks = &explain_of(context)->marks[link - context->links];
    marks->packets[reason_of(context, link, id)][ahead_of(context, link, id)]++;
}
