/* Bit vectors of entries, for ternary tables: which entries match a key.
 *
 * Entries are sorted by rank, in blocks of up to 64. For each value of each nibble of the key, a
 * block has a 64-bit word: bit i is set if entry i matches that value. The AND of the words of a
 * key's nibbles is the set of entries that match; the lowest bit is the best of them. With more
 * than one block there is a summary: for each value of each key byte, one bit per block, set if
 * any entry of the block matches it. So a lookup searches few blocks, in order. */
#ifndef SW_BITS_H
#define SW_BITS_H

#include "table.h"

enum { SW_SLOTS = 64 /* of a block */, SW_WORD_BLOCKS = 64 /* blocks in a word of the summary */ };
enum { SW_NIBBLE = 16, SW_BYTE = 256 /* values */ };

/* Only the key's first bytes are indexed, at most so many: enough for an IPv6 five-tuple. */
enum { SW_MAX_INDEXED = 40 };

struct sw_block {
    struct sw_node *nodes[SW_SLOTS];
    uint32_t count;
    uint64_t rows[]; /* a byte has 16 rows for its upper nibble, then 16 for its lower one */
};

struct sw_bits {
    struct sw_block **blocks; /* in order of rank; none is empty, unless it is the only one */
    /* a byte has SW_BYTE rows of row_words; NULL until there has been a second block */
    uint64_t *summary;
    uint32_t n_blocks, row_words, indexed /* bytes of the key */;
};

/* false: no memory; needs no sw_bits_close */
bool sw_bits_open(struct sw_bits *, uint32_t key_bytes);
void sw_bits_close(struct sw_bits *);
/* `nibbles`: for each nibble of the indexed bytes, the set of values that the entry matches, a bit
 * each. 0 or -ENOMEM. */
int sw_bits_insert(struct sw_bits *, struct sw_node *, const uint16_t *nibbles);
void sw_bits_remove(struct sw_bits *, const struct sw_node *, const uint16_t *nibbles);
/* The number of the block that an entry belongs into. */
uint32_t sw_bits_block(const struct sw_bits *, const struct sw_node *);

static inline uint64_t *sw_bits_summary(const struct sw_bits *bits, uint32_t byte, uint32_t value)
{
    return &bits->summary[((size_t)byte * SW_BYTE + value) * bits->row_words];
}

/* `indexed`, below, is bits->indexed: a constant lets the compiler unroll the loops. */

/* The blocks in a word of the summary that may have an entry that matches. */
static inline __attribute__((always_inline)) uint64_t sw_bits_blocks(const struct sw_bits *bits,
                                                                     const uint8_t *key,
                                                                     uint32_t indexed,
                                                                     uint32_t word)
{
    uint64_t blocks = ~0ull;
    if (bits->summary == NULL || indexed == 0) return 1;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < indexed; i++) blocks &= sw_bits_summary(bits, i, key[i])[word];
    return blocks;
}

/* The entries that match n bytes of a key; `rows` are a block's rows for these bytes. */
static inline __attribute__((always_inline)) uint64_t sw_bits_entries_of(const uint64_t *rows,
                                                                         const uint8_t *key,
                                                                         uint32_t n)
{
    uint64_t entries = ~0ull;
#pragma GCC unroll 4
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t *upper = &rows[i * 2 * SW_NIBBLE], *lower = upper + SW_NIBBLE;
        entries &= upper[key[i] / SW_NIBBLE] & lower[key[i] % SW_NIBBLE];
    }
    return entries;
}

/* The entries of a block that match a key's indexed bytes. Goes on by four bytes: most blocks have
 * no match for the first. */
static inline __attribute__((always_inline)) uint64_t sw_bits_entries(const struct sw_block *block,
                                                                      const uint8_t *key,
                                                                      uint32_t indexed)
{
    const uint64_t *rows = block->rows;
    if (indexed == 4) return sw_bits_entries_of(rows, key, 4);
    /* a key may have no bytes */
    uint64_t entries = block->count == 0 ? 0 : ~0ull >> (SW_SLOTS - block->count);
    for (; indexed >= 4 && entries != 0; indexed -= 4) {
        entries &= sw_bits_entries_of(rows, key, 4);
        key += 4;
        rows += 4 * 2 * SW_NIBBLE;
    }
    for (; indexed > 0 && entries != 0; indexed--) {
        entries &= sw_bits_entries_of(rows, key++, 1);
        rows += 2 * SW_NIBBLE;
    }
    return entries;
}

#endif
