/* What each packet needs of the formats on the wire: hosts/wire.py has them whole, and says where they come from.
 *
 * Bytes of a data packet:  0 Ethernet 14 | 14 IPv4 20 | 34 UDP 8 | 42 BTH 12 | 54 payload | ICRC 4. */
#ifndef HOSTS_WIRE_H
#define HOSTS_WIRE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    WIRE_MAX_FRAME = 9216,
    WIRE_CLASSES = 8,
    WIRE_PSN_RANGE = 1 << 24,
    WIRE_ECT1 = 1, /* TCD's mark UE */
    WIRE_ECT0 = 2,
    WIRE_CE = 3,
};

enum wire_kind {
    WIRE_DATA,  /* a data packet for this host, all of it as it should be */
    WIRE_PFC,
    WIRE_BAD,   /* claims to be one of these, and isn't */
    WIRE_OTHER, /* anything else: notifications and acknowledgements too, which Python reads */
};

/* A data packet. Addresses and numbers are in host order; `length` is the frame's, without padding behind it. */
struct wire_data {
    uint32_t src_ip, flow, psn;
    uint32_t length, payload;
    uint8_t ecn;
    bool last;
    bool asks; /* for an acknowledgement */
    const uint8_t *src_mac;
};

/* Pause quanta of the classes whose bit in `enabled` is set. */
struct wire_pfc {
    uint8_t enabled;
    uint16_t quanta[WIRE_CLASSES];
};

union wire_content {
    struct wire_data data;
    struct wire_pfc pfc;
};

enum wire_kind wire_read(const uint8_t *frame, uint32_t length, uint32_t own_ip, union wire_content *content);

/* A packet like `model`, of `length` bytes, but for its PSN and whether it asks for an acknowledgement. */
void wire_stamp(uint8_t *frame, const uint8_t *model, uint32_t length, uint32_t psn, bool asks);

#endif
