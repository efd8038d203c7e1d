/* Parses and stamps data packets. Each received IPv4 checksum and ICRC is checked, so that
 * corruption by a switch shows. */
#include "wire.h"

#include <string.h>

#include "../../softswitch/csrc/icrc.h"

enum {
    IP = WIRE_IP,
    UDP = WIRE_UDP,
    BTH = WIRE_BTH,
    PSN = WIRE_PSN,
    PAYLOAD = WIRE_PAYLOAD,
    ICRC = WIRE_ICRC_BYTES
};
enum { PROTOCOL_UDP = 17 };

_Static_assert((int)PAYLOAD == (int)ICRC_HEADERS &&
                   (int)WIRE_TELEMETRY_BYTES == (int)ICRC_TELEMETRY,
               "icrc.h has another layout");

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
    uint32_t telemetry = icrc_telemetry(frame, whole);
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
    icrc_store(frame, length);
}
