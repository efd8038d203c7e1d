// TCD's data plane: the common switch with TCD's states of a port, and RED where these leave it to RED.

#define TELLS_RESUME
#define COUNTS_CREDITS
#include "../switch.p4"
#include "../red_ecn.p4"
#include "../tcd_port.p4"

control TcdEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std_meta) {
    SwitchEgress() departure;
    TcdPort() tcd_port;
    RedEcn() red_ecn;
    tcd_state_t state;
    time_us_t max_ton;

    apply {
        departure.apply(hdr, meta, std_meta);
        if (meta.departs == 1) {
            tcd_port.apply(hdr, meta, std_meta.egress_global_timestamp, state, max_ton);
            if (state == NON_CONGESTION || state == CONGESTION) {
                red_ecn.apply(hdr, meta);
            }
        }
    }
}

@pkginfo(name="tcd", version="1", organization="PCN Lab")
V1Switch(SwitchParser(), VerifyIpv4Checksum(), SwitchIngress(), TcdEgress(), ComputeIpv4Checksum(), SwitchDeparser()) main;
