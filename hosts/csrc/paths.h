/* How the packets of a flow choose among equal paths: by the entropy in their UDP source port,
 * of which a flow has several. No clock and no socket, as in transport.h; no random number
 * either: hosts/paths.py draws the ports.
 *
 * A packet takes the port of the one before, or, where a flowlet ends, the next one of the
 * flow's. A port has a count of penalties, one for each mark of an acknowledgement that came
 * back with it, PATHS_NACK for a trimmed packet, and is left out while it has any: of ports that
 * are left out in a row, the first one's count falls by one. That is Ultra Ethernet's bitmap as
 * uet-htsim has it; with a count of each one that is left out, packets crowd on too few paths. */
#ifndef HOSTS_PATHS_H
#define HOSTS_PATHS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The low byte of a port is its place among its flow's. */
enum { PATHS_MOST = 256, PATHS_MARK = 1, PATHS_NACK = 4, PATHS_PENALTY_MOST = 15 };

struct paths {
    /* a packet that starts more than `gap` after the latest one begins a flowlet; 0: each packet
     * does */
    uint64_t gap, last;
    uint32_t n, at; /* ports; the one in use */
    bool avoids;
    uint8_t *skips; /* by port: how many more times it is left out */
    uint16_t ports[];
};

/* NULL: no memory. `free` frees it. */
static inline struct paths *paths_new(const uint16_t *ports, uint32_t n, uint64_t gap, bool avoids)
{
    struct paths *paths = calloc(1, sizeof *paths + n * (sizeof *ports + 1));
    if (paths == NULL) return NULL;
    *paths = (struct paths){
        .gap = gap, .n = n, .at = n - 1, .avoids = avoids, .skips = (uint8_t *)(paths->ports + n)};
    memcpy(paths->ports, ports, n * sizeof *ports);
    return paths;
}

/* The port of a packet that starts now. */
static inline uint16_t paths_next(struct paths *paths, uint64_t now)
{
    bool stays = paths->gap != 0 && now - paths->last <= paths->gap;
    paths->last = now;
    bool first = true;
    for (uint32_t i = 0; !stays && i < paths->n; i++) {
        paths->at = paths->at + 1 == paths->n ? 0 : paths->at + 1;
        if (paths->skips[paths->at] == 0) break;
        if (first) paths->skips[paths->at]--;
        first = false;
    }
    return paths->ports[paths->at];
}

/* What came back with this port: a mark, or that a packet was trimmed. */
static inline void paths_avoid(struct paths *paths, uint16_t port, uint32_t penalty)
{
    uint32_t at = port % PATHS_MOST;
    if (!paths->avoids || at >= paths->n || paths->ports[at] != port) return;
    uint32_t skips = paths->skips[at] + penalty;
    paths->skips[at] = (uint8_t)(skips < PATHS_PENALTY_MOST ? skips : PATHS_PENALTY_MOST);
}

#endif
