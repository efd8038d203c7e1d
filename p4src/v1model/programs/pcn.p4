// PCN's data plane, and that of schemes that need no marks: the common switch with NP-ECN.

#include "../switch.p4"
#include "../np_ecn.p4"

control PcnEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    SwitchEgress() departure;
    NpEcn() np_ecn;

    apply {
        departure.apply(hdr, meta, std_meta);
        if (meta.departs == 1) {
            np_ecn.apply(hdr, meta);
        }
    }
}

@pkginfo(name="pcn", version="1", organization="PCN Lab")
V1Switch(SwitchParser(), VerifyIpv4Checksum(), SwitchIngress(), PcnEgress(), ComputeIpv4Checksum(), SwitchDeparser()) main;
