// The data plane of schemes that measure delays: the common switch, which marks nothing.

#include "../switch.p4"

// As in np_ecn.p4. Nothing counts here: whoever reads marks by port and class finds none.
counter<index_t>(N_INDEXES, CounterType.packets_and_bytes) marked;

@pkginfo(name="plain", version="1", organization="PCN Lab")
V1Switch(SwitchParser(), VerifyIpv4Checksum(), SwitchIngress(), SwitchEgress(), ComputeIpv4Checksum(), SwitchDeparser()) main;
