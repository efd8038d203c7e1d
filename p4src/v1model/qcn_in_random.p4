// A packet that is inside, each as likely: the culprit by occupancy sampling (RZ 3880). Each RoCE packet of a lossless
// class has a place in the array of its ingress port while it is inside. A sample looks into places by chance until one
// is of the sampled class: a flow is told with probability q_n / q, q in packets.
//
// Places in use are the first ones, so that each look finds somebody: when a packet departs, the last one moves into its
// place. So a packet keeps a number, its slot, of which positions tells the place; free slots are on a stack. A packet
// that finds no free slot can't be the culprit; 1023 slots are more packets of 1,058 B than PFC's 512 KB let in.
//
// TNA twin: none. The array is written in one gress and drawn from in the other, and each access would need an array of
// its own.

#ifndef PCN_V1MODEL_QCN_IN_RANDOM_P4
#define PCN_V1MODEL_QCN_IN_RANDOM_P4

#include <v1model.p4>
#include "../shared/headers.p4"
#include "metadata.p4"
#include "cnm.p4"

// Ingress port ++ slot, or place.
typedef bit<19> slot_index_t;
const bit<32> N_SLOTS = 524288;
const slot_t SLOTS_A_PORT = 1023;

// Of an ingress port: slots in use, which are places in use.
register<slot_t, port_t>(N_PORTS) slots_used;
// From slots_used on: the free slots. XOR their place on the stack, so that zeros are that of a port without packets.
register<slot_t, slot_index_t>(N_SLOTS) free_slots;
// By slot: its packet's place.
register<slot_t, slot_index_t>(N_SLOTS) positions;
// By place: slot, class and flow of its packet; 0: none.
register<bit<106>, slot_index_t>(N_SLOTS) occupants;

// A packet is admitted. Sets meta.slot and has_slot.
control SlotTake(in headers_t hdr, inout metadata_t meta) {
    @hidden action take() {
        slot_t used;
        slot_t entry;
        slots_used.read(used, meta.ingress_port);
        free_slots.read(entry, meta.ingress_port ++ used);
        bit<1> room = used != SLOTS_A_PORT ? 1w1 : 0;
        meta.has_slot = room;
        // Where there is no room it is the slot and place behind the last ones, which no look finds.
        meta.slot = room == 1 ? entry ^ used : SLOTS_A_PORT;
        slots_used.write(meta.ingress_port, used + (slot_t) room);
        positions.write(meta.ingress_port ++ meta.slot, used);
        occupants.write(meta.ingress_port ++ used, room == 1 ? meta.slot ++ (bit<8>) meta.class ++ flow_of(hdr) : 0);
    }

    apply {
        take();
    }
}

// A packet departs.
control SlotGive(in metadata_t meta) {
    @hidden action give() {
        slot_t last;
        slot_t place;
        bit<106> moved;
        slots_used.read(last, meta.ingress_port);
        last = last - 1;
        positions.read(place, meta.ingress_port ++ meta.slot);
        occupants.read(moved, meta.ingress_port ++ last);
        occupants.write(meta.ingress_port ++ place, moved);
        positions.write(meta.ingress_port ++ moved[105:96], place);
        occupants.write(meta.ingress_port ++ last, 0);
        free_slots.write(meta.ingress_port ++ last, meta.slot ^ last);
        slots_used.write(meta.ingress_port, last);
    }

    apply {
        if (meta.has_slot == 1) {
            give();
        }
    }
}

// One look, unless somebody was found: sets meta.culprit.
control SlotLook(inout metadata_t meta) {
    slot_t last;
    slot_t place;

    @hidden action look() {
        slot_t used;
        bit<106> found;
        slots_used.read(used, meta.ingress_port);
        last = used |-| 1;
        random(place, 0, last);
        occupants.read(found, meta.ingress_port ++ place);
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
