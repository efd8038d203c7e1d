// QCN's data plane for Tofino: the switch with congestion points at outputs.
//
// v1model twin: qcn.p4.

#include "switch.p4"
#include "mirror.p4"
#include "qcn_cp.p4"
#include "cnm.p4"

control QcnIngress(inout headers_t hdr,
                   inout ingress_metadata_t meta,
                   in ingress_intrinsic_metadata_t ig_md,
                   in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                   inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                   inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    SwitchIngress() arrival;
    TellOrigin() origin;

    apply {
        arrival.apply(hdr, meta, ig_md, ig_prsr_md, ig_dprsr_md, ig_tm_md);
        origin.apply(meta, ig_md, ig_tm_md);
    }
}

control QcnEgress(inout headers_t hdr,
                  inout copying_metadata_t meta,
                  in egress_intrinsic_metadata_t eg_md,
                  in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                  inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                  inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    SwitchEgress() departure;
    QcnCongestionPoint() congestion_point;
    CnmSend() message;

    apply {
        if (meta.origin.kind == kind_t.NEW) {
            class_t class;
            departure.apply(hdr, class, eg_md);
            congestion_point.apply(hdr, meta, eg_md);
        }
        message.apply(hdr, meta, eg_md, eg_dprsr_md);
    }
}

Pipeline(SwitchIngressParser(), QcnIngress(), CopyIngressDeparser(),
         CopyEgressParser(), QcnEgress(), CopyEgressDeparser()) pipe;

@pkginfo(name="qcn", version="1", organization="PCN Lab")
Switch(pipe) main;
