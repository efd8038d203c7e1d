// The data plane of schemes that measure delays: the common switch, which marks nothing.

#include "../switch.p4"

@pkginfo(name="plain", version="1", organization="PCN Lab")
V1Switch(SwitchParser(), VerifyIpv4Checksum(), SwitchIngress(), SwitchEgress(), ComputeIpv4Checksum(), SwitchDeparser()) main;
