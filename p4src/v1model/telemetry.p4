// In-band telemetry (INT), HPCC's congestion point (SIGCOMM'19, 3.2): where a data packet has room for it (telemetry_t),
// its hop pushes the type of its link's rate, when the packet left, what its port had sent until then, and what waits in
// its class behind it.
//
// The time stamp is v1model's, of microseconds. The packet itself isn't in the bytes sent, as it leaves from then on: two
// packets' records have between them what was sent from the one's stamp to the other's. A program that includes this file
// defines CARRIES_TELEMETRY.
//
// TNA twin: none yet. Its egress has the nanoseconds of egress_global_tstamp, and deq_qdepth in cells.

#ifndef PCN_V1MODEL_TELEMETRY_P4
#define PCN_V1MODEL_TELEMETRY_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"

// By egress port: bytes of all that left.
register<bit<32>, port_t>(N_PORTS) sent_bytes;

// For a packet that departs.
control TelemetryPush(inout headers_t hdr, in metadata_t meta, in bit<32> length, in time_us_t now) {
    bit<32> sent = 0;
    bit<4> type = 0;
    bit<16> id = 0;
    bit<64> record = 0;

    // rate_type: of the link's rate, see controller/constants.py. hop_id: of this port, in path ids.
    action set_telemetry(bit<4> rate_type, bit<16> hop_id) {
        type = rate_type;
        id = hop_id;
    }

    // Pushes nothing.
    action no_telemetry() { }

    table telemetry_config {
        key = {
            meta.egress_port : exact @name("port");
        }
        actions = {
            set_telemetry;
            @defaultonly no_telemetry;
        }
        default_action = no_telemetry();
        size = 512;
    }

    @hidden action count_sent() {
        sent_bytes.read(sent, meta.egress_port);
        sent_bytes.write(meta.egress_port, sent + length);
    }

    @hidden action make_record() {
        bit<16> waits = meta.left_bytes < 1 << 22 ? meta.left_bytes[21:6] : 0xffff;
        record = type ++ now[23:0] ++ sent[26:7] ++ waits;
        hdr.telemetry.path_id = hdr.telemetry.path_id ^ id;
    }

    apply {
        count_sent();
        if (hdr.telemetry.isValid() && telemetry_config.apply().hit) {
            make_record();
            if (hdr.telemetry.hops == 0) {
                hdr.telemetry.hop0 = record;
            } else if (hdr.telemetry.hops == 1) {
                hdr.telemetry.hop1 = record;
            } else if (hdr.telemetry.hops == 2) {
                hdr.telemetry.hop2 = record;
            } else if (hdr.telemetry.hops == 3) {
                hdr.telemetry.hop3 = record;
            } else if (hdr.telemetry.hops == 4) {
                hdr.telemetry.hop4 = record;
            }
            hdr.telemetry.hops = hdr.telemetry.hops |+| 1;
        }
    }
}

#endif
