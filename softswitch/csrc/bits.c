/* Bit vectors of entries: the blocks and their summary. */
#include "bits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t rows_of(const struct sw_bits *bits) { return bits->indexed * 2 * SW_NIBBLE; }

static struct sw_block *new_block(const struct sw_bits *bits)
{
    size_t size = sizeof(struct sw_block) + rows_of(bits) * sizeof(uint64_t);
    struct sw_block *block = aligned_alloc(SW_LINE, (size + SW_LINE - 1) / SW_LINE * SW_LINE);
    if (block != NULL) memset(block, 0, size);
    return block;
}

bool sw_bits_open(struct sw_bits *bits, uint32_t key_bytes)
{
    *bits = (struct sw_bits){.indexed = key_bytes < SW_MAX_INDEXED ? key_bytes : SW_MAX_INDEXED};
    bits->blocks = malloc(sizeof *bits->blocks);
    if (bits->blocks == NULL) return false;
    bits->blocks[0] = new_block(bits);
    bits->n_blocks = bits->blocks[0] != NULL;
    if (bits->n_blocks == 0) sw_bits_close(bits);
    return bits->n_blocks != 0;
}

void sw_bits_close(struct sw_bits *bits)
{
    for (uint32_t i = 0; i < bits->n_blocks; i++) free(bits->blocks[i]);
    free(bits->blocks);
    free(bits->summary);
}

static bool before(const struct sw_node *a, const struct sw_node *b)
{
    return a->rank < b->rank || (a->rank == b->rank && a->entry.handle < b->entry.handle);
}

/* ---- the summary ---- */

/* Recomputes a block's summary. */
static void summarise(struct sw_bits *bits, uint32_t number)
{
    uint64_t bit = 1ull << number % SW_WORD_BLOCKS;
    for (uint32_t i = 0; bits->summary != NULL && i < bits->indexed * SW_BYTE; i++) {
        const uint64_t *upper = &bits->blocks[number]->rows[i / SW_BYTE * 2 * SW_NIBBLE],
                       *lower = upper + SW_NIBBLE;
        uint64_t *word = sw_bits_summary(bits, 0, i) + number / SW_WORD_BLOCKS;
        *word = (upper[i % SW_BYTE / SW_NIBBLE] & lower[i % SW_NIBBLE]) != 0 ? *word | bit
                                                                             : *word & ~bit;
    }
}

/* The same after an entry was added (`added` is its bit) or removed (0): only values that it
 * matches can have changed, and none of a byte for which another entry matches any value. */
static void summarise_entry(struct sw_bits *bits, uint32_t number, const uint16_t *nibbles,
                            uint64_t added)
{
    uint64_t bit = 1ull << number % SW_WORD_BLOCKS;
    for (uint32_t i = 0; bits->summary != NULL && i < bits->indexed; i++) {
        const uint64_t *upper = &bits->blocks[number]->rows[i * 2 * SW_NIBBLE],
                       *lower = upper + SW_NIBBLE;
        uint64_t wild = ~added;
        for (uint32_t value = 0; value < 2 * SW_NIBBLE; value++) wild &= upper[value];
        if (wild != 0) continue;
        for (uint32_t above = nibbles[2 * i]; above != 0; above &= above - 1) {
            uint32_t high = (uint32_t)__builtin_ctz(above);
            for (uint32_t below = nibbles[2 * i + 1]; below != 0; below &= below - 1) {
                uint32_t low = (uint32_t)__builtin_ctz(below);
                uint64_t *word =
                    sw_bits_summary(bits, i, high * SW_NIBBLE + low) + number / SW_WORD_BLOCKS;
                *word = (upper[high] & lower[low]) != 0 ? *word | bit : *word & ~bit;
            }
        }
    }
}

/* Inserts a zero bit at `at`; the bits from there on move up. */
static inline uint64_t insert_bit(uint64_t word, uint32_t at)
{
    uint64_t lower = word & ((1ull << at) - 1);
    return lower | (word ^ lower) << 1;
}

/* Removes the bit at `at`; the bits above it move down. */
static inline uint64_t remove_bit(uint64_t word, uint32_t at)
{
    uint64_t lower = word & ((1ull << at) - 1);
    return lower | (word >> 1 & ~((1ull << at) - 1));
}

/* Inserts a block's bits into the summary at number `at`, or removes them. */
static void shift_summary(struct sw_bits *bits, uint32_t at, bool in)
{
    uint32_t first = at / SW_WORD_BLOCKS, last = bits->row_words - 1;
    for (uint32_t i = 0; bits->summary != NULL && i < bits->indexed * SW_BYTE; i++) {
        uint64_t *row = sw_bits_summary(bits, 0, i);
        if (in) {
            for (uint32_t word = last; word > first; word--) {
                row[word] = row[word] << 1 | row[word - 1] >> (SW_WORD_BLOCKS - 1);
            }
            row[first] = insert_bit(row[first], at % SW_WORD_BLOCKS);
        } else {
            row[first] = remove_bit(row[first], at % SW_WORD_BLOCKS);
            for (uint32_t word = first; word < last; word++) {
                row[word] |= row[word + 1] << (SW_WORD_BLOCKS - 1);
                row[word + 1] >>= 1;
            }
        }
    }
}

/* Makes room for one more block. 0 or -ENOMEM. */
static int grow_summary(struct sw_bits *bits)
{
    if (bits->n_blocks < bits->row_words * SW_WORD_BLOCKS) return 0;
    uint32_t row_words = bits->row_words == 0 ? 1 : 2 * bits->row_words;
    size_t size = (size_t)bits->indexed * SW_BYTE * row_words * sizeof(uint64_t);
    uint64_t *summary = sw_alloc_aligned(size + 1);
    struct sw_block **blocks =
        realloc(bits->blocks, (size_t)row_words * SW_WORD_BLOCKS * sizeof(struct sw_block *));
    if (blocks != NULL) bits->blocks = blocks;
    if (summary == NULL || blocks == NULL) {
        free(summary);
        return -ENOMEM;
    }
    memset(summary, 0, size);
    free(bits->summary);
    bits->summary = summary;
    bits->row_words = row_words;
    for (uint32_t i = 0; i < bits->n_blocks; i++) summarise(bits, i);
    return 0;
}

/* ---- blocks ---- */

/* Inserts an empty block as number `at`. NULL: no memory. */
static struct sw_block *add_block(struct sw_bits *bits, uint32_t at)
{
    struct sw_block *block = grow_summary(bits) == 0 ? new_block(bits) : NULL;
    if (block == NULL) return NULL;
    shift_summary(bits, at, true);
    memmove(&bits->blocks[at + 1], &bits->blocks[at],
            (bits->n_blocks - at) * sizeof(struct sw_block *));
    bits->blocks[at] = block;
    bits->n_blocks++;
    return block;
}

static void drop_block(struct sw_bits *bits, uint32_t at)
{
    free(bits->blocks[at]);
    bits->n_blocks--;
    memmove(&bits->blocks[at], &bits->blocks[at + 1],
            (bits->n_blocks - at) * sizeof(struct sw_block *));
    shift_summary(bits, at, false);
}

uint32_t sw_bits_block(const struct sw_bits *bits, const struct sw_node *node)
{
    uint32_t low = 0, high = bits->n_blocks;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (before(node, bits->blocks[middle]->nodes[0])) high = middle;
        else low = middle;
    }
    return low;
}

/* The slot that an entry has or would get in a block. */
static uint32_t slot_of(const struct sw_block *block, const struct sw_node *node)
{
    uint32_t low = 0, high = block->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (before(block->nodes[middle], node)) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Splits a full block to add an entry at `*slot`, and sets the entry's block and slot. Half of the
 * entries move to a new block; none do if the slot is the first or the last, so that sorted
 * insertions fill whole blocks. 0 or -ENOMEM. */
static int split(struct sw_bits *bits, uint32_t *number, uint32_t *slot)
{
    struct sw_block *full = bits->blocks[*number],
                    *added = add_block(bits, *slot == 0 ? *number : *number + 1);
    if (added == NULL) return -ENOMEM;
    if (*slot == 0) return 0;
    *number += 1;
    if (*slot == SW_SLOTS) {
        *slot = 0;
        return 0;
    }
    added->count = full->count = SW_SLOTS / 2;
    memcpy(added->nodes, full->nodes + SW_SLOTS / 2, SW_SLOTS / 2 * sizeof(struct sw_node *));
    for (uint32_t i = 0; i < rows_of(bits); i++) {
        added->rows[i] = full->rows[i] >> SW_SLOTS / 2;
        full->rows[i] = full->rows[i] << SW_SLOTS / 2 >> SW_SLOTS / 2;
    }
    summarise(bits, *number - 1);
    summarise(bits, *number);
    if (*slot > SW_SLOTS / 2) *slot -= SW_SLOTS / 2;
    else *number -= 1;
    return 0;
}

/* Merges the next block into this one if both are small. */
static void merge(struct sw_bits *bits, uint32_t number)
{
    if (number + 1 >= bits->n_blocks) return;
    struct sw_block *block = bits->blocks[number], *next = bits->blocks[number + 1];
    if (block->count + next->count > SW_SLOTS / 2) return;
    for (uint32_t i = 0; i < rows_of(bits); i++) block->rows[i] |= next->rows[i] << block->count;
    memcpy(block->nodes + block->count, next->nodes, next->count * sizeof(struct sw_node *));
    block->count += next->count;
    drop_block(bits, number + 1);
    summarise(bits, number);
}

/* ---- insertion, removal ---- */

int sw_bits_insert(struct sw_bits *bits, struct sw_node *node, const uint16_t *nibbles)
{
    uint32_t number = sw_bits_block(bits, node), slot = slot_of(bits->blocks[number], node);
    if (bits->blocks[number]->count == SW_SLOTS && split(bits, &number, &slot) != 0) return -ENOMEM;
    struct sw_block *block = bits->blocks[number];
    for (uint32_t i = 0; i < rows_of(bits); i++) {
        block->rows[i] = insert_bit(block->rows[i], slot) |
                         (uint64_t)(nibbles[i / SW_NIBBLE] >> i % SW_NIBBLE & 1) << slot;
    }
    memmove(&block->nodes[slot + 1], &block->nodes[slot],
            (block->count - slot) * sizeof(struct sw_node *));
    block->nodes[slot] = node;
    block->count++;
    summarise_entry(bits, number, nibbles, 1ull << slot);
    return 0;
}

void sw_bits_remove(struct sw_bits *bits, const struct sw_node *node, const uint16_t *nibbles)
{
    uint32_t number = sw_bits_block(bits, node);
    struct sw_block *block = bits->blocks[number];
    uint32_t slot = slot_of(block, node);
    for (uint32_t i = 0; i < rows_of(bits); i++) block->rows[i] = remove_bit(block->rows[i], slot);
    block->count--;
    memmove(&block->nodes[slot], &block->nodes[slot + 1],
            (block->count - slot) * sizeof(struct sw_node *));
    if (block->count == 0 && bits->n_blocks > 1) {
        drop_block(bits, number);
        return;
    }
    summarise_entry(bits, number, nibbles, 0);
    merge(bits, number);
    if (number > 0) merge(bits, number - 1);
}
