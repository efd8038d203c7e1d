/* The wire formats that the C side reads and writes. hosts/wire.py has all formats, with their sources.
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
    WIRE_ECT1 = 1, /* TCD: UE */
    WIRE_ECT0 = 2,
    WIRE_CE = 3,
};

enum wire_kind {
    WIRE_DATA,  /* a valid data packet for this host */
    WIRE_PFC,
    WIRE_BAD,   /* a malformed one of these */
    WIRE_OTHER, /* any other, including CNPs and acknowledgements, which Python parses */
};

/* A data packet. Addresses and numbers are in host order; `length` is the frame's without Ethernet padding. */
struct wire_data {
    uint32_t src_ip, flow, psn;
    uint32_t length, payload;
    uint8_t ecn;
    bool last;
    bool ack_request; /* AckReq */
    const uint8_t *src_mac;
};

/* Pause quanta; valid for the classes whose bit in `enabled` is set. */
struct wire_pfc {
    uint8_t enabled;
    uint16_t quanta[WIRE_CLASSES];
};

union wire_content {
    struct wire_data data;
    struct wire_pfc pfc;
};

enum wire_kind wire_read(const uint8_t *frame, uint32_t length, uint32_t own_ip, union wire_content *content);

/* Copies the template `model` of `length` bytes, with this PSN and AckReq bit, and computes the ICRC. */
void wire_stamp(uint8_t *frame, const uint8_t *model, uint32_t length, uint32_t psn, bool ack_request);

#endif
