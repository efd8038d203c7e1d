/* Packet trimming, a property of a switch's queues beside the program, as v1model has no hook
 * where a queue refuses a packet: one that finds its queue full is cut to its headers, and goes
 * to another queue of its port with another DSCP, so that its receiver can request it at once
 * (NDP, SIGCOMM'17; Ultra Ethernet 1.0). The live switch (run.c) and virtual time share this.
 *
 * The program's egress sees the packet as its ingress left it, with its whole length, so that
 * what the program counts stays right: the frame is cut behind it. */
#ifndef SW_TRIM_H
#define SW_TRIM_H

#include <stdbool.h>
#include <stdint.h>

/* Fewer bytes would cut the headers of RoCEv2; more, no: SONiC's limits. */
enum { SW_TRIM_LEAST = 64, SW_TRIM_MOST = 1024 };

/* Of a port. By SONiC's names (SWITCH_TRIMMING); `queues`: bit mask of those that trim where they
 * refuse, 0: none does. */
struct sw_trimming {
    uint16_t size; /* of a frame, bytes */
    uint8_t dscp_value, queue_index;
    uint8_t queues;
    /* in so many of 100 cases a full queue trims the packet that waits last, and takes the one
     * that comes, which else is trimmed */
    uint8_t tail_percent;
    /* how many packets of queue_index leave in a row, at most, while others wait; how many have */
    uint32_t weight, turns;
    uint64_t drawn; /* state of the random numbers by which; any number to begin with */
};

static inline bool sw_trimming_possible(const struct sw_trimming *trimming)
{
    bool sized = trimming->size >= SW_TRIM_LEAST && trimming->size <= SW_TRIM_MOST;
    return sized && trimming->weight != 0 && trimming->dscp_value < 64 &&
           trimming->tail_percent <= 100 && trimming->queue_index < 8 &&
           !(trimming->queues >> trimming->queue_index & 1);
}

/* The queue that is served next, of those in the bit mask, the highest first. Trimmed packets would
 * starve the data of lower queues for ever: after `weight` of them, another packet has its turn. */
static inline uint32_t sw_trim_turn(struct sw_trimming *trimming, uint32_t queues)
{
    uint32_t highest = 31u - (uint32_t)__builtin_clz(queues),
             lower = queues & ((1u << highest) - 1);
    bool limited = highest == trimming->queue_index && lower != 0;
    if (limited && trimming->turns++ < trimming->weight) return highest;
    trimming->turns = 0;
    return limited ? 31u - (uint32_t)__builtin_clz(lower) : highest;
}

/* Whether a frame of so many bytes is trimmed where the queue refuses it. */
static inline bool sw_trims(const struct sw_trimming *trimming, uint32_t queue, uint32_t bytes)
{
    return trimming->queues >> queue & 1 && bytes > trimming->size;
}

/* Whether a full queue trims the packet that waits last, rather than the one that comes: NDP's
 * coin (SIGCOMM'17, 3.1), without which senders in step lose by whose packet always comes at the
 * wrong time. A number is drawn where it decides alone, by SplitMix64 (Steele, Lea, Flood 2014). */
static inline bool sw_trims_tail(struct sw_trimming *trimming)
{
    if (trimming->tail_percent == 0) return false;
    uint64_t mixed = trimming->drawn += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return (mixed ^ mixed >> 31) % 100 < trimming->tail_percent;
}

static inline void sw_trim_store16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* Writes the lengths and the DSCP of a frame that was cut to `bytes`, and its IPv4 checksum. Its
 * UDP checksum becomes 0, none. False: it isn't IPv4, or its header is longer than what is left. */
static inline bool sw_trim(uint8_t *frame, uint32_t bytes, uint8_t dscp)
{
    enum { ETHERNET = 14, UDP = 17 };
    uint8_t *ip = frame + ETHERNET, *udp = ip + 4 * (ip[0] & 15u);
    uint32_t header = (uint32_t)(udp - ip);
    if (frame[12] != 8 || frame[13] != 0 || ip[0] >> 4 != 4 || header < 20 ||
        ETHERNET + header > bytes)
        return false;
    uint32_t length = bytes - ETHERNET, sum = 0;
    /* else what was cut is padding */
    if (((uint32_t)ip[2] << 8 | ip[3]) > length) sw_trim_store16(ip + 2, length);
    bool first = ((ip[6] & 0x1fu) | ip[7]) == 0;
    if (ip[9] == UDP && first && ETHERNET + header + 8 <= bytes) {
        sw_trim_store16(udp + 4, ((uint32_t)ip[2] << 8 | ip[3]) - header);
        sw_trim_store16(udp + 6, 0);
    }
    ip[1] = (uint8_t)(dscp << 2 | (ip[1] & 3u));
    sw_trim_store16(ip + 10, 0);
    for (uint32_t i = 0; i < header; i += 2) sum += (uint32_t)ip[i] << 8 | ip[i + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    sw_trim_store16(ip + 10, ~((sum & 0xffff) + (sum >> 16)) & 0xffff);
    return true;
}

#endif
