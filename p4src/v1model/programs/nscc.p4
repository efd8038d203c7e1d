// NSCC's data plane: the common switch with RED by the traffic manager's depth.

#include "../switch.p4"
#include "../red_depth.p4"

control NsccEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    SwitchEgress() departure;
    RedDepth() red_depth;

    apply {
        departure.apply(hdr, meta, std_meta);
        if (meta.departs == 1) {
            red_depth.apply(hdr, meta, std_meta);
        }
    }
}

@pkginfo(name="nscc", version="1", organization="PCN Lab")
V1Switch(SwitchParser(), VerifyIpv4Checksum(), SwitchIngress(), NsccEgress(), ComputeIpv4Checksum(), SwitchDeparser()) main;
