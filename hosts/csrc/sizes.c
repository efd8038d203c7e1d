/* Sizes of the structures that hosts/structures.py mirrors, in its order: it checks them. */
#include "loop.h"

extern const uint64_t hosts_sizes[];
const uint64_t hosts_sizes[] = {
    sizeof(struct event),         sizeof(struct events),        sizeof(struct nic_state),
    sizeof(struct nic_flow),      sizeof(struct nic_item),      sizeof(struct transport),
    sizeof(struct reliable),      sizeof(struct nic_answer),    sizeof(struct reliable_receiver),
    sizeof(struct received_flow), sizeof(struct loop_settings), sizeof(struct loop_port),
    sizeof(struct loop_state),
};
