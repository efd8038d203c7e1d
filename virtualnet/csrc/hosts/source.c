/* A source and a sink of frames, whatever they are: it sends each at its time, as soon as the class
 * of its link may start it, and keeps or counts what arrives. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hosts/host.h"
#include "links/build.h"
#include "time/parts.h"

/* Bytes one after the other. */
struct bytes {
    uint8_t *at;
    uint64_t n, capacity;
};

/* A frame that is to be sent, once or often: its first bytes in `bytes`, and its length. */
struct stored_frame {
    uint64_t at;
    uint16_t length, stored;
};

/* Frames of a host, one after the other: one event is pending. */
struct stream {
    uint32_t port, next, n, first;
    uint8_t class;
    uint64_t *times;
    uint32_t *which; /* NULL: all are `first` */
    uint16_t *lengths; /* NULL: the frames' own */
};

/* What has arrived at a host. */
struct incoming {
    struct vn_taken *at;
    uint64_t n, capacity;
    struct bytes bytes;
    struct vn_arrivals counts;
    bool counted; /* alone: frames aren't kept, or only until `call` has been called */
    uint64_t stay, stay_bytes; /* what was there before that */
    uint32_t call; /* the number of Python's function; VN_NONE: there is none */
    uint64_t called;
};

struct sources {
    struct bytes bytes;
    struct stored_frame *frames;
    struct stream *streams;
    struct incoming *hosts; /* by node */
    uint32_t n_frames, frames_capacity, n_streams, streams_capacity, n_hosts;
};

static struct sources *sources_of(const struct vn_context *context)
{
    return context->endpoints[VN_ENDPOINT_source];
}

static bool source_added(struct vn_context *context, struct vn_node *node)
{
    struct sources *sources = sources_of(context);
    if (sources == NULL) {
        sources = context->endpoints[VN_ENDPOINT_source] = calloc(1, sizeof *sources);
        if (sources == NULL) return false;
    }
    if (node->number < sources->n_hosts) return true;
    struct incoming *hosts = realloc(sources->hosts, (node->number + 1) * sizeof *hosts);
    if (hosts == NULL) return false;
    for (uint32_t i = sources->n_hosts; i <= node->number; i++)
        hosts[i] = (struct incoming){.call = VN_NONE};
    sources->hosts = hosts;
    sources->n_hosts = node->number + 1;
    return true;
}

/* NULL: the call is refused. */
static struct incoming *incoming_of(struct vn_context *context, uint32_t host)
{
    if (vn_host_with(context, host, VN_ENDPOINT_source) != NULL)
        return &sources_of(context)->hosts[host];
    vn_refuse(context, -EINVAL, "frames at times need a host with a link and a source");
    return NULL;
}

/* Makes room for one more of an array. False: no memory. */
static bool grow(void *array, uint32_t n, uint32_t *capacity, size_t size)
{
    if (n < *capacity) return true;
    uint32_t more = *capacity == 0 ? 64 : 2 * *capacity;
    void *larger = realloc(*(void **)array, more * size);
    if (larger == NULL) return false;
    *(void **)array = larger;
    *capacity = more;
    return true;
}

/* Returns where they are; VN_NEVER: no memory. */
static uint64_t append(struct bytes *to, const uint8_t *from, uint64_t n)
{
    if (to->n + n > to->capacity) {
        uint64_t capacity = 2 * (to->n + n) + 4096;
        uint8_t *larger = realloc(to->at, capacity);
        if (larger == NULL) return VN_NEVER;
        to->at = larger;
        to->capacity = capacity;
    }
    memcpy(to->at + to->n, from, n);
    to->n += n;
    return to->n - n;
}

int64_t vn_source_keep(struct vn_context *context, const uint8_t *frame, uint32_t stored,
                       uint32_t length)
{
    struct sources *sources = sources_of(context);
    if (sources == NULL)
        return vn_refuse(context, -EINVAL, "frames at times need a host with a link and a source");
    int code = vn_allow_frame(context, length);
    if (code != 0) return code;
    uint32_t most = context->pool.whole != 0 ? context->pool.whole : VN_STORED;
    if (stored > most || stored > length)
        return vn_refuse(context, -EINVAL, "more bytes than a frame stores");
    if (!grow(&sources->frames, sources->n_frames, &sources->frames_capacity,
              sizeof *sources->frames)) {
        return vn_refuse(context, -ENOMEM, "out of memory");
    }
    uint64_t at = append(&sources->bytes, frame, stored);
    if (at == VN_NEVER) return vn_refuse(context, -ENOMEM, "out of memory");
    sources->frames[sources->n_frames] =
        (struct stored_frame){at, (uint16_t)length, (uint16_t)stored};
    return sources->n_frames++;
}

/* A copy of an array; NULL: there is none, or no memory. */
static void *copy_of(const void *array, size_t bytes)
{
    void *copy = array != NULL ? malloc(bytes) : NULL;
    return copy != NULL ? memcpy(copy, array, bytes) : NULL;
}

static const char *stream_fault(const struct vn_context *context, uint32_t n, const uint64_t *times,
                                uint32_t first, const uint32_t *which)
{
    uint32_t n_frames = sources_of(context)->n_frames;
    if (n == 0 || (which == NULL && first >= n_frames)) return "no such frame";
    if (times[0] < context->now) return "that time is over";
    for (uint32_t i = 1; i < n; i++) {
        if (times[i] < times[i - 1]) return "frames are sent in the order of their times";
    }
    for (uint32_t i = 0; which != NULL && i < n; i++) {
        if (which[i] >= n_frames) return "no such frame";
    }
    return NULL;
}

int vn_source_frames(struct vn_context *context, uint32_t port, uint8_t class, uint32_t n,
                     const uint64_t *times, uint32_t first, const uint32_t *which,
                     const uint16_t *lengths)
{
    struct sources *sources = sources_of(context);
    uint32_t host = port < context->n_links ? context->links[port].node : VN_NONE;
    if (incoming_of(context, host) == NULL) return -EINVAL;
    if (class >= VN_CLASSES) return vn_refuse(context, -EINVAL, "no such class");
    const char *fault = stream_fault(context, n, times, first, which);
    if (fault != NULL) return vn_refuse(context, -EINVAL, fault);
    for (uint32_t i = 0; lengths != NULL && i < n; i++) {
        int code = lengths[i] == 0 ? vn_refuse(context, -EINVAL, "a frame of no bytes")
                                   : vn_allow_frame(context, lengths[i]);
        if (code != 0) return code;
    }
    if (sources->n_streams == 1u << 24)
        return vn_refuse(context, -ENOSPC, "too many frames at times");
    if (!grow(&sources->streams, sources->n_streams, &sources->streams_capacity,
              sizeof *sources->streams)) {
        return vn_refuse(context, -ENOMEM, "out of memory");
    }
    if (!vn_here(context, host)) { /* another process sends them */
        sources->streams[sources->n_streams++] = (struct stream){.port = port};
        return 0;
    }
    struct stream stream = {.port = port,
                            .n = n,
                            .first = first,
                            .class = class,
                            .times = copy_of(times, n * sizeof *times)};
    stream.which = copy_of(which, n * sizeof *which);
    stream.lengths = copy_of(lengths, n * sizeof *lengths);
    if (stream.times == NULL || (which != NULL && stream.which == NULL) ||
        (lengths != NULL && stream.lengths == NULL)) {
        free(stream.times), free(stream.which), free(stream.lengths);
        return vn_refuse(context, -ENOMEM, "out of memory");
    }
    sources->streams[sources->n_streams] = stream;
    vn_endpoint_at(context, host, times[0], VN_EV_START, VN_ENDPOINT_source, sources->n_streams++);
    return 0;
}

static void end_stream(struct stream *stream)
{
    free(stream->times), free(stream->which), free(stream->lengths);
    stream->times = NULL, stream->which = NULL, stream->lengths = NULL;
}

static void source_start(struct vn_context *context, uint32_t number)
{
    const struct sources *sources = sources_of(context);
    struct stream *stream = &sources->streams[number];
    uint32_t i = stream->next++, id = vn_packet_new(context);
    if (id == VN_NONE) return;
    VN_ASSERT(number < sources->n_streams && i < stream->n && stream->times[i] == context->now);
    const struct stored_frame *frame =
        &sources->frames[stream->which != NULL ? stream->which[i] : stream->first];
    uint32_t length = stream->lengths != NULL ? stream->lengths[i] : frame->length,
             room = context->pool.stored;
    if (context->pool.whole != 0 && length < room) room = length;
    uint32_t stored = frame->stored < room ? frame->stored : room;
    struct vn_packet *packet = vn_packet_at(context, id);
    memcpy(vn_frame(context, packet), sources->bytes.at + frame->at, stored);
    memset(vn_frame(context, packet) + stored, 0, room - stored);
    packet->bytes = (uint16_t)length;
    packet->flow = VN_NONE;
    packet->data = true;
    packet->stamp = context->now;
    uint32_t port = stream->port, class = stream->class;
    if (stream->next < stream->n) {
        vn_endpoint_at(context, context->links[port].node, stream->times[stream->next], VN_EV_START,
                       VN_ENDPOINT_source, number);
    } else {
        end_stream(stream);
    }
    vn_host_send(context, port, id, class);
}

static uint32_t source_node_of(const struct vn_context *context, enum vn_kind kind, uint32_t number)
{
    (void)kind;
    return context->links[sources_of(context)->streams[number].port].node;
}

/* ---- what arrives ---- */

/* False: no memory. */
static bool keep(struct vn_context *context, struct incoming *in, struct vn_packet *packet)
{
    if (in->n == in->capacity) {
        uint64_t capacity = in->capacity == 0 ? 64 : 2 * in->capacity;
        struct vn_taken *at = realloc(in->at, capacity * sizeof *at);
        if (at == NULL) return false;
        in->at = at;
        in->capacity = capacity;
    }
    uint32_t stored = packet->bytes < context->pool.stored ? packet->bytes : context->pool.stored;
    uint64_t place = append(&in->bytes, vn_frame(context, packet), stored);
    if (place == VN_NEVER) return false;
    in->at[in->n++] = (struct vn_taken){
        .time_ps = context->now, .at = place, .length = packet->bytes, .stored = stored};
    return true;
}

enum { ETHER_TYPE = 12, ECN = 15, CE = 3 }; /* of a frame of IPv4 */

static void count(struct vn_arrivals *counts, const struct vn_packet *packet, const uint8_t *frame,
                  uint64_t now)
{
    bool ipv4 = packet->bytes > ECN && frame[ETHER_TYPE] == 0x08 && frame[ETHER_TYPE + 1] == 0;
    if (ipv4 && (frame[ECN] & CE) == CE) counts->marked_ce++;
    if (counts->frames++ == 0) counts->first_ps = now;
    counts->bytes += packet->bytes;
    counts->last_ps = now;
    if (packet->stamp > now) return; /* not a source's: a controller's, or a generator's */
    uint64_t delay = now - packet->stamp;
    counts->timed++;
    counts->delay_ps += delay;
    if (delay > counts->longest_ps) counts->longest_ps = delay;
}

static bool source_take(struct vn_context *context, struct vn_node *node, uint32_t port,
                        uint32_t id)
{
    (void)port;
    struct incoming *in = &sources_of(context)->hosts[node->number];
    struct vn_packet *packet = vn_packet_at(context, id);
    VN_ASSERT(in->n <= in->capacity && (in->n == 0 || in->at[in->n - 1].time_ps <= context->now));
    if ((!in->counted || in->call != VN_NONE) && !keep(context, in, packet)) {
        vn_fail(context, "out of memory for frames that have arrived");
        return false;
    }
    count(&in->counts, packet, vn_frame(context, packet), context->now);
    vn_packet_free(context, id);
    if (in->call != VN_NONE && in->called != context->now) {
        in->called = context->now;
        vn_at(context, VN_NONE, context->now, VN_EV_RETURN, in->call);
    }
    return true;
}

uint64_t vn_taken(const struct vn_context *context, uint32_t host, const struct vn_taken **at,
                  const uint8_t **bytes)
{
    const struct sources *sources = sources_of(context);
    if (sources == NULL || host >= sources->n_hosts) return 0;
    *at = sources->hosts[host].at;
    *bytes = sources->hosts[host].bytes.at;
    return sources->hosts[host].n;
}

int vn_source_count(struct vn_context *context, uint32_t host, bool alone)
{
    struct incoming *in = incoming_of(context, host);
    if (in == NULL) return -EINVAL;
    in->counted = alone;
    in->stay = in->n;
    in->stay_bytes = in->bytes.n;
    return 0;
}

int64_t vn_source_forget(struct vn_context *context, uint32_t host)
{
    struct incoming *in = incoming_of(context, host);
    if (in == NULL) return -EINVAL;
    if (in->counted) {
        in->n = in->stay;
        in->bytes.n = in->stay_bytes;
    }
    return (int64_t)in->n;
}

int vn_source_call(struct vn_context *context, uint32_t host, uint32_t number)
{
    struct incoming *in = incoming_of(context, host);
    if (in == NULL) return -EINVAL;
    if (context->order.by_node) return vn_refuse(context, -EINVAL, VN_STRICT_ONLY);
    in->call = number;
    in->called = VN_NEVER;
    return 0;
}

int vn_source_arrivals(const struct vn_context *context, uint32_t host, struct vn_arrivals *out)
{
    const struct sources *sources = sources_of(context);
    if (sources == NULL || host >= sources->n_hosts) return -ENOENT;
    *out = sources->hosts[host].counts;
    return 0;
}

static void source_free(struct vn_context *context)
{
    struct sources *sources = sources_of(context);
    if (sources == NULL) return;
    for (uint32_t i = 0; i < sources->n_hosts; i++) {
        free(sources->hosts[i].at);
        free(sources->hosts[i].bytes.at);
    }
    for (uint32_t i = 0; i < sources->n_streams; i++) end_stream(&sources->streams[i]);
    free(sources->hosts);
    free(sources->streams);
    free(sources->frames);
    free(sources->bytes.at);
    free(sources);
}

static const struct vn_endpoint_kind vn_endpoint_source = {
    .name = "source",
    .added = source_added,
    .take = source_take,
    .start = source_start,
    .node_of = source_node_of,
    .free = source_free,
};
