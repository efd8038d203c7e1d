// QCN with congestion points at inputs and at outputs that have buffers of their own: each port's table entries decide.

#include "../switch.p4"
#include "../qcn_in_cp.p4"
#include "../qcn_out_cp.p4"

control QcnBothIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    SwitchIngress() arrival;
    GeneratedInput() input;
    QcnInAdmit() admit;

    apply {
        bool generated = std_meta.ingress_port == GENERATOR_PORT;
        if (generated) {
            input.apply(hdr, meta);
            mark_to_drop(std_meta);
        } else {
            arrival.apply(hdr, meta, std_meta);
        }
        if (generated || meta.admitted == 1) {
            bit<32> length = generated ? 0 : std_meta.packet_length;
            admit.apply(hdr, meta, length, std_meta.ingress_global_timestamp);
        }
    }
}

control QcnBothEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    SwitchEgress() departure;
    QcnInDepart() depart;
    QcnOutCongestionPoint() output;
    GeneratedHeaders() headers;
    CnmFromClone() message;

    apply {
        bool cloned = std_meta.instance_type == INSTANCE_INGRESS_CLONE
                      || std_meta.instance_type == INSTANCE_EGRESS_CLONE;
        if (cloned && meta.feedback != 0) {
            if (!hdr.bth.isValid()) {
                headers.apply(hdr, meta);
            }
            message.apply(hdr, meta);
        } else {
            // If a pause sends it round, a packet keeps the time it began to wait.
            if (meta.kind == kind_t.NEW) {
                meta.enqueued_at = std_meta.enq_timestamp;
            }
            departure.apply(hdr, meta, std_meta);
            if (!cloned && meta.kind != kind_t.PFC) {
                depart.apply(hdr, meta, std_meta.packet_length, std_meta.egress_global_timestamp);
                if (meta.kind != kind_t.CNM) {
                    output.apply(hdr, meta, std_meta.packet_length, std_meta.deq_qdepth);
                }
            }
            if (meta.kind == kind_t.CNM) {
                truncate(CNM_FRAME_BYTES);
            }
        }
    }
}

@pkginfo(name="qcn_both", version="1", organization="PCN Lab")
V1Switch(SwitchParser(), VerifyIpv4Checksum(), QcnBothIngress(), QcnBothEgress(), ComputeIpv4Checksum(), SwitchDeparser()) main;
