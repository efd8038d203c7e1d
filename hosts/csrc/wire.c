/* Parses and stamps data packets. Each received IPv4 checksum and ICRC is checked, so that
 * corruption by a switch shows. */
#include "wire.h"

#include <string.h>

enum {
    IP = WIRE_IP,
    UDP = WIRE_UDP,
    BTH = WIRE_BTH,
    PSN = WIRE_PSN,
    PAYLOAD = WIRE_PAYLOAD,
    ICRC = WIRE_ICRC_BYTES
};
enum { PROTOCOL_UDP = 17, SLICES = 8 };

static uint32_t crc_table[SLICES][256];

/* Runs in dlopen; constant afterwards. Slicing by eight: one table for each of eight bytes. */
__attribute__((constructor)) static void make_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
        crc_table[0][byte] = crc;
    }
    for (int slice = 1; slice < SLICES; slice++) {
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t before = crc_table[slice - 1][byte];
            crc_table[slice][byte] = before >> 8 ^ crc_table[0][before & 0xff];
        }
    }
}

/* Ethernet's CRC-32, without the initial and final complement. */
static uint32_t crc32(uint32_t crc, const uint8_t *data, uint32_t length)
{
    for (; length >= SLICES; data += SLICES, length -= SLICES) {
        crc ^= (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
               (uint32_t)data[3] << 24;
        crc = crc_table[7][crc & 0xff] ^ crc_table[6][crc >> 8 & 0xff] ^
              crc_table[5][crc >> 16 & 0xff] ^ crc_table[4][crc >> 24] ^ crc_table[3][data[4]] ^
              crc_table[2][data[5]] ^ crc_table[1][data[6]] ^ crc_table[0][data[7]];
    }
    for (; length > 0; data++, length--) crc = crc >> 8 ^ crc_table[0][(crc ^ *data) & 0xff];
    return crc;
}

/* Of data, where it says so; none, where it is too short. */
static uint32_t telemetry_bytes(const uint8_t *frame, uint32_t length)
{
    bool data = frame[BTH] == WIRE_UC_SEND_ONLY || frame[BTH] == WIRE_RC_SEND_ONLY;
    bool has = data && frame[WIRE_BECN] & WIRE_HAS_TELEMETRY &&
               length >= PAYLOAD + WIRE_TELEMETRY_BYTES + ICRC;
    return has ? WIRE_TELEMETRY_BYTES : 0;
}

/* The invariant CRC (RoCEv2, Annex A17.3.3): over eight bytes of ones, for the local route header,
 * then the packet from IPv4 on, with ones in the fields that switches may change. */
static uint32_t icrc(const uint8_t *frame, uint32_t length)
{
    enum { START = IP - 8 };
    uint32_t start = PAYLOAD + telemetry_bytes(frame, length);
    uint8_t masked[PAYLOAD + WIRE_TELEMETRY_BYTES]; /* offsets as in the frame */
    memset(masked + START, 0xff, 8);
    memcpy(masked + IP, frame + IP, PAYLOAD - IP);
    masked[IP + 1] = 0xff;             /* TOS */
    masked[IP + 8] = 0xff;             /* TTL */
    memset(masked + IP + 10, 0xff, 2); /* IPv4 checksum */
    memset(masked + UDP + 6, 0xff, 2); /* UDP checksum */
    masked[BTH + 4] = 0xff;            /* FECN, BECN */
    memset(masked + PAYLOAD, 0xff, start - PAYLOAD);
    uint32_t crc = crc32(0xffffffffu, masked + START, start - START);
    return ~crc32(crc, frame + start, length - start - ICRC);
}

/* 802.3 Annex 31D: PFC goes to this group address alone, which no bridge forwards. (31B lets PAUSE
 * go to a station's own, too.) */
static const uint8_t pfc_destination[] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};

static enum wire_kind read_pfc(const uint8_t *frame, uint32_t length, struct wire_pfc *pfc)
{
    if (length < WIRE_PFC_QUANTA + 2 * WIRE_CLASSES ||
        wire_load16(frame + WIRE_PFC_OPCODE) != WIRE_OPCODE_PFC)
        return WIRE_BAD;
    if (memcmp(frame, pfc_destination, sizeof pfc_destination) != 0) return WIRE_BAD;
    pfc->enabled = frame[WIRE_PFC_ENABLED];
    for (int i = 0; i < WIRE_CLASSES; i++)
        pfc->quanta[i] = (uint16_t)wire_load16(frame + WIRE_PFC_QUANTA + 2 * i);
    return WIRE_PFC;
}

static enum wire_kind read_data(const uint8_t *frame, uint32_t length, struct wire_data *data)
{
    const uint8_t *bth = frame + BTH;
    uint32_t whole = IP + wire_load16(frame + IP + 2), padding = bth[1] >> 4 & 3;
    bool fragment = (wire_load16(frame + IP + 6) & 0x3fff) != 0;
    if (whole > length || whole < PAYLOAD + ICRC || fragment || !wire_checksum_right(frame + IP))
        return WIRE_BAD;
    if (wire_load16(frame + UDP + 4) != whole - UDP || (bth[1] & 0xf) != 0) return WIRE_BAD;
    uint32_t telemetry = telemetry_bytes(frame, whole);
    if ((frame[WIRE_BECN] & WIRE_HAS_TELEMETRY) != 0 && telemetry == 0) return WIRE_BAD;
    if (whole <= PAYLOAD + telemetry + ICRC + padding) return WIRE_BAD;
    const uint8_t *end = frame + whole - ICRC;
    uint32_t crc =
        (uint32_t)end[0] | (uint32_t)end[1] << 8 | (uint32_t)end[2] << 16 | (uint32_t)end[3] << 24;
    if (crc != icrc(frame, whole)) return WIRE_BAD;
    *data = (struct wire_data){
        .src_ip = wire_load32(frame + IP + 12),
        .flow = wire_load24(frame + WIRE_QP),
        .psn = wire_load24(bth + 9),
        .length = whole,
        .payload = whole - PAYLOAD - telemetry - ICRC - padding,
        .ecn = frame[WIRE_TOS] & 3,
        .last = (bth[1] & WIRE_LAST) != 0,
        .ack_request = (bth[8] & WIRE_ACKREQ) != 0,
        .reliable = bth[0] == WIRE_RC_SEND_ONLY,
        .first = (bth[8] & WIRE_FIRST) != 0,
        .src_mac = frame + 6,
        .telemetry = telemetry != 0 ? frame + WIRE_TELEMETRY : NULL,
    };
    return WIRE_DATA;
}

enum wire_kind wire_read(const uint8_t *frame, uint32_t length, uint32_t own_ip,
                         union wire_content *content)
{
    if (length < IP) return WIRE_OTHER;
    uint32_t type = wire_load16(frame + WIRE_TYPE);
    if (type == WIRE_TYPE_MAC_CONTROL) return read_pfc(frame, length, &content->pfc);
    if (type != WIRE_TYPE_IPV4 || length < BTH + 1 || frame[IP] != 0x45 ||
        frame[IP + 9] != PROTOCOL_UDP)
        return WIRE_OTHER;
    uint32_t port = wire_load16(frame + WIRE_DST_PORT);
    if ((port != WIRE_ROCE_PORT && port != WIRE_CNM_PORT) ||
        wire_load32(frame + WIRE_DST_IP) != own_ip)
        return WIRE_OTHER;
    bool data = frame[BTH] == WIRE_UC_SEND_ONLY || frame[BTH] == WIRE_RC_SEND_ONLY;
    if (port == WIRE_CNM_PORT || !data) return WIRE_NOTIFICATION;
    return read_data(frame, length, &content->data);
}

void wire_stamp(uint8_t *frame, const uint8_t *model, uint32_t length, uint32_t psn, uint8_t bits)
{
    memcpy(frame, model, length - ICRC);
    frame[PSN] |= bits;
    for (int i = 0; i < 3; i++) frame[PSN + 1 + i] = (uint8_t)(psn >> (16 - 8 * i));
    uint32_t crc = icrc(frame, length);
    for (int i = 0; i < ICRC; i++) frame[length - ICRC + (uint32_t)i] = (uint8_t)(crc >> 8 * i);
}
