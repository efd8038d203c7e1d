// TCD with its RESUME told by the rest of a port: the states as Tofino has them. It counts where PFC's own RESUME, which
// the common switch knows anyway, would have decided otherwise.

#define TELLS_RESUME
#include "../switch.p4"
#include "../red_ecn.p4"
#include "../rest.p4"
#include "../tcd_port.p4"

// Of an egress port and class: when PFC told its latest RESUME.
register<time_us_t, index_t>(N_INDEXES) told_at;

// Packets that left an egress port and class undetermined by one of the two alone.
counter<index_t>(N_INDEXES, CounterType.packets) marked_ue_by_time;
counter<index_t>(N_INDEXES, CounterType.packets) marked_ue_by_pfc;

control TcdTimeEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    RestArrival() rest_arrival;
    SwitchEgress() departure;
    Rest() rest;
    TcdPort() tcd_port;
    RedEcn() red_ecn;
    rest_t seen;
    tcd_state_t state;
    time_us_t max_ton;
    time_us_t told;

    // Makes `told` the latest RESUME, where there is none at this departure.
    @hidden action tell(index_t index) {
        bit<48> before;
        told_at.read(before, index);
        told = told != 0 ? told : before;
        told_at.write(index, told);
    }

    apply {
        rest_arrival.apply(meta, std_meta);
        departure.apply(hdr, meta, std_meta);
        if (meta.departs == 1) {
            index_t index = meta.egress_port ++ meta.class;
            time_us_t now = std_meta.egress_global_timestamp;
            bool takes_ue = hdr.ipv4.ecn == ECN_ECT0 || hdr.ipv4.ecn == ECN_UE;
            told = meta.resumed_at;
            tell(index);
            rest.apply(meta, std_meta, seen);
            meta.resumed_at = seen.shows == 1 ? now : 0;
            tcd_port.apply(hdr, meta, now, state, max_ton);
            if (state == NON_CONGESTION || state == CONGESTION) {
                red_ecn.apply(hdr, meta);
            }
            // tcd_port.p4's condition.
            bool by_pfc = told != 0 && max_ton != 0 && now - told <= max_ton;
            if (takes_ue && by_pfc && state != UNDETERMINED) {
                marked_ue_by_pfc.count(index);
            } else if (takes_ue && !by_pfc && state == UNDETERMINED) {
                marked_ue_by_time.count(index);
            }
        }
    }
}

@pkginfo(name="tcd_time", version="1", organization="PCN Lab")
V1Switch(SwitchParser(), VerifyIpv4Checksum(), SwitchIngress(), TcdTimeEgress(), ComputeIpv4Checksum(), SwitchDeparser()) main;
