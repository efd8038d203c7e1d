#include "hpack.h"
#include "hpack_tables.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct hpack_text {
    uint32_t users, length;
    uint8_t data[];
};

/* A string of a block: a part of the block, of the scratch, or an entry's. */
struct text {
    struct hpack_view view;
    struct hpack_text *entry; /* NULL: no entry has it */
};

struct decoding {
    const uint8_t *at, *end;
    uint32_t left;              /* octets of fields that there may still be */
    uint8_t scratch[HPACK_MOST]; /* what was Huffman's code, of one field */
    size_t scratched;
};

/* ---- Huffman's code ---- */

/* By a code's length: the first code of it, their number, and the place of its first octet among
 * all octets in the codes' order. */
static struct {
    uint32_t first[HPACK_LONGEST_CODE + 1], count[HPACK_LONGEST_CODE + 1];
    uint16_t place[HPACK_LONGEST_CODE + 1], octets[HPACK_SYMBOLS];
} code;
static pthread_once_t code_once = PTHREAD_ONCE_INIT;

enum { SHORTEST_CODE = 5 };

static void make_code(void)
{
    uint32_t next = 0, place = 0;
    for (uint32_t length = 1; length <= HPACK_LONGEST_CODE; length++) {
        next <<= 1;
        code.first[length] = next;
        code.place[length] = (uint16_t)place;
        for (uint32_t octet = 0; octet < HPACK_SYMBOLS; octet++) {
            if (hpack_code_lengths[octet] == length) code.octets[place++] = (uint16_t)octet;
        }
        code.count[length] = place - code.place[length];
        next += code.count[length];
    }
}

/* Decodes into the scratch. False: it is malformed, or doesn't fit. */
static bool huffman(struct decoding *decoding, const uint8_t *data, size_t length,
                    struct hpack_view *view)
{
    uint64_t bits = 0; /* the first of them highest */
    uint32_t n_bits = 0;
    size_t at = 0, begin = decoding->scratched;
    for (;;) {
        while (n_bits <= 56 && at < length) {
            bits |= (uint64_t)data[at++] << (56 - n_bits);
            n_bits += 8;
        }
        uint32_t size = SHORTEST_CODE, offset = 0;
        for (; size <= HPACK_LONGEST_CODE && size <= n_bits; size++) {
            offset = (uint32_t)(bits >> (64 - size)) - code.first[size];
            if (offset < code.count[size]) break;
        }
        if (size > HPACK_LONGEST_CODE) return false;
        if (size > n_bits) break;
        uint16_t octet = code.octets[code.place[size] + offset];
        if (octet == HPACK_EOS || decoding->scratched == HPACK_MOST) return false;
        decoding->scratch[decoding->scratched++] = (uint8_t)octet;
        bits <<= size;
        n_bits -= size;
    }
    /* what is left is the beginning of the end's code, which has ones alone */
    if (n_bits > 7 || (n_bits > 0 && bits >> (64 - n_bits) != (1u << n_bits) - 1)) return false;
    *view = (struct hpack_view){decoding->scratch + begin, decoding->scratched - begin};
    return true;
}

/* ---- the table ---- */

void hpack_init(struct hpack *table)
{
    pthread_once(&code_once, make_code);
    memset(table, 0, sizeof *table);
    table->most = HPACK_TABLE;
}

static void leave(struct hpack_text *text)
{
    if (--text->users == 0) free(text);
}

static uint32_t entry_size(const struct hpack *table, uint32_t index)
{
    uint32_t place = (table->newest + index) % HPACK_ENTRIES;
    return table->entries[place].name->length + table->entries[place].value->length + HPACK_ENTRY;
}

static void evict(struct hpack *table, uint32_t most)
{
    while (table->count > 0 && table->size > most) {
        uint32_t place = (table->newest + table->count - 1) % HPACK_ENTRIES;
        table->size -= entry_size(table, table->count - 1);
        leave(table->entries[place].name);
        leave(table->entries[place].value);
        table->count--;
    }
}

void hpack_free(struct hpack *table) { evict(table, 0); }

/* A text that an entry holds: another's, if it has it, so that no reference costs its length. */
static struct hpack_text *hold(const struct text *text)
{
    struct hpack_text *held = text->entry;
    if (held == NULL) {
        held = malloc(sizeof *held + text->view.length);
        if (held == NULL) return NULL;
        held->users = 0;
        held->length = (uint32_t)text->view.length;
        if (text->view.length > 0) memcpy(held->data, text->view.data, text->view.length);
    }
    held->users++;
    return held;
}

/* False: there is no memory. The texts may be of entries that go to make room. */
static bool insert(struct hpack *table, const struct text *name, const struct text *value)
{
    size_t size = name->view.length + value->view.length + HPACK_ENTRY;
    struct hpack_text *texts[2] = {hold(name), hold(value)};
    if (texts[0] == NULL || texts[1] == NULL) {
        for (int i = 0; i < 2; i++) {
            if (texts[i] != NULL) leave(texts[i]);
        }
        return false;
    }
    evict(table, size > table->most ? 0 : table->most - (uint32_t)size);
    if (size > table->most) { /* such a one empties the table, and is no entry itself */
        leave(texts[0]);
        leave(texts[1]);
        return true;
    }
    table->newest = (table->newest + HPACK_ENTRIES - 1) % HPACK_ENTRIES;
    table->entries[table->newest].name = texts[0];
    table->entries[table->newest].value = texts[1];
    table->count++;
    table->size += (uint32_t)size;
    return true;
}

static struct text of_entry(struct hpack_text *entry)
{
    return (struct text){.view = {entry->data, entry->length}, .entry = entry};
}

static struct text of_static(const char *text)
{
    return (struct text){.view = {(const uint8_t *)text, strlen(text)}};
}

/* False: there is no such entry. */
static bool look_up(const struct hpack *table, uint32_t index, struct text *name,
                    struct text *value)
{
    if (index == 0 || index > HPACK_STATIC + table->count) return false;
    if (index <= HPACK_STATIC) {
        *name = of_static(hpack_static[index - 1].name);
        *value = of_static(hpack_static[index - 1].value);
        return true;
    }
    uint32_t place = (table->newest + index - HPACK_STATIC - 1) % HPACK_ENTRIES;
    *name = of_entry(table->entries[place].name);
    *value = of_entry(table->entries[place].value);
    return true;
}

/* ---- blocks ---- */

/* An integer whose first octet has `prefix` bits of it. False: it is cut off, or too large for
 * anything. */
static bool integer(struct decoding *decoding, int prefix, uint32_t *value)
{
    if (decoding->at == decoding->end) return false;
    uint32_t most = (1u << prefix) - 1;
    *value = *decoding->at++ & most;
    if (*value < most) return true;
    for (int shift = 0; shift < 28; shift += 7) {
        if (decoding->at == decoding->end) return false;
        uint8_t octet = *decoding->at++;
        *value += (uint32_t)(octet & 127) << shift;
        if (octet < 128) return true;
    }
    return false;
}

static enum hpack_status string(struct decoding *decoding, struct text *text)
{
    uint32_t length;
    if (decoding->at == decoding->end) return HPACK_MALFORMED;
    bool is_code = (*decoding->at & 128) != 0;
    if (!integer(decoding, 7, &length) || length > (size_t)(decoding->end - decoding->at))
        return HPACK_MALFORMED;
    const uint8_t *data = decoding->at;
    decoding->at += length;
    *text = (struct text){.view = {data, length}};
    /* A code has at most 30 bits: an octet of it stands for 8 / 30 octets at least. */
    if (length / (is_code ? 4 : 1) > decoding->left) return HPACK_TOO_LARGE;
    return !is_code || huffman(decoding, data, length, &text->view) ? HPACK_GOOD : HPACK_MALFORMED;
}

static enum hpack_status next_field(struct hpack *table, struct decoding *decoding,
                                    hpack_field *field, void *of)
{
    uint8_t first = *decoding->at;
    uint32_t index;
    struct text name, value;
    bool indexed = (first & 128) != 0, added = (first & 192) == 64;
    decoding->scratched = 0;
    if (!integer(decoding, indexed ? 7 : added ? 6 : 4, &index)) return HPACK_MALFORMED;
    if ((indexed || index > 0) && !look_up(table, index, &name, &value)) return HPACK_MALFORMED;
    enum hpack_status status = HPACK_GOOD;
    if (!indexed && index == 0) status = string(decoding, &name);
    if (!indexed && status == HPACK_GOOD) status = string(decoding, &value);
    if (status != HPACK_GOOD) return status;
    size_t size = name.view.length + value.view.length + HPACK_ENTRY;
    if (size > decoding->left) return HPACK_TOO_LARGE;
    decoding->left -= (uint32_t)size;
    field(of, name.view, value.view);
    return !added || insert(table, &name, &value) ? HPACK_GOOD : HPACK_NO_MEMORY;
}

enum hpack_status hpack_decode(struct hpack *table, const uint8_t *block, size_t length,
                               uint32_t most, hpack_field *field, void *of)
{
    struct decoding decoding;
    decoding.at = block;
    decoding.end = length > 0 ? block + length : block; /* an empty block may have no place */
    decoding.left = most < HPACK_MOST ? most : HPACK_MOST;
    bool begun = false;
    while (decoding.at < decoding.end) {
        if ((*decoding.at & 224) == 32) { /* the table's size, before all fields */
            uint32_t size;
            if (begun || !integer(&decoding, 5, &size) || size > HPACK_TABLE)
                return HPACK_MALFORMED;
            table->most = size;
            evict(table, size);
            continue;
        }
        begun = true;
        enum hpack_status status = next_field(table, &decoding, field, of);
        if (status != HPACK_GOOD) return status;
    }
    return HPACK_GOOD;
}
