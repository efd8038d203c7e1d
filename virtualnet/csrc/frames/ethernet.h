/* Formats that links read and write: Ethernet, PFC (IEEE 802.1Qbb), and of IPv4 what a capture's
 * frames need. Offsets are in bytes from the start of the frame: Ethernet 14 | MAC control opcode 2
 * | enabled classes 2 | pause quanta 2 each. */
#ifndef VN_ETHERNET_H
#define VN_ETHERNET_H

#include "base.h"

enum {
    VN_TYPE = 12,
    VN_TYPE_MAC_CONTROL = 0x8808,
    VN_PFC_OPCODE = 14,
    VN_OPCODE_PFC = 0x0101,
    VN_PFC_ENABLED = VN_PFC_OPCODE + 3, /* the low byte: a bit a class */
    VN_PFC_QUANTA = VN_PFC_OPCODE + 4,
    VN_PFC_BYTES = 60, /* without FCS, padded to Ethernet's minimum */
    VN_QUANTUM_BITS = 512, /* pauses are counted in so many bit times */
};

/* Numbers in network order. */
static inline uint32_t vn_load16(const uint8_t *at) { return (uint32_t)at[0] << 8 | at[1]; }
static inline uint32_t vn_load32(const uint8_t *at)
{
    return vn_load16(at) << 16 | vn_load16(at + 2);
}

static inline void vn_store16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static inline void vn_store32(uint8_t *at, uint32_t value)
{
    vn_store16(at, (uint16_t)(value >> 16));
    vn_store16(at + 2, (uint16_t)value);
}

#endif
