// TCD's data plane for Tofino: the switch with TCD's states of a port, RESUME told by its rest, and RED where these leave
// it to RED.
//
// v1model twin: tcd_time.p4, and tcd.p4, which PFC tells its RESUME.

#include "switch.p4"
#include "rest.p4"
#include "red_ecn.p4"
#include "tcd_port.p4"

control TcdEgress(inout headers_t hdr,
                  inout egress_metadata_t meta,
                  in egress_intrinsic_metadata_t eg_md,
                  in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                  inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                  inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    SwitchEgress() departure;
    Rest() rest;
    RedDraw() red_draw;
    TcdPort() tcd_port;
    RedEcn() red_ecn;

    apply {
        departure.apply(hdr, meta.class, eg_md);
        rest.apply(meta, eg_md, eg_prsr_md);
        red_draw.apply(meta, eg_md);
        tcd_port.apply(hdr, meta, eg_md, eg_prsr_md);
        red_ecn.apply(hdr, meta, eg_md);
    }
}

Pipeline(SwitchIngressParser(), SwitchIngress(), SwitchIngressDeparser(),
         SwitchEgressParser(), TcdEgress(), SwitchEgressDeparser()) pipe;

@pkginfo(name="tcd", version="1", organization="PCN Lab")
Switch(pipe) main;
