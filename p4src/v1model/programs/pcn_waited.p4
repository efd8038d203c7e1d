// PCN with another reading of "threshold zero", for docs/fairness.md: a packet is marked if it had to wait at all, be it
// for the one that was being sent. v1model tells the time in microseconds: shorter waits may count as none.

#include "../switch.p4"
#include "../np_ecn.p4"

control PcnWaitedEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    SwitchEgress() departure;
    NpEcn() np_ecn;

    apply {
        departure.apply(hdr, meta, std_meta);
        if (meta.departs == 1) {
            meta.found_waiting = std_meta.deq_timedelta != 0 ? 1w1 : 0;
            np_ecn.apply(hdr, meta);
        }
    }
}

@pkginfo(name="pcn_waited", version="1", organization="PCN Lab")
V1Switch(SwitchParser(), VerifyIpv4Checksum(), SwitchIngress(), PcnWaitedEgress(), ComputeIpv4Checksum(), SwitchDeparser()) main;
