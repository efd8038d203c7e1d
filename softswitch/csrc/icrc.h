/* RoCEv2's invariant CRC (InfiniBand Architecture 1.2.1, Annex A17.3.3), of frames from Ethernet to
 * the ICRC, without VLAN tag and IPv4 options. */
#ifndef SOFTSWITCH_ICRC_H
#define SOFTSWITCH_ICRC_H

#include <stdbool.h>
#include <string.h>

#include "crc32.h"

enum {
    ICRC_BYTES = 4,
    ICRC_HEADERS = 54, /* of Ethernet, IPv4, UDP, BTH */
    /* behind them, in data (UC's or RC's SEND Only) with the lowest bit of FECN's and BECN's byte;
     * switches write there */
    ICRC_TELEMETRY = 44,
    ICRC_UC_SEND_ONLY = 0x24,
    ICRC_RC_SEND_ONLY = 0x04,
};

/* How many bytes of telemetry a frame has; none, where it is too short. It has ICRC_HEADERS. */
static inline uint32_t icrc_telemetry(const uint8_t *frame, uint32_t length)
{
    enum { BTH = 42 };
    bool data = frame[BTH] == ICRC_UC_SEND_ONLY || frame[BTH] == ICRC_RC_SEND_ONLY;
    bool has =
        data && (frame[BTH + 4] & 1) != 0 && length >= ICRC_HEADERS + ICRC_TELEMETRY + ICRC_BYTES;
    return has ? ICRC_TELEMETRY : 0;
}

/* Over eight bytes of ones, for the local route header, then the packet from IPv4 on, with ones in
 * the fields that switches may change. The ICRC isn't read; `length` includes it, and is at least
 * ICRC_HEADERS + ICRC_BYTES. */
static inline uint32_t icrc(const uint8_t *frame, uint32_t length)
{
    enum { IP = 14, UDP = 34, BTH = 42, START = IP - 8 };
    uint32_t start = ICRC_HEADERS + icrc_telemetry(frame, length);
    uint8_t masked[ICRC_HEADERS + ICRC_TELEMETRY]; /* offsets as in the frame */
    memset(masked + START, 0xff, 8);
    memcpy(masked + IP, frame + IP, ICRC_HEADERS - IP);
    masked[IP + 1] = 0xff; /* TOS */
    masked[IP + 8] = 0xff; /* TTL */
    memset(masked + IP + 10, 0xff, 2); /* IPv4 checksum */
    memset(masked + UDP + 6, 0xff, 2); /* UDP checksum */
    masked[BTH + 4] = 0xff; /* FECN, BECN */
    memset(masked + ICRC_HEADERS, 0xff, start - ICRC_HEADERS);
    uint32_t crc = crc32_update(0xffffffffu, masked + START, start - START);
    return ~crc32_update(crc, frame + start, length - start - ICRC_BYTES);
}

/* Writes it where it is: at the end, the low byte first. */
static inline void icrc_store(uint8_t *frame, uint32_t length)
{
    uint32_t crc = icrc(frame, length);
    for (int i = 0; i < ICRC_BYTES; i++)
        frame[length - ICRC_BYTES + (uint32_t)i] = (uint8_t)(crc >> 8 * i);
}

#endif
