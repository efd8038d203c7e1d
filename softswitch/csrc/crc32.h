/* The CRC-32 of Ethernet and zlib: polynomial 0x04c11db7, reflected. Each file that includes this
 * has its own tables. */
#ifndef SOFTSWITCH_CRC32_H
#define SOFTSWITCH_CRC32_H

#include <stddef.h>
#include <stdint.h>

enum { CRC32_SLICES = 8, CRC32_TABLES = 16 };

/* [n]: the CRC of a byte followed by n zero bytes */
static uint32_t crc32_tables[CRC32_TABLES][256];

/* Runs before main, or in dlopen: no thread sees an unfinished table. */
__attribute__((constructor)) static void crc32_make_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
        crc32_tables[0][byte] = crc;
    }
    for (int zeros = 1; zeros < CRC32_TABLES; zeros++) {
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t before = crc32_tables[zeros - 1][byte];
            crc32_tables[zeros][byte] = before >> 8 ^ crc32_tables[0][before & 0xff];
        }
    }
}

/* Goes on from `crc`, without the complement that begins and ends it. Slicing by eight: a step of
 * eight bytes has a table for each. */
static inline uint32_t crc32_update(uint32_t crc, const uint8_t *data, size_t length)
{
    for (; length >= CRC32_SLICES; data += CRC32_SLICES, length -= CRC32_SLICES) {
        crc ^= (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
               (uint32_t)data[3] << 24;
        crc = crc32_tables[7][crc & 0xff] ^ crc32_tables[6][crc >> 8 & 0xff] ^
              crc32_tables[5][crc >> 16 & 0xff] ^ crc32_tables[4][crc >> 24] ^
              crc32_tables[3][data[4]] ^ crc32_tables[2][data[5]] ^ crc32_tables[1][data[6]] ^
              crc32_tables[0][data[7]];
    }
    for (; length != 0; data++, length--) crc = crc >> 8 ^ crc32_tables[0][(crc ^ *data) & 0xff];
    return crc;
}

#endif
