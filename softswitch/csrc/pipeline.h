/* The interface between a generated program and its runtime.
 *
 * A program (codegen's output, compiled to a shared object) exports one symbol, `sw_program`. It
 * holds no state: tables, registers, counters and meters are in a `struct sw_instance` that the
 * runtime makes from the program's specs. So one shared object serves any number of switches,
 * live or in virtual time. */
#ifndef SW_PIPELINE_H
#define SW_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SW_ABI = 14 };

enum { SW_DROP_PORT = 511, SW_MAX_PORTS = 512, SW_PRIORITIES = 8 };

/* standard_metadata.instance_type, as simple_switch has it. */
enum sw_instance_type {
    SW_NORMAL = 0,
    SW_INGRESS_CLONE = 1,
    SW_EGRESS_CLONE = 2,
    SW_COALESCED = 3,
    SW_RECIRC = 4,
    SW_REPLICATION = 5,
    SW_RESUBMIT = 6,
};

/* v1model's standard_metadata. Generated code keeps each field within its P4 width. */
struct sw_std {
    uint16_t ingress_port, egress_spec, egress_port; /* bit<9> */
    uint16_t mcast_grp, egress_rid;
    uint8_t checksum_error, priority, qid;
    uint32_t instance_type, packet_length, parser_error;
    uint32_t enq_timestamp, enq_qdepth, deq_timedelta, deq_qdepth; /* ticks, packets */
    /* ticks since the switch started */
    uint64_t ingress_global_timestamp, egress_global_timestamp;
};

enum { SW_NONE = -1 };

/* No request. Each has a value of its own for it that no program can give, so that 0 is a request
 * like any other. */
#define SW_NO_REQUESTS                                                                             \
    ((struct sw_requests){SW_NONE, SW_NONE, SW_NONE, SW_NONE, SW_NONE, UINT32_MAX})

/* Requests by clone(), resubmit() and the like, which the runtime carries out after the pipeline.
 * It resets them before ingress and before egress. */
struct sw_requests {
    int32_t clone_session;    /* SW_NONE, or the session of the last clone() */
    int32_t clone_list;       /* field list to preserve, or SW_NONE */
    int32_t resubmit_list;    /* SW_NONE: no request; else the field list's id, or 0 for none */
    int32_t recirculate_list; /* likewise */
    int32_t digest_list;      /* SW_NONE or the learn list's id */
    /* bytes, the fewest of all truncate(); UINT32_MAX: don't. 0 is a frame of no bytes */
    uint32_t truncate_to;
};

/* A packet. `data` is the received frame before the parser; then the bytes that the parser did not
 * extract, with at least `headroom` free bytes before them; after deparse the frame to send. Parser
 * and ingress never write into the frame, so the runtime can restore it for resubmit and ingress
 * clones. */
struct sw_packet {
    uint8_t *data;
    uint32_t length;
    /* BMv2's packet length register: set to the frame's length before ingress, becomes
     * packet_length in egress. setValid and setInvalid in ingress add and subtract the header's
     * bytes (BMv2's add_header, remove_header). */
    uint32_t length_register;
    /* The frame's length before the parser: counters and meters count it in ingress and in egress.
     * `ingress` and `parse` set it from `length`; the runtime copies it to clones and replicas. */
    uint32_t ingress_length;
    struct sw_std std;
    struct sw_requests req;
    /* the program's headers and metadata: phv_size bytes, 16-byte aligned, zeroed by the runtime
     * for a new packet */
    void *phv;
};

/* ---- tables ---- */

enum sw_match { SW_EXACT, SW_LPM, SW_TERNARY, SW_RANGE, SW_OPTIONAL };

struct sw_key_field {
    enum sw_match match;
    uint16_t width; /* bits; takes (width + 7) / 8 bytes of the key, big endian, in order */
};

struct sw_action_spec {
    const char *name;
    uint16_t n_params;
    /* bits. A parameter takes (width + 63) / 64 words of `args`, low word first */
    const uint16_t *param_widths;
};

/* The `action` of an entry of an indirect table: args[0] is the handle of a member or a group. */
enum { SW_MEMBER = 0xfffffffe, SW_GROUP = 0xfffffffd };

enum { SW_ENTRY_WORDS = 6, SW_FEW_WORDS = 2 };

/* A cache line. `action` is an index of sw_program.actions. Up to SW_ENTRY_WORDS words of arguments
 * are inline, or SW_FEW_WORDS if the table has direct counters, idle timeouts or direct meters;
 * more are allocated. */
struct sw_entry {
    uint32_t action;
    uint32_t handle;
    const uint64_t *args;
    union {
        uint64_t words[SW_ENTRY_WORDS];
        struct {
            uint64_t packets, bytes; /* direct counter; incremented by generated code */
            uint64_t last_hit_us;
            void *meter; /* direct meter, or NULL */
            uint64_t few_words[SW_FEW_WORDS];
        };
    };
};

enum {
    SW_CONST_ENTRIES = 1,
    SW_CONST_DEFAULT = 2,
    SW_DIRECT_COUNTER = 4,
    SW_IDLE_TIMEOUT = 8,
    SW_DIRECT_METER = 16,
    SW_DIRECT_METER_BYTES = 32, /* of bytes, not of packets */
    SW_INDIRECT = 64,           /* entries refer to an action profile */
    /* a parser value set: entries have action UINT32_MAX and no arguments */
    SW_VALUE_SET = 128,
};

/* key and mask have the key's layout. For TERNARY and RANGE tables mask is, by field: the mask of a
 * ternary or optional field; the prefix as a mask of an lpm field; the upper bound of a range (key
 * is the lower one); ignored for an exact field. NULL in a TERNARY table: all ones. EXACT and LPM
 * tables ignore it. */
struct sw_const_entry {
    const uint8_t *key, *mask;
    int32_t prefix; /* LPM table: bits of the one LPM field */
    int32_t priority; /* as in the BMv2 JSON: the lower wins */
    uint32_t action;
    const uint64_t *args;
};

struct sw_table_spec {
    const char *name;
    /* EXACT: all fields exact. LPM: one lpm, others exact. RANGE: has a range. else TERNARY */
    enum sw_match kind;
    uint16_t n_fields;
    const struct sw_key_field *fields;
    uint32_t key_bytes, size, flags;
    uint32_t default_action; /* UINT32_MAX: none, a miss does nothing */
    const uint64_t *default_args;
    uint32_t n_const_entries;
    const struct sw_const_entry *const_entries;
};

struct sw_table; /* table.h */

struct sw_profile; /* profile.h */

/* An action with its arguments; action UINT32_MAX: none. */
struct sw_call {
    uint32_t action;
    const uint64_t *args;
};

/* ---- state ---- */

struct sw_counter {
    uint64_t packets, bytes;
};

/* Layout of an array: cell i is at i * stride + offset in a block. Arrays that programs read by the
 * same index share a block, so that the cells of an index are in the same cache lines. Stride 0:
 * the array isn't interleaved with others. */
struct sw_place {
    uint32_t block, offset, stride;
};

struct sw_counter_spec {
    const char *name;
    uint32_t size;
    struct sw_place place;
};
struct sw_register_spec {
    const char *name;
    uint32_t size;
    uint16_t width;
    struct sw_place place;
};
struct sw_meter_spec {
    const char *name;
    uint32_t size;
    bool bytes;
};

/* cells: every `stride` bytes a uint8_t, uint16_t, uint32_t, uint64_t or unsigned __int128, the
 * smallest that holds `width` bits. (Wider than 128 bits: big-endian byte strings of (width + 7) /
 * 8 bytes each.) */
struct sw_register {
    void *cells;
    uint32_t size, stride;
    uint16_t width, cell_bytes;
};

struct sw_meter_array; /* state.h */
struct sw_cells;       /* state.c */

/* An assert() or assume() of the program: how often it failed since the last line about it, and
 * when the next one may be. */
struct sw_assert {
    uint64_t failed, next_us;
};

struct sw_instance {
    const struct sw_program *program;
    struct sw_table **tables;
    struct sw_profile **profiles;
    /* the first cell of each; the next is counter_strides[i] bytes on */
    struct sw_counter **counters;
    uint32_t *counter_sizes, *counter_strides;
    /* memory of counters and registers: blocks by number, then arrays that share none */
    struct sw_cells *blocks;
    uint32_t n_blocks;
    struct sw_register *registers;
    struct sw_meter_array **meters;
    uint16_t drop_port; /* what mark_to_drop writes into egress_spec */
    /* of the clock that the program reads, 1 to 1,000: 1 us is BMv2's, and the default */
    uint32_t tick_ns;
    uint64_t now;     /* in ticks: set by the runtime before ingress and before egress */
    uint64_t rng[2]; /* random(): xoroshiro128+ state, seeded by the runtime */
    struct sw_assert *asserts;
    void (*log)(void *context, const char *message);  /* log_msg; may be NULL */
    void (*warn)(void *context, const char *message); /* assert and assume that fail; may be NULL */
    void *log_context;
    struct sw_trace *trace; /* of a traced program: where its steps go; NULL: nowhere */
    uint64_t *collected; /* where the counts of a covered program go, or NULL */
    /* of a covered program, its n_coverage counts: in place, as each takes one instruction then */
    uint64_t coverage[];
};

/* What meters, idle timeouts and the log go by, whatever the tick is. */
static inline uint64_t sw_us_of(const struct sw_instance *s, uint64_t ticks)
{
    return ticks * s->tick_ns / 1000;
}
static inline uint64_t sw_us(const struct sw_instance *s) { return sw_us_of(s, s->now); }

/* The standard metadata that egress finds beside what ingress left: for both forms of a program.
 * `deq_qdepth`: packets left in the queue. std has enq_timestamp and enq_qdepth. */
static inline void sw_before_egress(const struct sw_instance *s, struct sw_packet *p, uint16_t port,
                                    uint32_t queue, uint32_t deq_qdepth)
{
    struct sw_std *std = &p->std;
    std->egress_global_timestamp = s->now;
    std->deq_timedelta = (uint32_t)s->now - std->enq_timestamp;
    std->deq_qdepth = deq_qdepth & 0x7ffffu; /* bit<19> */
    std->qid = queue & 31;
    std->egress_port = port;
    std->egress_spec = (s->drop_port + 1) & 511; /* anything but a drop */
    std->packet_length = p->length_register;
}

/* ---- the in-place form of a program: optional and faster; headers stay in the frame, there is no
 * PHV ---- */

enum { SW_INPLACE_DEPTH = 128 /* most bytes that the parser may extract */, SW_BRIDGED_BYTES = 32 };

/* A packet as the in-place form takes it. The caller keeps the frame and `bridged` from ingress to
 * egress. */
struct sw_inplace_packet {
    /* at least `depth` readable bytes, whatever `length` says; the rest is payload */
    uint8_t *frame;
    uint8_t *bridged; /* bridged metadata: SW_BRIDGED_BYTES bytes, 8-byte aligned */
    uint32_t length; /* of the frame; it doesn't change */
    uint16_t port; /* in ingress the ingress port, in egress the egress port */
    uint16_t egress_spec; /* set by ingress and by egress, which may drop */
    uint8_t priority; /* set by ingress; the caller then sets the queue for egress */
    /* set by the caller before egress; see sw_before_egress */
    uint32_t enq_timestamp, enq_qdepth, deq_qdepth;
};

struct sw_inplace {
    /* Parser, checksum verification, ingress control. */
    void (*ingress)(struct sw_instance *, struct sw_inplace_packet *);
    /* Egress control, checksum update, deparser. Unless it drops, `frame` is then the frame to
     * send. */
    void (*egress)(struct sw_instance *, struct sw_inplace_packet *);
    uint32_t depth; /* bytes that the parser may extract, in whole cache lines */
};

struct sw_program {
    uint32_t abi; /* SW_ABI */
    const char *name;
    /* A PHV has no pointers: the runtime copies it for multicast and clones. Headers and their
     * validity come first; user metadata fills [metadata_offset, phv_size), which a clone
     * resets. */
    uint32_t phv_size, metadata_offset, headroom;
    uint32_t n_tables, n_actions, n_counters, n_registers, n_meters, n_lists, n_profiles, n_asserts;
    /* the controls' tables, then one for each parser value set */
    const struct sw_table_spec *tables;
    const struct sw_action_spec *actions;
    const struct sw_counter_spec *counters;
    const struct sw_register_spec *registers;
    const struct sw_meter_spec *meters;
    /* what the line about each says: its kind, and its place in the source */
    const char *const *asserts;
    /* Parser, checksum verification, ingress control. */
    void (*ingress)(struct sw_instance *, struct sw_packet *);
    /* Parser alone, for ingress clones. */
    void (*parse)(struct sw_instance *, struct sw_packet *);
    /* Egress control. */
    void (*egress)(struct sw_instance *, struct sw_packet *);
    /* Checksum update, deparser: afterwards data and length are the frame. */
    void (*deparse)(struct sw_instance *, struct sw_packet *);
    /* Copies the fields of a field list, user and standard metadata, from one packet to another. */
    void (*copy_list)(int32_t list, const struct sw_packet *from, struct sw_packet *to);
    /* Packs a learn list: each field big endian in whole bytes; returns the bytes written. */
    uint32_t (*pack_digest)(int32_t list, const struct sw_packet *, uint8_t *out,
                            uint32_t capacity);
    const struct sw_inplace *inplace; /* or NULL */
    /* points that a covered program counts (softswitch/program/points.py); 0: it isn't covered */
    uint32_t n_coverage;
};

/* ---- steps of a traced program (codegen/tracing.py), which softswitch/trace/ decodes ---- */

/* With `a`, `b` and the data of each. Numbers are the model's (softswitch/program/model.py). */
enum sw_trace_kind {
    SW_TRACE_LOADED = 0, /* what follows is of the next program */
    /* ingress port + 65,536 times the instance type, length; the frame before the parser */
    SW_TRACE_RECEIVED = 1,
    SW_TRACE_STATE = 2, /* a parser state is entered */
    SW_TRACE_EXTRACTED = 3, /* header, 0; or stack, 1 + element; its bytes in the packet */
    /* state, bytes parsed so far; the key of its transition, if it has one */
    SW_TRACE_KEY = 4,
    SW_TRACE_PARSED = 5, /* error, bytes */
    /* checksum; 0: not updated, 1: updated, 2: verified, 3: wrong, 4: not verified, 5: no header */
    SW_TRACE_CHECKSUM = 6,
    SW_TRACE_STAGE = 7, /* 0 ingress, 1 egress, 2 deparser, 3 parser; 0 start, 1 end */
    SW_TRACE_CONDITION = 8, /* 65,536 times the pipeline + node; 0 or 1 */
    SW_TRACE_TABLE = 9, /* table; the key */
    SW_TRACE_ENTRY = 10, /* table; the entry's handle, UINT32_MAX: a miss */
    SW_TRACE_ACTION = 11, /* action; arguments */
    SW_TRACE_PRIMITIVE = 12, /* action, statement */
    SW_TRACE_PARSER_STEP = 13, /* state, statement */
    SW_TRACE_DECIDED = 14, /* pipeline, egress port; struct sw_trace_decision */
    SW_TRACE_DEQUEUED = 15, /* before egress: port, queue; struct sw_trace_queue */
    SW_TRACE_EMITTED = 16, /* header */
    SW_TRACE_SENT = 17, /* port, length; the frame */
};

enum { SW_TRACE_FRAME = 256 /* bytes of a frame, at most */ };

struct sw_trace_decision {
    uint32_t length, mcast_grp, drop_port;
    int32_t clone_session, resubmit_list, recirculate_list, digest_list;
};

struct sw_trace_queue {
    uint32_t enq_qdepth, deq_qdepth, deq_timedelta, enq_timestamp; /* us */
    uint32_t egress_rid, instance_type, length;
};

/* A number for a packet that comes to ingress, from 1; the latest. */
uint64_t sw_trace_begin(struct sw_instance *);
uint64_t sw_trace_latest(const struct sw_instance *);
void sw_trace(struct sw_instance *, uint64_t packet, uint32_t kind, uint32_t a, uint32_t b,
              const void *data, size_t length);

/* ---- runtime functions for generated code (resolved from the runtime library at load) ---- */

/* The default entry, which runs on a miss, or NULL. */
const struct sw_entry *sw_default_entry(const struct sw_table *);

/* 0 green, 1 yellow, 2 red; index out of range: 0. */
uint32_t sw_meter_execute(struct sw_meter_array *, uint64_t index, uint32_t bytes, uint64_t now_us);

/* The same for an entry's direct meter; green while it is not configured. */
uint32_t sw_meter_execute_direct(const struct sw_entry *, uint32_t bytes, uint64_t now_us);

/* Assert `number` failed: warns, once a second at most, and says how often. */
void sw_assert_failed(struct sw_instance *, uint32_t number);

/* Over whole bytes, as BMv2's calculations of the same names. */
uint64_t sw_hash_crc16(const uint8_t *, size_t);
uint64_t sw_hash_crc32(const uint8_t *, size_t);
uint64_t sw_hash_crc_ccitt(const uint8_t *, size_t);
uint64_t sw_hash_xor16(const uint8_t *, size_t);
uint64_t sw_hash_csum16(const uint8_t *, size_t); /* Internet checksum */
/* the first eight bytes as a number, big endian */
static inline uint64_t sw_hash_identity(const uint8_t *data, size_t length)
{
    uint64_t value = 0;
    for (size_t i = 0; i < length && i < 8; i++) value = value << 8 | data[i];
    return value;
}

/* A CRC-32 is the sum of what each byte adds to it, which its value and the number of bytes behind
 * it decide: [behind][byte]. So that of few bytes is summed at once, where sw_hash_crc32 has each
 * wait for those before. The first four bytes are complemented before, and the sum at the end. */
enum { SW_SHORT_CRC32 = 16 /* bytes */ };
extern uint32_t sw_crc32_tables[SW_SHORT_CRC32][256];

uint64_t sw_random(struct sw_instance *, uint64_t low, uint64_t high); /* both included */

#include "lookup.h"

#endif
