/* Samplers: values at equal intervals, recorded without calling Python. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/net.h"

static double cell(const struct sw_register *reg, uint32_t index)
{
    const uint8_t *at = (const uint8_t *)reg->cells + (size_t)index * reg->stride;
    if (reg->cell_bytes == 1) return *at;
    if (reg->cell_bytes == 2) return *(const uint16_t *)(const void *)at;
    if (reg->cell_bytes == 4) return *(const uint32_t *)(const void *)at;
    return (double)*(const uint64_t *)(const void *)at; /* of wider cells, the low 64 bits */
}

static const struct sw_counter *counter(const struct sw_instance *instance,
                                        const struct vn_source_spec *spec)
{
    const char *cells = (const char *)instance->counters[spec->number];
    return (const void *)(cells + (size_t)spec->index * instance->counter_strides[spec->number]);
}

/* NULL: not a switch. */
static const struct sw_instance *instance_of(const struct vn_context *context, uint32_t node)
{
    return node < context->n_nodes && vn_is_switch(&context->nodes[node])
               ? vn_switch_of(&context->nodes[node])->instance
               : NULL;
}

/* NULL: no endpoint has such a value. */
static const struct vn_endpoint_kind *source_endpoint(const struct vn_context *context,
                                                      const struct vn_source_spec *spec)
{
    for (uint32_t i = 0; i < VN_ENDPOINT_KINDS; i++) {
        const struct vn_endpoint_kind *kind = vn_endpoint_kinds[i];
        if (kind->has != NULL && kind->has(context, spec)) return kind;
    }
    return NULL;
}

/* Of a link's class where it ends; NULL: it has none. */
static const struct vn_share *share_of(const struct vn_context *context,
                                       const struct vn_source_spec *spec)
{
    const struct vn_class *in = &vn_end_of(context, spec->object)->classes[spec->index];
    return vn_is_shared(in) ? vn_share_of(context, in) : NULL;
}

static double value_of(struct vn_context *context, const struct vn_source_spec *spec)
{
    if (spec->source >= VN_OF_ENDPOINTS)
        return source_endpoint(context, spec)->value(context, spec);
    const struct vn_link *link =
        spec->object < context->n_links ? &context->links[spec->object] : NULL;
    const struct sw_instance *instance = instance_of(context, spec->object);
    switch ((enum vn_source)spec->source) {
    case VN_REGISTER: return cell(&instance->registers[spec->number], spec->index);
    case VN_COUNTER_PACKETS: return (double)counter(instance, spec)->packets;
    case VN_COUNTER_BYTES: return (double)counter(instance, spec)->bytes;
    case VN_QUEUE_PACKETS: return link->classes[spec->index].queue.packets;
    case VN_QUEUE_BYTES: return (double)link->classes[spec->index].queued_bytes;
    case VN_HELD_BYTES:
        return (double)vn_end_of(context, spec->object)->classes[spec->index].held_bytes;
    case VN_XOFF_SENT: return vn_pfc_stopped_since(link, spec->index) != VN_NEVER;
    case VN_PAUSE_SENT: return vn_pfc_of(link) != NULL ? (double)vn_pfc_pauses(vn_pfc_of(link)) : 0;
    case VN_RESUME_SENT: return vn_pfc_of(link) != NULL ? (double)vn_pfc_of(link)->resume : 0;
    case VN_LINK_BYTES: return (double)link->bytes;
    case VN_OUTPUT_BYTES: return (double)vn_output_bytes(context, link, spec->index);
    case VN_POOL_USED: return (double)vn_shared_buffer_at(context, spec->object)->used;
    case VN_THRESHOLD: return (double)vn_share_threshold(share_of(context, spec));
    case VN_HEADROOM_BYTES: return (double)share_of(context, spec)->in_headroom;
    case VN_OF_ENDPOINTS: break;
    }
    return 0.0;
}

static bool source_exists(const struct vn_context *context, const struct vn_source_spec *spec)
{
    if (spec->source >= VN_OF_ENDPOINTS) return source_endpoint(context, spec) != NULL;
    if (spec->source == VN_POOL_USED) return vn_shared_buffer_at(context, spec->object) != NULL;
    if (spec->source >= VN_QUEUE_PACKETS) {
        if (spec->object >= context->n_links || spec->index >= VN_CLASSES) return false;
        bool shared = spec->source == VN_THRESHOLD || spec->source == VN_HEADROOM_BYTES;
        return !shared || share_of(context, spec) != NULL;
    }
    const struct sw_instance *instance = instance_of(context, spec->object);
    if (instance == NULL) return false;
    if (spec->source == VN_REGISTER) {
        return spec->number < instance->program->n_registers &&
               spec->index < instance->registers[spec->number].size &&
               instance->registers[spec->number].cell_bytes <= 16;
    }
    return spec->number < instance->program->n_counters &&
           spec->index < instance->counter_sizes[spec->number];
}

int64_t vn_add_sampler(struct vn_net *net, uint64_t first_ps, uint64_t last_ps, uint64_t every_ps,
                       const struct vn_source_spec *specs, uint32_t n, uint64_t most, bool largest)
{
    struct vn_context *context = &net->context;
    if (most % 2 != 0 || every_ps == 0 || first_ps < context->now || last_ps < first_ps)
        return vn_refuse(context, -EINVAL, "samples have some time between, and none is over");
    for (uint32_t i = 0; i < n; i++) {
        if (!source_exists(context, &specs[i]))
            return vn_refuse(context, -ENOENT, "no such cell, port or class to sample");
    }
    struct vn_sampler *samplers = realloc(net->samplers, (net->n_samplers + 1) * sizeof *samplers);
    if (samplers == NULL) return -ENOMEM;
    net->samplers = samplers;
    struct vn_sampler *sampler = &samplers[net->n_samplers];
    *sampler = (struct vn_sampler){
        .every = every_ps, .last = last_ps, .n_sources = n, .most = most, .largest = largest};
    sampler->sources = malloc((n + 1) * sizeof *sampler->sources);
    if (sampler->sources == NULL) return -ENOMEM;
    memcpy(sampler->sources, specs, n * sizeof *specs);
    vn_at(context, VN_NONE, first_ps, VN_EV_SAMPLE, net->n_samplers);
    return net->n_samplers++;
}

/* Drops every second sample, the first stays: of equal intervals the rest have equal ones, twice as
 * long, and the next sample is due on them. */
static void thin(struct vn_sampler *sampler)
{
    uint32_t width = sampler->n_sources;
    for (uint64_t i = 0; i < sampler->n / 2; i++) {
        double *row = sampler->values + i * width;
        const double *even = sampler->values + 2 * i * width, *odd = even + width;
        for (uint32_t k = 0; k < width; k++)
            row[k] = sampler->largest && odd[k] > even[k] ? odd[k] : even[k];
        sampler->times[i] = sampler->times[2 * i];
    }
    sampler->n /= 2;
    sampler->every *= 2;
}

void vn_sample(struct vn_context *context, uint32_t number)
{
    struct vn_sampler *sampler = &vn_net_of(context)->samplers[number];
    VN_ASSERT(sampler->n <= sampler->capacity &&
              (sampler->n == 0 || sampler->times[sampler->n - 1] < context->now));
    if (sampler->most != 0 && sampler->n == sampler->most) thin(sampler);
    if (sampler->n == sampler->capacity) {
        uint64_t capacity = sampler->capacity == 0 ? 256 : 2 * sampler->capacity;
        if (sampler->most != 0 && sampler->most < capacity) capacity = sampler->most;
        uint64_t *times = realloc(sampler->times, capacity * sizeof *times);
        if (times != NULL) sampler->times = times;
        double *values =
            realloc(sampler->values, (capacity * sampler->n_sources + 1) * sizeof *values);
        if (values != NULL) sampler->values = values;
        if (times == NULL || values == NULL) {
            vn_fail(context, "out of memory for samples");
            return;
        }
        sampler->capacity = capacity;
    }
    double *row = sampler->values + sampler->n * sampler->n_sources;
    for (uint32_t i = 0; i < sampler->n_sources; i++)
        row[i] = value_of(context, &sampler->sources[i]);
    sampler->times[sampler->n++] = context->now;
    if (sampler->every <= sampler->last - context->now)
        vn_at(context, VN_NONE, context->now + sampler->every, VN_EV_SAMPLE, number);
}

uint64_t vn_samples(const struct vn_net *net, uint32_t number, const uint64_t **times,
                    const double **values)
{
    if (number >= net->n_samplers) return 0;
    *times = net->samplers[number].times;
    *values = net->samplers[number].values;
    return net->samplers[number].n;
}
