/* pcap files (IETF draft-ietf-opsawg-pcap): time stamps in nanoseconds, link type Ethernet. Each
 * call says whether the file took it all; errno has the reason. */
#ifndef SW_PCAP_H
#define SW_PCAP_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

static inline bool sw_pcap_begin(FILE *file, uint32_t longest)
{
    const uint32_t header[] = {0xa1b23c4d, 2 | 4u << 16, 0, 0, longest, 1};
    return fwrite(header, sizeof header, 1, file) == 1;
}

/* A frame of `length` bytes, of which the first `stored` go into the file. */
static inline bool sw_pcap_frame(FILE *file, uint64_t ns, const uint8_t *frame, uint32_t stored,
                                 uint32_t length)
{
    const uint32_t record[] = {(uint32_t)(ns / 1000000000u), (uint32_t)(ns % 1000000000u), stored,
                               length};
    return fwrite(record, sizeof record, 1, file) == 1 &&
           (stored == 0 || fwrite(frame, stored, 1, file) == 1);
}

/* The reason for which the file isn't whole, as errno has it; 0: it is. `before`: one that is
 * known. */
static inline int sw_pcap_end(FILE *file, int before)
{
    return fclose(file) == 0 || before != 0 ? before : errno;
}

#endif
