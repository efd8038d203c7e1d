// QCN's data plane: the common switch with a congestion point where packets are admitted.

#include "../switch.p4"
#include "../qcn_cp.p4"

control QcnIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    SwitchIngress() arrival;
    QcnCongestionPoint() congestion_point;

    apply {
        arrival.apply(hdr, meta, std_meta);
        if (meta.admitted == 1) {
            congestion_point.apply(hdr, meta, std_meta.packet_length);
        }
    }
}

control QcnEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    SwitchEgress() departure;
    CnmFromClone() message;

    apply {
        if (std_meta.instance_type == INSTANCE_INGRESS_CLONE && meta.feedback != 0) {
            message.apply(hdr, meta);
        } else {
            departure.apply(hdr, meta, std_meta);
            if (meta.kind == kind_t.CNM) {
                truncate(CNM_FRAME_BYTES);
            }
        }
    }
}

@pkginfo(name="qcn", version="1", organization="PCN Lab")
V1Switch(SwitchParser(), VerifyIpv4Checksum(), QcnIngress(), QcnEgress(), ComputeIpv4Checksum(), SwitchDeparser()) main;
