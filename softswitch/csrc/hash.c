/* v1model's hash algorithms over whole bytes, equal to BMv2's calculations of the same names. */
#include "crc32.h"
#include "pipeline.h"

/* A step for one bit of each CRC; a table has the result of eight steps for each byte. */
#define STEP16(c) (((c) & 1) ? ((c) >> 1) ^ 0xa001u : (c) >> 1)
#define STEPCC(c) (((c) & 0x8000u) ? (((c) << 1) ^ 0x1021u) & 0xffffu : ((c) << 1) & 0xffffu)

static uint16_t table16[256], table_ccitt[256];

/* Runs before main, or in dlopen: no thread sees an unfinished table. */
__attribute__((constructor)) static void make_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t c16 = byte, ccitt = byte << 8;
        for (int bit = 0; bit < 8; bit++) {
            c16 = STEP16(c16);
            ccitt = STEPCC(ccitt);
        }
        table16[byte] = (uint16_t)c16;
        table_ccitt[byte] = (uint16_t)ccitt;
    }
}

/* CRC-16/ARC: polynomial 0x8005 reflected, start 0. */
uint64_t sw_hash_crc16(const uint8_t *data, size_t length)
{
    uint32_t crc = 0;
    for (size_t i = 0; i < length; i++) crc = (crc >> 8) ^ table16[(crc ^ data[i]) & 0xff];
    return crc;
}

/* The CRC-32 of Ethernet and zlib. */
uint64_t sw_hash_crc32(const uint8_t *data, size_t length)
{
    return ~crc32_update(0xffffffffu, data, length);
}

extern uint32_t sw_crc32_tables[CRC32_TABLES][256] __attribute__((alias("crc32_tables")));

/* CRC-16/CCITT-FALSE: polynomial 0x1021, start 0xffff, not reflected. */
uint64_t sw_hash_crc_ccitt(const uint8_t *data, size_t length)
{
    uint32_t crc = 0xffff;
    for (size_t i = 0; i < length; i++)
        crc = (crc << 8 & 0xffff) ^ table_ccitt[(crc >> 8) ^ data[i]];
    return crc;
}

/* XOR of 16-bit big-endian words, the last one padded with zero. */
uint64_t sw_hash_xor16(const uint8_t *data, size_t length)
{
    uint32_t value = 0;
    for (size_t i = 0; i < length; i++) value ^= (uint32_t)data[i] << (i % 2 == 0 ? 8 : 0);
    return value;
}

/* RFC 1071: the complement of the ones' complement sum of big-endian 16-bit words. Summed in host
 * order, eight bytes at a time, and byte-swapped at the end. */
uint64_t sw_hash_csum16(const uint8_t *data, size_t length)
{
    unsigned __int128 wide = 0;
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t word;
        __builtin_memcpy(&word, data + i, 8);
        wide += word;
    }
    if (i < length) {
        uint64_t word = 0;
        __builtin_memcpy(&word, data + i, length - i);
        wide += word;
    }
    uint64_t sum = (uint64_t)(wide >> 64) + (uint32_t)(wide >> 32) + (uint32_t)wide;
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return __builtin_bswap16((uint16_t)~sum);
}
