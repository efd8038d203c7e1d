/* Bit vectors of entries, for ternary tables: which entries agree with a key.
 *
 * Entries stand in order of rank, in blocks of up to 64. A block has a word for each value of each half of a byte of the key:
 * a bit an entry, whether it agrees with that value. So the words of a key's halves, by and, say which of 64 entries agree with
 * the key, and the lowest bit is the best of them. Of more than one block a summary says the same for each value of each byte:
 * a bit a block, whether it has an entry that agrees. So a lookup asks few blocks, in order. */
#ifndef SW_BITS_H
#define SW_BITS_H

#include "table.h"

enum { SW_SLOTS = 64 /* of a block */, SW_SUMMARISED = 64 /* blocks a word */ };
enum { SW_HALF = 16, SW_BYTE = 256 /* values of half a byte, of one */ };

/* Bytes of the key, its first ones, that blocks know: all of IPv6 addresses, ports and protocol. */
enum { SW_MOST_KNOWN = 40 };

struct sw_block {
    struct sw_node *nodes[SW_SLOTS];
    uint32_t count;
    uint64_t rows[]; /* of a byte: SW_HALF for its upper half, SW_HALF for its lower one */
};

struct sw_bits {
    struct sw_block **blocks; /* in order; all but an only one have entries */
    uint64_t *summary;        /* of a byte: SW_BYTE rows of row_words; NULL while there is one block */
    uint32_t n_blocks, row_words, known /* bytes of the key */;
};

bool sw_bits_open(struct sw_bits *, uint32_t key_bytes); /* false: no memory, and nothing to close */
void sw_bits_close(struct sw_bits *);
/* `halves`: for each half of the known bytes a bit for each value of it that the entry agrees with. 0 or -ENOMEM. */
int sw_bits_insert(struct sw_bits *, struct sw_node *, const uint16_t *halves);
void sw_bits_remove(struct sw_bits *, const struct sw_node *, const uint16_t *halves);
/* The last block that begins before this entry or with it; the first where none does. */
uint32_t sw_bits_block(const struct sw_bits *, const struct sw_node *);

static inline uint64_t *sw_bits_summary(const struct sw_bits *bits, uint32_t byte, uint32_t value)
{
    return &bits->summary[((size_t)byte * SW_BYTE + value) * bits->row_words];
}

/* `known`, below: bits->known. Where a compiler knows it, it needs no loops. */

/* Which blocks of a word of the summary may have what agrees with a key. */
static inline __attribute__((always_inline)) uint64_t sw_bits_blocks(const struct sw_bits *bits, const uint8_t *key,
                                                                     uint32_t known, uint32_t word)
{
    uint64_t blocks = ~0ull;
    if (bits->summary == NULL || known == 0) return 1;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < known; i++) blocks &= sw_bits_summary(bits, i, key[i])[word];
    return blocks;
}

/* Which entries agree with n bytes of a key, of which these are a block's rows. */
static inline __attribute__((always_inline)) uint64_t sw_bits_entries_of(const uint64_t *rows, const uint8_t *key, uint32_t n)
{
    uint64_t entries = ~0ull;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t *upper = &rows[i * 2 * SW_HALF], *lower = upper + SW_HALF;
        entries &= upper[key[i] / SW_HALF] & lower[key[i] % SW_HALF];
    }
    return entries;
}

/* Which entries of a block agree with a key: four bytes at a time, since most blocks have none that agrees with the first. */
static inline __attribute__((always_inline)) uint64_t sw_bits_entries(const struct sw_block *block, const uint8_t *key,
                                                                      uint32_t known)
{
    const uint64_t *rows = block->rows;
    if (known == 4) return sw_bits_entries_of(rows, key, 4);
    uint64_t entries = block->count == 0 ? 0 : ~0ull >> (SW_SLOTS - block->count); /* a key may have no bytes */
    for (; known >= 4 && entries != 0; known -= 4) {
        entries &= sw_bits_entries_of(rows, key, 4);
        key += 4;
        rows += 4 * 2 * SW_HALF;
    }
    for (; known > 0 && entries != 0; known--) {
        entries &= sw_bits_entries_of(rows, key++, 1);
        rows += 2 * SW_HALF;
    }
    return entries;
}

#endif
