// The chip's architecture: Tofino 1's, and Tofino 2's where the compiler is told so.

#ifndef PCN_TNA_ARCHITECTURE_P4
#define PCN_TNA_ARCHITECTURE_P4

#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
#else
#include <tna.p4>
#endif

#endif
