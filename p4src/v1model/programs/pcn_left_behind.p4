// PCN with another reading of "threshold zero", for docs/fairness.md: a packet is marked if it leaves packets behind.

#include "../switch.p4"
#include "../np_ecn.p4"

control PcnLeftBehindEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    SwitchEgress() departure;
    NpEcn() np_ecn;

    apply {
        departure.apply(hdr, meta, std_meta);
        if (meta.departs == 1) {
            meta.found_waiting = meta.left_bytes != 0 ? 1w1 : 0;
            np_ecn.apply(hdr, meta);
        }
    }
}

@pkginfo(name="pcn_left_behind", version="1", organization="PCN Lab")
V1Switch(SwitchParser(), VerifyIpv4Checksum(), SwitchIngress(), PcnLeftBehindEgress(), ComputeIpv4Checksum(), SwitchDeparser()) main;
