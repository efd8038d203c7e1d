/* The bench's measurements without interfaces: pipeline and lookups. Loaded after the runtime
 * library. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "table.h"

enum { BATCH = 64, KEYS = 20000, ROUNDS = 20 };

enum { ADDRESSES = 26 /* of an Ethernet frame: where IPv4's source and destination are */ };

/* Packets a second through ingress, queue, egress and deparser, for a frame in the CPU's caches;
 * the worker doesn't run. The frame must leave by a port without an interface. `routes`:
 * destinations, used in rotation; the source is the destination's complement, which leaves the IPv4
 * checksum unchanged, so the frame's must be right for such a pair. */
double core_pipeline(struct sw_switch *sw, uint16_t port, uint8_t *frame, uint32_t length,
                     uint32_t batches, const uint32_t *routes, uint32_t n_routes)
{
    uint32_t route = 0;
    uint64_t start = sw_clock_ns();
    for (uint32_t n = 0; n < batches; n++) {
        sw->clock_ns = sw_clock_ns();
        for (int i = 0; i < BATCH; i++) {
            uint32_t pair[2] = {~routes[route], routes[route]};
            memcpy(frame + ADDRESSES, pair, sizeof pair);
            route = route + 1 == n_routes ? 0 : route + 1;
            struct sw_pkt *pkt = sw_pkt_copy_bytes(&sw->pool, frame, length);
            if (pkt != NULL) sw_receive(sw, pkt, port);
        }
        for (uint32_t i = 0; i < sw->tm.n_active; i++)
            sw_run_port(sw, sw->tm.ports[sw->tm.active[i]]);
    }
    return (double)batches * BATCH * 1e9 / (double)(sw_clock_ns() - start);
}

static uint64_t state = 88172645463325252u;

static uint32_t draw(void) /* xorshift */
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static uint32_t bits(uint32_t n) { return n == 0 ? 0 : ~0u << (32 - n); }

/* Looks all keys up ROUNDS times, as generated code does. Returns the number of hits. */
static inline __attribute__((always_inline)) uint32_t matches(const struct sw_table *table,
                                                              const uint8_t (*keys)[4],
                                                              bool dependent, bool exact)
{
    uint32_t hits = 0, at = 0;
    for (int i = 0; dependent && i < ROUNDS * KEYS; i++) {
        const struct sw_entry *entry =
            exact ? sw_lookup_exact(table, keys[at], 4) : sw_lookup(table, keys[at], 4);
        hits += entry != NULL;
        /* a data dependency: the bit is 0, which the compiler can't know */
        at += 1 + ((uint32_t)(uintptr_t)entry & 1);
        if (at >= KEYS) at = 0;
    }
    for (int i = 0; !dependent && i < ROUNDS * KEYS; i++) {
        const uint8_t *key = keys[i % KEYS];
        hits += (exact ? sw_lookup_exact(table, key, 4) : sw_lookup(table, key, 4)) != NULL;
    }
    return hits;
}

/* Mean time of a lookup in a table with a 32-bit key, ns; all keys match an entry. Negative: no
 * memory. Prefixes have 8 to 32 bits, ternary entries one of 32 masks; the other key bits are
 * random. `dependent`: each lookup depends on the one before (latency instead of throughput). */
double core_lookup(enum sw_match kind, uint32_t entries, bool dependent)
{
    const struct sw_key_field field = {kind, 32};
    const struct sw_table_spec spec = {.name = "bench",
                                       .kind = kind,
                                       .n_fields = 1,
                                       .fields = &field,
                                       .key_bytes = 4,
                                       .size = entries,
                                       .default_action = UINT32_MAX};
    static const struct sw_action_spec action = {"none", 0, NULL};
    const struct sw_program program = {.n_actions = 1, .actions = &action};
    const char *why;
    struct sw_table *table = sw_table_new(&spec, &program, 1, &why);
    uint32_t (*known)[2] = malloc((size_t)entries * sizeof *known); /* value, mask */
    uint8_t (*keys)[4] = malloc(KEYS * sizeof *keys);
    double ns = -1;
    uint32_t hits = 0;
    for (uint32_t n = 0, tries = 0;
         table != NULL && known != NULL && keys != NULL && n < entries && tries < 100 * entries;
         tries++) {
        uint32_t length = 8 + draw() % 25, mask = kind == SW_LPM     ? bits(length)
                                                  : kind == SW_EXACT ? ~0u
                                                                     : bits(1 + n % 32);
        uint32_t value = draw() & mask;
        uint8_t key[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
                          (uint8_t)value};
        uint8_t wanted[4] = {(uint8_t)(mask >> 24), (uint8_t)(mask >> 16), (uint8_t)(mask >> 8),
                             (uint8_t)mask};
        if (sw_table_insert(table, key, wanted, (int32_t)length, tries, 0, NULL, 0, &why) >= 0) {
            known[n][0] = value;
            known[n++][1] = mask;
        }
        if (n < entries) continue;
        for (int i = 0; i < KEYS; i++) {
            const uint32_t *row = known[draw() % entries];
            uint32_t any = __builtin_bswap32(row[0] | (draw() & ~row[1]));
            memcpy(keys[i], &any, sizeof any);
        }
        uint64_t start = sw_clock_ns();
        hits = kind == SW_EXACT ? matches(table, keys, dependent, true)
                                : matches(table, keys, dependent, false);
        ns = (double)(sw_clock_ns() - start) / ((double)ROUNDS * KEYS);
    }
    if (hits != ROUNDS * KEYS) ns = -1;
    sw_table_free(table);
    free(known);
    free(keys);
    return ns;
}
