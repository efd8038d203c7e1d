// PCN's data plane for Tofino: the switch with NP-ECN by time.
//
// v1model twin: pcn_time.p4, and pcn.p4 with the paper's counter.

#include "switch.p4"
#include "rest.p4"
#include "np_ecn.p4"

control PcnEgress(inout headers_t hdr,
                  inout egress_metadata_t meta,
                  in egress_intrinsic_metadata_t eg_md,
                  in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                  inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                  inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    SwitchEgress() departure;
    Rest() rest;
    NpEcn() np_ecn;

    apply {
        departure.apply(hdr, meta.class, eg_md);
        rest.apply(meta, eg_md, eg_prsr_md);
        np_ecn.apply(hdr, meta, eg_md);
    }
}

Pipeline(SwitchIngressParser(), SwitchIngress(), SwitchIngressDeparser(),
         SwitchEgressParser(), PcnEgress(), SwitchEgressDeparser()) pipe;

@pkginfo(name="pcn", version="1", organization="PCN Lab")
Switch(pipe) main;
