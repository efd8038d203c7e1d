/* Owns flows' paths: which link a flow's data leaves each switch by, as given, or as the programs
 * chose. */
#ifndef VN_PATHS_H
#define VN_PATHS_H

#include "switches/switch.h"

struct vn_paths;
static void vn_paths_free(struct vn_paths *);
/* Before a run: there is room for the paths of all flows. False: out of memory. */
static bool vn_paths_room(struct vn_context *);
/* Paths are given or logged: the link by which the packet leaves the switch, of which the program
 * chose `link`. */
static uint32_t vn_path_taken(struct vn_context *, uint32_t link, const struct vn_packet *);

#endif
