// DCQCN's data plane: the common switch with RED.

#include "../switch.p4"
#include "../red_ecn.p4"

control DcqcnEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    SwitchEgress() departure;
    RedEcn() red_ecn;

    apply {
        departure.apply(hdr, meta, std_meta);
        if (meta.departs == 1) {
            red_ecn.apply(hdr, meta);
        }
    }
}

@pkginfo(name="dcqcn", version="1", organization="PCN Lab")
V1Switch(SwitchParser(), VerifyIpv4Checksum(), SwitchIngress(), DcqcnEgress(), ComputeIpv4Checksum(), SwitchDeparser()) main;
