// The switch that every scheme shares: RoCEv2 forwarding over lossless classes, with PFC. A top program adds its
// marking point (or what else its scheme does in switches) and makes `main` of it all: see programs/pcn.p4.
//
//   frame -> SwitchParser -> VerifyIpv4Checksum
//     |
//   SwitchIngress  PfcConfig (thresholds of the first ingress port)
//     |        new:      Validate --bad--> dropped[port, reason]
//     |                    | PFC frame: PfcReceive (pause state, pn), gone; with credits, flow control packets likewise
//     |                    | IPv4: Forwarding (route, or the flow's port of a group) --no route, TTL--> dropped
//     |                          PortAdmit (waiting), PfcAdmit (held_bytes) ..PAUSE..> clone
//     |        CNM:      as if new
//     |        held:     back to its queue
//     |        PFC to be: to the highest queue of its port
//     |
//   traffic manager: queues by class, the highest first
//     |
//   SwitchEgress  clone at RECIRC_PORT: PfcFromClone ~~> ingress
//     |        PFC to be: PfcFrame
//     |        others:    PortDepart (waiting, pause, pn), PfcDepart ..RESUME, PAUSE again..> clone
//     |                    | paused: ~~> ingress
//     |                    | transmitted
//   marking point, for a packet that departs
//     |
//   ComputeIpv4Checksum -> SwitchDeparser -> frame            ~~> recirculated
//
// Everything is per port and class. What comes back from the switch itself (held packets, PFC frames to
// be) is known by its metadata, which no frame from outside can set, and is never counted
// as new. Compiled with -DNATIVE_PFC, for a target that pauses queues by itself, all that
// pfc_emulation.p4 does is left out.
//
// TNA twin: the same picture without recirculation; each of its parts says what else changes.

#ifndef PCN_V1MODEL_SWITCH_P4
#define PCN_V1MODEL_SWITCH_P4

#define V1MODEL_VERSION 20200408
#include <core.p4>
#include <v1model.p4>

#include "../shared/constants.p4"
#include "../shared/headers.p4"
#include "metadata.p4"
#include "parser.p4"
#include "checksum.p4"
#include "forwarding.p4"
#include "pfc.p4"
#ifdef COUNTS_CREDITS
#include "credit.p4"
#endif
#ifndef NATIVE_PFC
#include "pfc_emulation.p4"
#endif

// By port the packet came in at, and drop_reason_t.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) dropped;
// By port and class. PFC frames aren't in it.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) transmitted;

control SwitchIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    Validate() validate;
    Forwarding() forwarding;
    PfcConfig() pfc;
    PfcReceive() pfc_receive;
    PortAdmit() port_admit;
#ifndef NATIVE_PFC
    PfcAdmit() pfc_admit;
#endif
#ifdef COUNTS_CREDITS
    CreditReceive() credit_receive;
#endif

    apply {
        if (std_meta.instance_type != INSTANCE_RECIRCULATED) {
            meta.ingress_port = std_meta.ingress_port;
        }
        pfc.apply(meta);

        if (meta.kind == kind_t.NEW || meta.kind == kind_t.CNM) {
            time_us_t now = std_meta.ingress_global_timestamp;
            validate.apply(hdr, meta, std_meta);
            if (meta.discard == 0) {
                if (hdr.pfc.isValid()) {
                    pfc_receive.apply(hdr, meta, now);
#ifdef COUNTS_CREDITS
                } else if (meta.is_flow_control == 1) {
                    credit_receive.apply(meta, now);
#endif
                } else {
                    forwarding.apply(hdr, meta);
                }
            }
            if (meta.discard == 1) {
                dropped.count(meta.ingress_port ++ (bit<3>) meta.reason);
                mark_to_drop(std_meta);
            } else if (hdr.pfc.isValid()) {
                mark_to_drop(std_meta);
#ifdef COUNTS_CREDITS
            } else if (meta.is_flow_control == 1) {
                mark_to_drop(std_meta);
#endif
            } else {
                meta.is_lossless = (bit<1>) (meta.lossless >> meta.class);
                port_admit.apply(meta, std_meta.packet_length);
#ifndef NATIVE_PFC
                pfc_admit.apply(meta, std_meta.packet_length, now);
#endif
                std_meta.egress_spec = meta.egress_port;
                std_meta.priority = meta.class;
                meta.admitted = 1;
            }
        } else {
            meta.is_lossless = (bit<1>) (meta.lossless >> meta.class);
            if (meta.kind == kind_t.PFC) {
                std_meta.egress_spec = meta.ingress_port;
                std_meta.priority = HIGHEST_CLASS;
            } else {
                std_meta.egress_spec = meta.egress_port;
                std_meta.priority = meta.class;
            }
        }
    }
}

// Sets meta.departs for a packet that leaves here and isn't a frame of the switch's own: a marking point applies to these.
control SwitchEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
#ifdef NATIVE_PFC
    PortDepart(false) port_depart;
#else
    PortDepart(true) port_depart;
    PfcDepart() pfc_depart;
    PfcFromClone() pfc_from_clone;
    PfcFrame() pfc_frame;
#endif
#ifdef COUNTS_CREDITS
    CreditDepart() credit_depart;
#endif

    apply {
        time_us_t now = std_meta.egress_global_timestamp;
#ifndef NATIVE_PFC
        if (std_meta.instance_type == INSTANCE_INGRESS_CLONE || std_meta.instance_type == INSTANCE_EGRESS_CLONE) {
            pfc_from_clone.apply(meta);
            return;
        }
        if (meta.kind == kind_t.PFC) {
            pfc_frame.apply(hdr, meta);
            return;
        }
#endif
        port_depart.apply(meta, std_meta.packet_length, now);
#ifndef NATIVE_PFC
        pfc_depart.apply(meta, std_meta.packet_length, now);
#endif
        if (meta.hold == 0) {
            meta.departs = 1;
#ifdef COUNTS_CREDITS
            credit_depart.apply(meta, std_meta.packet_length);
#endif
            transmitted.count(meta.egress_port ++ meta.class);
        }
    }
}

#endif
