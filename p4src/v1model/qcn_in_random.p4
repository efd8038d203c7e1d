// A packet that is inside, each as likely: the culprit by occupancy sampling (RZ 3880). Each RoCE packet of a lossless
// class takes a slot of its ingress port when it is admitted, and gives it back when it departs. A sample looks into
// slots by chance until one is taken, by a packet of the sampled class: a flow is told with probability q_n / q, q in
// packets.
//
// Free slots are on a stack, so that those in use stay close together and few looks miss. A packet that finds no free
// slot can't be the culprit; 255 slots are more than PFC's thresholds let in.
//
// TNA twin: none. A stack is pushed in one gress and popped in the other, and each look would need an array of its own.

#ifndef PCN_V1MODEL_QCN_IN_RANDOM_P4
#define PCN_V1MODEL_QCN_IN_RANDOM_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"
#include "cnm.p4"

// Ingress port ++ slot.
typedef bit<17> slot_index_t;
const bit<32> N_SLOTS = 131072;
const bit<8> SLOTS_A_PORT = 255;

// Of an ingress port: slots in use, and the most that ever were.
register<bit<8>, port_t>(N_PORTS) slots_used;
register<bit<8>, port_t>(N_PORTS) slots_most;
// From slots_used on: the free slots. XOR their place, so that zeros are the stack of a port without packets.
register<bit<8>, slot_index_t>(N_SLOTS) free_slots;
// Class and flow of a slot's packet; 0: free.
register<bit<96>, slot_index_t>(N_SLOTS) occupants;

// A packet is admitted. Sets meta.slot and has_slot.
control SlotTake(in headers_t hdr, inout metadata_t meta) {
    @hidden action take() {
        bit<8> used;
        bit<8> most;
        bit<8> entry;
        slots_used.read(used, meta.ingress_port);
        slots_most.read(most, meta.ingress_port);
        free_slots.read(entry, meta.ingress_port ++ used);
        bit<1> room = used != SLOTS_A_PORT ? 1w1 : 0;
        bit<8> after = used + (bit<8>) room;
        meta.has_slot = room;
        // Where there is no room it is the place behind the last slot, which no look finds.
        meta.slot = room == 1 ? entry ^ used : SLOTS_A_PORT;
        slots_used.write(meta.ingress_port, after);
        slots_most.write(meta.ingress_port, after > most ? after : most);
        occupants.write(meta.ingress_port ++ meta.slot, room == 1 ? (bit<8>) meta.class ++ flow_of(hdr) : 0);
    }

    apply {
        take();
    }
}

// A packet departs.
control SlotGive(in metadata_t meta) {
    @hidden action give() {
        bit<8> used;
        slots_used.read(used, meta.ingress_port);
        used = used - 1;
        slots_used.write(meta.ingress_port, used);
        free_slots.write(meta.ingress_port ++ used, meta.slot ^ used);
        occupants.write(meta.ingress_port ++ meta.slot, 0);
    }

    apply {
        if (meta.has_slot == 1) {
            give();
        }
    }
}

// One look, unless somebody was found: sets meta.culprit.
control SlotLook(inout metadata_t meta) {
    bit<8> last;
    bit<8> slot;

    @hidden action look() {
        bit<8> most;
        bit<96> found;
        slots_most.read(most, meta.ingress_port);
        last = most |-| 1;
        random(slot, 0, last);
        occupants.read(found, meta.ingress_port ++ slot);
        meta.culprit = found[95:88] == (bit<8>) meta.class ? found[87:0] : 0;
    }

    apply {
        if (meta.culprit == 0) {
            look();
        }
    }
}

// Sets meta.culprit; 0: nobody was found.
control CulpritByChance(inout metadata_t meta) {
    SlotLook() look0;
    SlotLook() look1;
    SlotLook() look2;
    SlotLook() look3;
    SlotLook() look4;
    SlotLook() look5;
    SlotLook() look6;
    SlotLook() look7;

    apply {
        meta.culprit = 0;
        look0.apply(meta);
        look1.apply(meta);
        look2.apply(meta);
        look3.apply(meta);
        look4.apply(meta);
        look5.apply(meta);
        look6.apply(meta);
        look7.apply(meta);
    }
}

#endif
