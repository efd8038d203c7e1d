/* Packets of any bytes through a switch without interfaces, clock and threads: what
 * fuzz_packets.py calls.
 *
 * An input is a row of packets: two bytes, big endian: the ingress port (3 bits), length &
 * 0x1fff; the frame. Lengths beyond the largest frame, or the input, are cut. State is the same
 * at the start of each input, so that a crash can be repeated. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { TURNS = 16, PORTS = 8 };

static struct sw_switch *target;

/* One turn of the worker, a tenth of a millisecond later. */
static void turn(struct sw_switch *sw)
{
    sw->clock_ns += 100000;
    sw_run_input(sw);
    for (uint32_t i = 0; i < sw->tm.n_active; i++) sw_run_port(sw, sw->tm.ports[sw->tm.active[i]]);
}

static void reset(struct sw_switch *sw)
{
    struct sw_instance *instance = sw->instance;
    for (uint32_t i = 0; i < instance->program->n_registers; i++) {
        memset(instance->registers[i].cells, 0,
               (size_t)instance->registers[i].size * instance->registers[i].cell_bytes);
    }
    instance->rng[0] = instance->rng[1] = 1;
    sw->clock_ns = sw->origin_ns + 1000000;
    for (uint32_t i = 0; i < sw->tm.n_active; i++) {
        struct sw_tm_port *port = sw->tm.ports[sw->tm.active[i]];
        port->free_ns = port->released[0] = port->released[1] = 0;
        for (uint32_t q = 0; q < SW_PRIORITIES; q++)
            port->queues[q].free_ns = port->queues[q].round = 0;
    }
}

/* libFuzzer's entry point. */
int fuzz_packets(const uint8_t *data, size_t size)
{
    struct sw_switch *sw = target;
    reset(sw);
    while (size >= 2) {
        uint32_t word = (uint32_t)data[0] << 8 | data[1], length = word & 0x1fff;
        data += 2, size -= 2;
        /* the largest are hard to reach otherwise */
        if (word & 0x1000) length = SW_MAX_FRAME - (length & 0xfff);
        uint8_t *frame = calloc(1, length + 1);
        uint32_t copied = length < size ? length : (uint32_t)size;
        memcpy(frame, data, copied);
        data += copied, size -= copied;
        struct sw_pkt *pkt = sw_pkt_copy_bytes(&sw->pool, frame, length);
        free(frame);
        if (pkt == NULL) abort(); /* the pool can't be empty: something leaks */
        sw_receive(sw, pkt, (uint16_t)(word >> 13) % PORTS);
        turn(sw);
    }
    for (int i = 0; i < TURNS; i++) turn(sw);
    sw_flush(sw);
    if (sw->pool.used != 0) abort(); /* a packet has leaked */
    struct sw_event event;
    static uint8_t text[1 << 14];
    while (sw_events_get(&sw->events, 0, &event, text, sizeof text) == 1) {
    }
    return 0;
}

void fuzz_packets_of(struct sw_switch *sw) { target = sw; }
