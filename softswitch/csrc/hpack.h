/* HPACK (RFC 7541), of whom receives: fields of header blocks, and the dynamic table that they
 * share. What an octet of a block can cost is bounded: a reference copies nothing, and the size
 * of a block's fields is summed before the next is looked at. */
#ifndef SW_HPACK_H
#define SW_HPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the dynamic table. 4,096 is what a client may take for granted before it has read the
 * settings; each entry counts for 32 octets at least. */
enum { HPACK_TABLE = 4096, HPACK_ENTRY = 32, HPACK_ENTRIES = HPACK_TABLE / HPACK_ENTRY };

/* A name or a value that entries share. */
struct hpack_text;

struct hpack {
    struct {
        struct hpack_text *name, *value;
    } entries[HPACK_ENTRIES]; /* a ring, the newest at `newest` */
    uint32_t newest, count, size, most;
};

struct hpack_view {
    const uint8_t *data;
    size_t length;
};

typedef void hpack_field(void *of, struct hpack_view name, struct hpack_view value);

enum hpack_status { HPACK_GOOD, HPACK_MALFORMED, HPACK_TOO_LARGE, HPACK_NO_MEMORY };

/* Begins with an empty table. */
void hpack_init(struct hpack *);

/* Frees what the table holds. */
void hpack_free(struct hpack *);

/* Calls `field` with each field of a block, in order. `most`: octets that names and values may
 * have, with 32 of each field, at most HPACK_MOST. But for HPACK_GOOD the table is no longer the
 * sender's: the connection has to end. */
enum { HPACK_MOST = 16384 };
enum hpack_status hpack_decode(struct hpack *, const uint8_t *block, size_t length, uint32_t most,
                               hpack_field *field, void *of);

#endif
