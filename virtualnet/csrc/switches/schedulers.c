/* Schedulers of a class's packets beside FIFO: NAME stands for `const struct vn_scheduler
 * vn_scheduler_NAME` (scheduler.h), of its file or of another folder's. */
#include "switches/round_robin.c"

#ifndef VN_MORE_SCHEDULERS
#define VN_MORE_SCHEDULERS(X)
#endif
#define VN_SCHEDULERS(X)                                                                           \
    X(round_robin)                                                                                 \
    VN_MORE_SCHEDULERS(X)
