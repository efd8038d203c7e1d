/* Building and running a network. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "packets.h"
#include "round_robin.h"

/* LEAST of anything whose size is a multiple of 8 are whole pages, of 64 KB too. */
enum { MOST_PACKETS = 1 << 22, MOST_FLOWS = 1 << 22, MOST_LINKS = 1 << 20, LEAST = 1 << 14 };

void vn_fail(struct vn_net *net, const char *format, ...)
{
    if (net->failed) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(net->error, sizeof net->error, format, arguments);
    va_end(arguments);
    net->failed = true;
}

void vn_push_or_fail(struct vn_net *net, struct vn_event_queue *queue, struct vn_event event)
{
    if (!vn_push(queue, event)) vn_fail(net, "out of memory for events");
}

static int refuse(struct vn_net *net, int code, const char *why)
{
    if (!net->failed) snprintf(net->error, sizeof net->error, "%s", why);
    return code;
}

/* ---- memory: one area each for packets, flows and links, used from its start ---- */

/* Reserves address space for `*most` items; where it is limited (ulimit -v), for as many as fit a quarter of what is left, since
 * there is more to come. The kernel adds memory as it is touched, if it can in huge pages. NULL: the run has failed. */
static void *reserve(struct vn_net *net, const char *what, size_t item_bytes, uint32_t *most)
{
    for (; *most >= LEAST; *most /= 2) {
        size_t bytes = item_bytes * *most;
        char *area = mmap(NULL, 4 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (area == MAP_FAILED) continue;
        munmap(area + bytes, 3 * bytes);
        madvise(area, bytes, MADV_HUGEPAGE);
        return area;
    }
    vn_fail(net, "no address space for %s: %s; raise its limit (ulimit -v)", what, strerror(errno));
    return NULL;
}

static size_t aligned(size_t size) { return (size + 63) / 64 * 64; }

static bool pool_init(struct vn_net *net)
{
    net->inplace = true;
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        const struct vn_node *node = &net->nodes[i];
        if (!node->host && (node->instance->program->inplace == NULL || node->sw->cpu_port != 0)) net->inplace = false;
    }
    net->stored = net->inplace ? SW_INPLACE_DEPTH : VN_STORED;
    net->frame_at = sizeof(struct vn_packet);
    net->phv_size = (uint32_t)aligned(net->phv_size);
    net->headroom = (uint32_t)aligned(net->headroom);
    if (!net->inplace) net->frame_at += (uint32_t)aligned(sizeof(struct vn_phv_packet)) + net->phv_size + net->headroom;
    net->lines = (net->frame_at + net->stored + 63) / 64;
    net->pool = reserve(net, "packets", (size_t)net->lines * 64, &net->most_packets);
    return net->pool != NULL;
}

/* A node's receive ports are contiguous, in the order of the links that end there. */
static bool rx_ports_init(struct vn_net *net)
{
    net->rx_ports = aligned_alloc(64, aligned((net->n_links + 1) * sizeof *net->rx_ports));
    if (net->rx_ports == NULL) {
        vn_fail(net, "out of memory for links");
        return false;
    }
    struct vn_rx_port *next = net->rx_ports;
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        net->nodes[i].rx_ports = next;
        next += net->nodes[i].n_ports;
        net->nodes[i].n_ports = 0;
    }
    for (uint32_t i = 0; i < net->n_links; i++) {
        struct vn_link *in = &net->links[i];
        struct vn_node *node = &net->nodes[in->to];
        struct vn_rx_port *rx = &node->rx_ports[node->n_ports++];
        *rx = (struct vn_rx_port){
            .next_arrival = VN_NEVER,
            .out_link = i ^ 1,
            .node = in->to,
            .from = in->node,
            .delay = in->delay,
            .port = in->to_port,
            .host = in->to_host,
            .special = in->credits || in->faults != NULL,
        };
        in->rx_port = (uint32_t)(rx - net->rx_ports);
    }
    for (uint32_t i = 0; i < net->n_links; i++) {
        const struct vn_node *node = &net->nodes[net->links[i].node];
        if (node->fabric.buffer_bytes != 0) {
            net->links[i].fabric = true;
            net->links[i].output = vn_output_new(&node->fabric, net->links[i].rate_bps);
            if (net->links[i].output == NULL) {
                vn_fail(net, "out of memory for output buffers");
                return false;
            }
        }
        if (!node->round_robin) continue;
        net->links[i].round_robin = true;
        net->links[i].inputs = vn_inputs_new(node->n_ports);
        if (net->links[i].inputs == NULL) {
            vn_fail(net, "out of memory for virtual output queues");
            return false;
        }
    }
    return true;
}

uint32_t vn_packet_grow(struct vn_net *net)
{
    if (net->n_packets == net->most_packets) {
        const char *why = net->most_packets < MOST_PACKETS ? "; raise the limit of address space (ulimit -v)" : "";
        vn_fail(net, "more than %u packets are inside the network%s", net->most_packets, why);
        return VN_NONE;
    }
    uint32_t id = net->n_packets++ * net->lines;
    if (!net->inplace) vn_phv_init(net, vn_packet_at(net, id));
    return id;
}

/* ---- building ---- */

struct vn_net *vn_create(bool by_node, bool prefetch, uint64_t response_ps, PyObject *window, PyObject *cnp, PyObject *cnm,
                         PyObject *ack, PyObject *marks)
{
    struct vn_net *net = calloc(1, sizeof *net);
    if (net == NULL) return NULL;
    net->by_node = by_node;
    net->prefetch.enabled = prefetch;
    net->schedule.lookahead = VN_NEVER;
    net->most_links = MOST_LINKS;
    net->most_flows = MOST_FLOWS;
    net->most_packets = MOST_PACKETS;
    net->links = reserve(net, "links", sizeof *net->links, &net->most_links);
    net->flows = reserve(net, "flows", sizeof *net->flows, &net->most_flows);
    net->python = (struct vn_python){.window = window, .cnp = cnp, .cnm = cnm, .ack = ack};
    for (uint32_t i = 0; i < 4; i++) net->python.marks[i] = PyTuple_GetItem(marks, i);
    if (!vn_python_init(&net->python)) {
        vn_destroy(net);
        return NULL;
    }
    net->exchange.reason = VN_UNTIL;
    net->response = response_ps;
    net->longest_frame = VN_STORED; /* until a flow has longer frames */
    net->free_packet = VN_NONE;
    return net;
}

void vn_destroy(struct vn_net *net)
{
    if (net == NULL) return;
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        free(net->nodes[i].out);
        free(net->nodes[i].tx_flows);
        free(net->nodes[i].events.at);
        free(net->nodes[i].others.events);
        free(net->nodes[i].starts.events);
        free(net->nodes[i].lines.at);
    }
    for (uint32_t i = 0; i < net->n_links; i++) {
        if (net->links[i].capture != NULL) fclose(net->links[i].capture);
        free(net->links[i].inputs);
        free(net->links[i].output);
        free(net->links[i].lanes);
        free(net->links[i].faults);
    }
    for (uint32_t i = 0; i < net->n_samplers; i++) {
        free(net->samplers[i].sources);
        free(net->samplers[i].times);
        free(net->samplers[i].values);
    }
    if (net->pool != NULL) munmap(net->pool, (size_t)net->lines * 64 * net->most_packets);
    if (net->links != NULL) munmap(net->links, net->most_links * sizeof *net->links);
    for (uint32_t i = 0; net->rx_ports != NULL && i < net->n_links; i++) free(net->rx_ports[i].ring);
    free(net->rx_ports);
    for (uint32_t i = 0; i < 2; i++) free(net->schedule.arrival_lists[i]);
    free(net->schedule.clock);
    free(net->schedule.order);
    free(net->schedule.queue.events);
    free(net->schedule.next_event);
    for (uint32_t i = 0; i < VN_QPS / VN_QP_PAGE; i++) free(net->flow_of[i]);
    for (uint32_t i = 0; i < net->n_flows; i++) {
        Py_DecRef(net->flows[i].rp);
        Py_DecRef(net->flows[i].np);
        free(net->flows[i].ackreqs);
    }
    if (net->flows != NULL) munmap(net->flows, net->most_flows * sizeof *net->flows);
    free(net->nodes);
    free(net->samplers);
    vn_python_end(&net->python);
    free(net);
}

const char *vn_error(const struct vn_net *net) { return net->error; }

struct vn_exchange *vn_exchange_of(struct vn_net *net) { return &net->exchange; }

/* Makes room for one more element, aligned to a cache line; capacities are powers of two. NULL: no memory, no change. */
static void *grow_array(void *array, uint32_t n, size_t size)
{
    if (n != 0 && (n & (n - 1)) != 0) return array;
    void *larger = aligned_alloc(64, aligned((n == 0 ? 1 : 2 * (size_t)n) * size));
    if (larger == NULL) return NULL;
    if (n != 0) memcpy(larger, array, n * size);
    free(array);
    return larger;
}

static int64_t add_node(struct vn_net *net, const struct vn_node *like)
{
    struct vn_node *nodes = grow_array(net->nodes, net->n_nodes, sizeof *nodes);
    if (nodes == NULL) return refuse(net, -ENOMEM, "out of memory");
    net->nodes = nodes;
    uint64_t *first = grow_array(net->schedule.next_event, net->n_nodes, sizeof *first);
    if (first == NULL) return refuse(net, -ENOMEM, "out of memory");
    net->schedule.next_event = first;
    first[net->n_nodes] = VN_NEVER;
    struct vn_node *node = &nodes[net->n_nodes];
    *node = *like;
    node->link = node->last = VN_NONE;
    node->choice.when = VN_NEVER;
    node->scheduled = VN_NEVER;
    if (!vn_tournament_grow(&node->events, 1)) return refuse(net, -ENOMEM, "out of memory");
    return net->n_nodes++;
}

int64_t vn_add_switch(struct vn_net *net, struct sw_switch *sw)
{
    if (net->pool != NULL) return refuse(net, -EBUSY, "the network runs already: no switch can be added");
    if (sw->instance == NULL) return refuse(net, -EINVAL, "the switch has no program");
    uint32_t *out = malloc(SW_MAX_PORTS * sizeof *out);
    if (out == NULL) return refuse(net, -ENOMEM, "out of memory");
    memset(out, 0xff, SW_MAX_PORTS * sizeof *out);
    const struct sw_program *program = sw->instance->program;
    if (program->phv_size > net->phv_size) net->phv_size = program->phv_size;
    if (program->headroom > net->headroom) net->headroom = program->headroom;
    struct vn_node node = {.sw = sw, .instance = sw->instance, .out = out};
    if (program->n_registers != 0) node.reg = sw->instance->registers[0];
    return add_node(net, &node);
}

int vn_set_fabric(struct vn_net *net, uint32_t node, const struct vn_fabric_config *config)
{
    if (net->pool != NULL) return refuse(net, -EBUSY, "the network runs already: no switch can be changed");
    if (node >= net->n_nodes || net->nodes[node].host) return refuse(net, -EINVAL, "no such switch");
    if (!(config->buffer_bytes > 0 && config->speed_up > 0)) return refuse(net, -EINVAL, "no buffer, or no fabric");
    net->nodes[node].fabric = *config;
    return 0;
}

int vn_set_round_robin(struct vn_net *net, uint32_t node)
{
    if (net->pool != NULL) return refuse(net, -EBUSY, "the network runs already: no switch can be changed");
    if (node >= net->n_nodes || net->nodes[node].host) return refuse(net, -EINVAL, "no such switch");
    net->nodes[node].round_robin = true;
    return 0;
}

int64_t vn_add_host(struct vn_net *net, const uint8_t ip[4])
{
    struct vn_node node = {.host = true};
    memcpy(node.ip, ip, 4);
    return add_node(net, &node);
}

static void set_rate(struct vn_link *link, uint64_t rate_bps)
{
    link->rate_bps = rate_bps;
    uint64_t ps = 8000000000000u / rate_bps;
    link->ps_per_byte = 8000000000000u % rate_bps == 0 && ps <= UINT32_MAX ? (uint32_t)ps : 0;
}

static int attach(struct vn_net *net, uint32_t link, uint32_t number, uint16_t port)
{
    struct vn_node *node = &net->nodes[number];
    uint32_t *place = node->host ? &node->link : port < SW_MAX_PORTS ? &node->out[port] : NULL;
    if (place == NULL || *place != VN_NONE) return refuse(net, -EEXIST, "no such port, or it has a link");
    if (!vn_tournament_grow(&node->events, node->n_ports + 2)) return refuse(net, -ENOMEM, "out of memory");
    *place = link;
    node->n_ports++;
    return 0;
}

int64_t vn_add_link(struct vn_net *net, uint32_t a, uint16_t port_a, uint32_t b, uint16_t port_b, uint64_t rate_bps,
                    uint64_t delay_ps)
{
    if (net->pool != NULL) return refuse(net, -EBUSY, "the network runs already: no link can be added");
    if (a >= net->n_nodes || b >= net->n_nodes || rate_bps == 0) return refuse(net, -EINVAL, "no such node, or no rate");
    uint32_t n = net->n_links;
    if (n + 2 > net->most_links) return refuse(net, -ENOSPC, "too many links, or too little address space for them (ulimit -v)");
    if (attach(net, n, a, port_a) != 0) return -EEXIST;
    if (attach(net, n + 1, b, port_b) != 0) return -EEXIST;
    for (uint32_t i = 0; i < 2; i++) {
        struct vn_link *link = &net->links[n + i];
        *link = (struct vn_link){
            .node = i == 0 ? a : b,
            .port = i == 0 ? port_a : port_b,
            .to = i == 0 ? b : a,
            .to_port = i == 0 ? port_b : port_a,
            .up = true,
            .delay = delay_ps,
        };
        link->slot = (uint16_t)net->nodes[link->node].n_ports;
        link->host = net->nodes[link->node].host;
        link->to_host = net->nodes[link->to].host;
        set_rate(link, rate_bps);
        for (uint32_t class = 0; class < VN_CLASSES; class++) {
            link->classes[class].xoff_since = link->pause_sent[class] = VN_NEVER;
        }
    }
    net->n_links += 2;
    if (delay_ps < net->schedule.lookahead) net->schedule.lookahead = delay_ps;
    return n;
}

int vn_set_link(struct vn_net *net, uint32_t number, uint64_t rate_bps, bool up)
{
    if (number >= net->n_links || rate_bps == 0) return refuse(net, -EINVAL, "no such link, or no rate");
    struct vn_link *link = &net->links[number];
    set_rate(link, rate_bps);
    link->up = up;
    if (!up) vn_fault_overruns(net, number ^ 1); /* a PAUSE that is to go by it comes late */
    /* The headroom of either direction may have grown. */
    for (uint32_t i = 0; i < 2; i++) {
        if (net->links[number ^ i].lossless != 0) vn_pfc_limits(net, number ^ i);
    }
    if (link->host) vn_nic_changed(net, &net->nodes[link->node]);
    else if (up && !link->pending) vn_port_serve(net, link, number);
    return 0;
}

int vn_set_pfc(struct vn_net *net, uint32_t number, uint32_t xoff, uint32_t xon, uint16_t quanta, uint64_t refresh_ps,
               uint8_t lossless, const uint8_t mac[6])
{
    if (number >= net->n_links || net->links[number].to_host) return refuse(net, -EINVAL, "no link that ends at a switch");
    if (refresh_ps == 0 || quanta == 0) return refuse(net, -EINVAL, "PAUSE frames need quanta and a refresh time");
    struct vn_link *link = &net->links[number];
    for (uint32_t class = 0; class < VN_CLASSES; class++) {
        link->classes[class].xoff = xoff;
        link->classes[class].xon = xon;
        link->classes[class].lossless = lossless >> class & 1;
    }
    link->quanta = quanta;
    link->refresh = refresh_ps;
    link->lossless = lossless;
    memcpy(link->mac, mac, sizeof link->mac);
    vn_pfc_limits(net, number);
    return 0;
}

uint32_t vn_flow_of_qp(const struct vn_net *net, uint32_t qp)
{
    const uint32_t *page = net->flow_of[qp / VN_QP_PAGE];
    return page == NULL ? VN_NONE : page[qp % VN_QP_PAGE];
}

static bool map_flow(struct vn_net *net, uint32_t qp, uint32_t flow)
{
    uint32_t **page = &net->flow_of[qp / VN_QP_PAGE];
    if (*page == NULL) {
        *page = malloc(VN_QP_PAGE * sizeof **page);
        if (*page == NULL) return false;
        for (uint32_t i = 0; i < VN_QP_PAGE; i++) (*page)[i] = VN_NONE;
    }
    (*page)[qp % VN_QP_PAGE] = flow;
    return true;
}

/* Frames may be so long from now on: limits grow with the longest. */
static int allow_frame(struct vn_net *net, uint32_t bytes)
{
    if (bytes <= net->longest_frame) return 0;
    if (bytes > UINT16_MAX) return refuse(net, -EINVAL, "a frame that is too long");
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        uint64_t room = net->nodes[i].fabric.buffer_bytes;
        if (room != 0 && bytes > room) return refuse(net, -EINVAL, "a frame that no output buffer has room for");
    }
    if (!vn_credit_has_room(net, bytes)) return refuse(net, -EINVAL, "a frame that no lane's buffer has room for");
    net->longest_frame = bytes;
    for (uint32_t i = 0; i < net->n_links; i++) {
        if (net->links[i].lossless != 0) vn_pfc_limits(net, i);
        if (net->links[i].credits) vn_credit_limits(net, i);
    }
    return 0;
}

int64_t vn_add_flow(struct vn_net *net, const struct vn_flow_config *config, PyObject *rp, PyObject *np)
{
    if (config->src >= net->n_nodes || config->dst >= net->n_nodes || !net->nodes[config->src].host ||
        !net->nodes[config->dst].host || net->nodes[config->src].link == VN_NONE) {
        return refuse(net, -EINVAL, "a flow needs two hosts that have links");
    }
    if (config->frame_bytes > UINT16_MAX || config->last_frame_bytes > config->frame_bytes) {
        return refuse(net, -EINVAL, "frames of a flow that are too long");
    }
    if (!(config->rate_bps > 0) || config->priority >= VN_CLASSES) return refuse(net, -EINVAL, "no rate, or no such class");
    if (config->start_ps < net->now) return refuse(net, -EINVAL, "the flow's start is over");
    int code = allow_frame(net, config->frame_bytes);
    if (code != 0) return code;
    if (net->n_flows == net->most_flows) {
        return refuse(net, -ENOSPC, "too many flows, or too little address space for them (ulimit -v)");
    }
    uint64_t *ackreqs = NULL;
    uint32_t n_ackreqs = VN_ACKREQS;
    if (config->segment != 0) {
        uint64_t segments = (config->packets + config->segment - 1) / config->segment;
        if (segments != 0 && segments < n_ackreqs) n_ackreqs = (uint32_t)segments;
        ackreqs = calloc(n_ackreqs, sizeof *ackreqs);
        if (ackreqs == NULL) return refuse(net, -ENOMEM, "out of memory");
    }
    if (!map_flow(net, wire_load24(config->data + WIRE_QP), net->n_flows)) {
        free(ackreqs);
        return refuse(net, -ENOMEM, "out of memory");
    }
    uint32_t number = net->n_flows++;
    struct vn_flow *flow = &net->flows[number];
    *flow = (struct vn_flow){
        .priority = config->priority,
        .src = config->src,
        .dst = config->dst,
        .segment = config->segment,
        .frame_bytes = (uint16_t)config->frame_bytes,
        .last_frame_bytes = (uint16_t)config->last_frame_bytes,
        .payload_bytes = (uint16_t)config->payload_bytes,
        .last_payload_bytes = (uint16_t)config->last_payload_bytes,
        .cnp_bytes = config->cnp_bytes,
        .ack_bytes = config->ack_bytes,
        .packets = config->packets,
        .missing = config->packets != 0 ? config->packets : VN_NEVER,
        .start = config->start_ps,
        .end = config->end_ps,
        .period = config->period_ps,
        .phase = config->phase_ps,
        .rate_bps = config->rate_bps,
        .limit_bps = config->limit_bps,
        .rp = rp,
        .np = np,
        .ended = VN_NEVER,
        .timer = config->timer_ps,
        .due_bytes = config->due_bytes,
        .ackreqs = ackreqs,
        .n_ackreqs = n_ackreqs,
        .marked_from = config->wants_marked ? 0 : VN_NEVER,
        .needs_rec_rate = config->needs_rec_rate != 0,
        .first = VN_NEVER,
        .last = VN_NEVER,
        .complete = VN_NEVER,
        .window_first = VN_NEVER,
        .window_end = VN_NEVER,
    };
    Py_IncRef(rp);
    Py_IncRef(np);
    memcpy(flow->data, config->data, VN_TEMPLATE_BYTES);
    memcpy(flow->last_data, config->last, VN_TEMPLATE_BYTES);
    memcpy(flow->cnp, config->cnp, VN_TEMPLATE_BYTES);
    memcpy(flow->ack, config->ack, VN_TEMPLATE_BYTES);
    if (config->packets != 0) net->unfinished++;
    if (config->timer_ps != VN_NEVER) vn_at(net, config->timer_ps, VN_EV_TIMER, number);
    if (config->start_ps > net->now) vn_nic_await(net, number);
    else vn_nic_add(net, number);
    return number;
}

int vn_stop_flow(struct vn_net *net, uint32_t flow)
{
    if (flow >= net->n_flows) return refuse(net, -ENOENT, "no such flow");
    if (net->flows[flow].ended == VN_NEVER) vn_nic_stop(net, flow);
    return 0;
}

int vn_return_at(struct vn_net *net, uint64_t time_ps, uint32_t number)
{
    if (time_ps < net->now) return refuse(net, -EINVAL, "that time is over");
    vn_at(net, time_ps, VN_EV_RETURN, number);
    return 0;
}

/* ---- running ---- */

/* Before the first packet. */
static void start(struct vn_net *net)
{
    if (net->pool == NULL && !net->failed && rx_ports_init(net) && vn_order_init(net) && pool_init(net)) vn_generators_start(net);
}

enum vn_reason vn_run(struct vn_net *net, PyObject *flows, PyObject *on_window, PyObject *on_rate)
{
    net->python.flows = flows;
    net->python.on_window = on_window;
    net->python.on_rate = on_rate;
    if (net->raised) snprintf(net->error, sizeof net->error, "an algorithm raised an error: the run can't go on");
    start(net);
    enum vn_reason reason = net->failed ? VN_FAILED : vn_run_events(net);
    if (net->raised) return VN_FAILED; /* exchange says which flow's algorithm raised */
    net->exchange.now_s = vn_seconds(net->now);
    return net->exchange.reason = net->failed ? VN_FAILED : reason;
}
