/* The wire formats that the C side reads and writes; the engine of virtual time (virtualnet/csrc)
 * has its offsets from here, too. hosts/wire.py has all formats, with their sources. */
#ifndef HOSTS_WIRE_H
#define HOSTS_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Offsets, in bytes from the start of the frame.
 * Data, CNP, ACK:  Ethernet 14 | IPv4 20 | UDP 8 | BTH 12 | payload, or a CNP's RecRate or grant |
 *                  ICRC 4
 * CNM:             Ethernet 14 | IPv4 20 | UDP 8 | quantised feedback 2 | queue 4 | BTH 12 of the
 *                  sampled packet
 * PFC:             Ethernet 14 | opcode 2 | enabled classes 2 | pause quanta 2 each */
enum {
    WIRE_TYPE = 12,
    WIRE_IP = 14,
    WIRE_TOS = WIRE_IP + 1, /* its low two bits: ECN */
    WIRE_IP_CHECKSUM = WIRE_IP + 10,
    WIRE_SRC_IP = WIRE_IP + 12,
    WIRE_DST_IP = WIRE_IP + 16,
    WIRE_UDP = 34,
    WIRE_DST_PORT = WIRE_UDP + 2,
    WIRE_BTH = 42,
    WIRE_BECN = WIRE_BTH + 4,
    WIRE_QP = WIRE_BTH + 5,  /* 24 bits: the flow */
    WIRE_PSN = WIRE_BTH + 8, /* AckReq's byte, then 24 bits */
    WIRE_PAYLOAD = 54,
    WIRE_REC_RATE = WIRE_PAYLOAD,
    WIRE_GRANT = WIRE_PAYLOAD, /* of a CNP that has WIRE_HAS_CREDIT, instead of RecRate */
    WIRE_DEMAND = WIRE_PAYLOAD, /* before the payload, of data that has it: 32 bits, as a grant */
    WIRE_AETH = WIRE_PAYLOAD, /* syndrome, then 24 bits: the packets received in order so far */
    WIRE_TELEMETRY = WIRE_PAYLOAD, /* before the payload, of data that has WIRE_HAS_TELEMETRY */
    WIRE_ACK_TELEMETRY = WIRE_AETH + 4, /* of an ACK that is so much longer */
    WIRE_TELEMETRY_BYTES = 44, /* see telemetry.h */
    WIRE_ICRC_BYTES = 4,
    WIRE_CNM_FEEDBACK = WIRE_BTH,
    WIRE_CNM_QP = WIRE_CNM_FEEDBACK + 11,
    WIRE_PFC_OPCODE = 14,
    WIRE_PFC_ENABLED = WIRE_PFC_OPCODE + 3, /* the low byte: a bit a class */
    WIRE_PFC_QUANTA = WIRE_PFC_OPCODE + 4,
    WIRE_PFC_BYTES = 60, /* without FCS, padded to Ethernet's minimum */
};

enum {
    WIRE_MAX_FRAME = 9216,
    WIRE_CLASSES = 8,
    WIRE_PSN_RANGE = 1 << 24,
    WIRE_TYPE_IPV4 = 0x0800,
    WIRE_TYPE_MAC_CONTROL = 0x8808,
    WIRE_OPCODE_PFC = 0x0101,
    WIRE_ROCE_PORT = 4791,
    WIRE_FIRST_PORT = 0xc000, /* of UDP source ports: the last 14 bits are the flow's */
    WIRE_CNM_PORT = 0x22e7,
    WIRE_UC_SEND_ONLY = 0x24,
    /* of a flow that repeats what is lost, or whose receiver does more than AckReq says */
    WIRE_RC_SEND_ONLY = 0x04,
    WIRE_ACKNOWLEDGE = 0x11,
    WIRE_NAK = 0x60,         /* AETH's syndrome: a packet is missing, the one of the PSN */
    /* likewise, by a reserved code: the last hop has trimmed it, so its path isn't to blame */
    WIRE_NAK_LAST_HOP = 0x65,
    WIRE_LAST_HOP_DSCP = 49, /* of a packet that the last hop has trimmed, where the port says so */
    WIRE_ACKREQ = 0x80, /* in the byte at WIRE_PSN */
    /* there, a reserved bit: from this packet on a receiver counts the flow's, if it is of an RC */
    WIRE_FIRST = 0x40,
    WIRE_HAS_TELEMETRY = 1, /* in the byte at WIRE_BECN, whose other low bits are reserved */
    WIRE_HAS_CREDIT = 2, /* there: a demand or a grant follows */
    WIRE_CREDIT_BYTES = 256, /* their unit */
    /* in BTH's second byte, the solicited event bit: a flow's last packet */
    WIRE_LAST = 0x80,
    WIRE_MAX_FEEDBACK = 63, /* of a CNM: six bits */
    WIRE_QUANTUM_BITS = 512, /* PFC counts pauses in so many bit times */
    WIRE_ECT1 = 1, /* UE: undetermined */
    WIRE_ECT0 = 2,
    WIRE_CE = 3,
};

/* RFC 1071: an IPv4 header with its checksum adds up to 0xffff. */
static inline bool wire_checksum_right(const uint8_t *header)
{
    uint64_t sum = 0;
    uint32_t word;
    for (uint32_t i = 0; i < 20; i += 4) {
        memcpy(&word, header + i, 4);
        sum += word;
    }
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return ((sum & 0xffff) + (sum >> 16)) == 0xffff;
}

/* Numbers in network order. */
static inline uint32_t wire_load16(const uint8_t *at) { return (uint32_t)at[0] << 8 | at[1]; }
static inline uint32_t wire_load24(const uint8_t *at)
{
    return (uint32_t)at[0] << 16 | wire_load16(at + 1);
}
static inline uint32_t wire_load32(const uint8_t *at)
{
    return wire_load16(at) << 16 | wire_load16(at + 2);
}

static inline void wire_store16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static inline void wire_store24(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 16);
    wire_store16(at + 1, (uint16_t)value);
}

static inline void wire_store32(uint8_t *at, uint32_t value)
{
    wire_store16(at, (uint16_t)(value >> 16));
    wire_store16(at + 2, (uint16_t)value);
}

/* The length of a data packet's frame with so many bytes of payload, by the fields of its BTH: with
 * telemetry, a demand, padding, ICRC. */
static inline uint32_t wire_data_bytes(const uint8_t *frame, uint32_t payload)
{
    uint32_t has = frame[WIRE_BECN], padding = frame[WIRE_BTH + 1] >> 4 & 3;
    uint32_t before =
        (has & WIRE_HAS_TELEMETRY ? WIRE_TELEMETRY_BYTES : 0u) + (has & WIRE_HAS_CREDIT ? 4u : 0u);
    return WIRE_PAYLOAD + before + payload + padding + WIRE_ICRC_BYTES;
}

/* Whether an acknowledgement, which it is, is a NAK. */
static inline bool wire_refuses(const uint8_t *frame)
{
    return frame[WIRE_AETH] == WIRE_NAK || frame[WIRE_AETH] == WIRE_NAK_LAST_HOP;
}

enum wire_kind {
    WIRE_DATA, /* a valid data packet for this host */
    WIRE_PFC,
    /* for this host, but no data: claims to be a CNP, an acknowledgement or a CNM, which Python
     * parses */
    WIRE_NOTIFICATION,
    WIRE_BAD, /* malformed data or PFC, or MAC control other than PFC, as 802.3x PAUSE */
    WIRE_OTHER, /* any other */
};

/* A data packet. Addresses and numbers are in host order; `length` is the frame's without Ethernet
 * padding. */
struct wire_data {
    uint32_t src_ip, flow, psn;
    uint32_t length, payload;
    uint8_t ecn;
    bool last;
    bool ack_request; /* AckReq */
    bool reliable, first; /* of an RC; WIRE_FIRST */
    const uint8_t *telemetry; /* NULL: it has no room for it */
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

enum wire_kind wire_read(const uint8_t *frame, uint32_t length, uint32_t own_ip,
                         union wire_content *content);

/* Copies the template `model` of `length` bytes, with this PSN and these bits of the byte before
 * it, and computes the ICRC. */
void wire_stamp(uint8_t *frame, const uint8_t *model, uint32_t length, uint32_t psn, uint8_t bits);

#endif
