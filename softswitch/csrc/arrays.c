/* The control plane's calls: cells of counters and registers. */
#include <errno.h>
#include <string.h>

#include "internal.h"

static bool within(uint32_t first, uint32_t n, uint32_t size)
{
    return first <= size && n <= size - first;
}

/* Copies n cells, `stride` bytes apart, to or from a dense array. */
static void copy_strided(char *cells, size_t stride, char *array, size_t size, uint32_t n, bool out)
{
    for (uint32_t i = 0; i < n; i++, cells += stride, array += size) {
        if (out) memcpy(array, cells, size);
        else memcpy(cells, array, size);
    }
}

static int copy_counters(struct sw_switch *sw, uint32_t number, uint32_t first, uint32_t n,
                         struct sw_counter *out, const struct sw_counter *in)
{
    sw_lock(sw);
    const struct sw_instance *instance = sw->instance;
    int status = instance == NULL || number >= instance->program->n_counters ? -ENOENT
                 : within(first, n, instance->counter_sizes[number])         ? 0
                                                                             : -ERANGE;
    if (status == 0 && n != 0) {
        size_t stride = instance->counter_strides[number];
        char *cells = (char *)instance->counters[number] + first * stride;
        copy_strided(cells, stride, out != NULL ? (char *)out : (char *)(uintptr_t)in, sizeof *out,
                     n, out != NULL);
    }
    sw_unlock(sw);
    return status;
}

int sw_counter_read(struct sw_switch *sw, uint32_t counter, uint32_t first, uint32_t n,
                    struct sw_counter *out)
{
    return copy_counters(sw, counter, first, n, out, NULL);
}

int sw_counter_write(struct sw_switch *sw, uint32_t counter, uint32_t first, uint32_t n,
                     const struct sw_counter *in)
{
    return copy_counters(sw, counter, first, n, NULL, in);
}

static int copy_cells(struct sw_switch *sw, uint32_t number, uint32_t first, uint32_t n, void *out,
                      const void *in)
{
    sw_lock(sw);
    const struct sw_instance *instance = sw->instance;
    int status = -ENOENT;
    if (instance != NULL && number < instance->program->n_registers) {
        const struct sw_register *reg = &instance->registers[number];
        status = within(first, n, reg->size) ? 0 : -ERANGE;
        if (status == 0 && n != 0) {
            char *cells = (char *)reg->cells + (size_t)first * reg->stride;
            char *array = out != NULL ? out : (char *)(uintptr_t)in;
            copy_strided(cells, reg->stride, array, reg->cell_bytes, n, out != NULL);
        }
    }
    sw_unlock(sw);
    return status;
}

int sw_register_read(struct sw_switch *sw, uint32_t reg, uint32_t first, uint32_t n, void *out)
{
    return copy_cells(sw, reg, first, n, out, NULL);
}

int sw_register_write(struct sw_switch *sw, uint32_t reg, uint32_t first, uint32_t n,
                      const void *in)
{
    return copy_cells(sw, reg, first, n, NULL, in);
}
