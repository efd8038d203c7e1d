// DCTCP's data plane: the common switch with marks by the queue on arrival.

#include "../switch.p4"
#include "../arrival_ecn.p4"

control DctcpIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    SwitchIngress() arrival;
    ArrivalEcn() arrival_ecn;

    apply {
        arrival.apply(hdr, meta, std_meta);
        arrival_ecn.apply(hdr, meta);
    }
}

@pkginfo(name="dctcp", version="1", organization="PCN Lab")
V1Switch(SwitchParser(), VerifyIpv4Checksum(), DctcpIngress(), SwitchEgress(), ComputeIpv4Checksum(), SwitchDeparser()) main;
