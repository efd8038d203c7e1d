// PCN with NP-ECN by time: the marks as Tofino gives them. It counts where the counter of paused packets, which the
// common switch keeps anyway, would have decided otherwise.

#include "../switch.p4"
#include "../np_ecn_time.p4"

// Packets that left an egress port and class marked by one of the two alone.
counter<index_t>(N_INDEXES, CounterType.packets) marked_by_time;
counter<index_t>(N_INDEXES, CounterType.packets) marked_by_counter;

control PcnTimeEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    RestArrival() rest_arrival;
    NpEcnArrival() np_ecn_arrival;
    SwitchEgress() departure;
    Rest() rest;
    NpEcnTime() np_ecn;
    rest_t told;

    apply {
        rest_arrival.apply(meta, std_meta);
        np_ecn_arrival.apply(meta, std_meta);
        departure.apply(hdr, meta, std_meta);
        if (meta.departs == 1) {
            index_t index = meta.egress_port ++ meta.class;
            // np_ecn.p4's condition.
            bool counted = meta.class != HIGHEST_CLASS && meta.pn == 0 && meta.found_waiting == 1
                           && hdr.ipv4.ecn != ECN_NOT_ECT;
            rest.apply(meta, std_meta, told);
            np_ecn.apply(hdr, meta, told);
            if (counted && meta.marked == 0) {
                marked_by_counter.count(index);
            } else if (!counted && meta.marked == 1) {
                marked_by_time.count(index);
            }
        }
    }
}

@pkginfo(name="pcn_time", version="1", organization="PCN Lab")
V1Switch(SwitchParser(), VerifyIpv4Checksum(), SwitchIngress(), PcnTimeEgress(), ComputeIpv4Checksum(), SwitchDeparser()) main;
