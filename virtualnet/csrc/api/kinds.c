/* The kinds of register.h, by number: what the order of events and hosts call without knowing
 * it. */
#include "api/net.h"
#include "links/faults.h"
#include "links/pfc.h"
#include "switches/watchdog.h"

#define VN_KIND(name, happen, node_of, replaced) [VN_EV_##name] = {happen, node_of, replaced},
static const struct vn_event_kind vn_event_kinds[] = {VN_EVENT_KINDS(VN_KIND)};
#undef VN_KIND

#define VN_ENDPOINT(name) static const struct vn_endpoint_kind vn_endpoint_##name;
VN_ENDPOINTS(VN_ENDPOINT)
#undef VN_ENDPOINT

#define VN_ENDPOINT(name) [VN_ENDPOINT_##name] = &vn_endpoint_##name,
static const struct vn_endpoint_kind *const vn_endpoint_kinds[VN_ENDPOINT_KINDS] = {
    VN_ENDPOINTS(VN_ENDPOINT)};
#undef VN_ENDPOINT
