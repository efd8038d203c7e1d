"""PFC, buffers and queues of a Tofino's traffic manager, which P4Runtime doesn't reach and Stratum leaves without PFC:
a script for the driver's own shell (bfrt_python), from ports.yaml."""

from __future__ import annotations

from controller.constants import CLASSES
from controller.tofino.model import CELL_BYTES, PORTS_A_PIPE, TofinoLab, cells

# Resuming is a distance below the limit; the chip counts it in eights of cells.
_HYSTERESIS_CELLS = 8

_SCRIPT = """\
# PFC, buffers and queues of the switch "{switch}". Written by `pcn deploy`: change ports.yaml and write it again.
# To be run in the driver's shell each time a program was loaded: that brings the traffic manager back to its defaults.
#
#     bfshell -b $PWD/pfc.py

CLASSES = {classes}
LOSSLESS = {lossless!r}
PRIORITIES = {priorities!r}  # of the queues; the highest is served first
# Device port; in cells of {cell_bytes} bytes, for each lossless class: XOFF, how far below it RESUME is sent, headroom.
PORTS = [
{ports}
]

INGRESS_POOL, EGRESS_POOL, HEADROOM_POOL = "IG_APP_POOL_1", "EG_APP_POOL_0", "IG_SKID_POOL"

tm = bfrt.tf1.tm

# Separate pools, so that lossless classes don't compete with others.
ingress_cells = len(LOSSLESS) * sum(xoff for _, xoff, _, _ in PORTS)
tm.pool.cfg.mod(pool=INGRESS_POOL, size_cells=ingress_cells)
tm.pool.cfg.mod(pool=HEADROOM_POOL, size_cells=len(LOSSLESS) * sum(headroom for _, _, _, headroom in PORTS))
for cos in LOSSLESS:
    tm.pool.app_pfc.mod(pool=INGRESS_POOL, cos=cos, pfc_limit_cells=ingress_cells)

enabled = sum(1 << cos for cos in LOSSLESS)
groups = {{}}  # pipe: PPGs there so far
for port, xoff, resume, headroom in PORTS:
    # PFC frames at the MAC, sent and obeyed.
    bfrt.port.port.mod(DEV_PORT=port, TX_PFC_EN_MAP=enabled, RX_PFC_EN_MAP=enabled)
    tm.port.flowcontrol.mod(dev_port=port, mode_tx="PFC", mode_rx="PFC", cos_to_icos=list(range(CLASSES)))
    tm.port.buffer.mod(dev_port=port, skid_limit_cells=len(LOSSLESS) * headroom)
    # What came in there, by class.
    pipe = port // {ports_a_pipe}
    for cos in LOSSLESS:
        tm.ppg.cfg.add_with_dev_port(
            pipe=pipe, ppg_id=groups.get(pipe, 0), dev_port=port, pfc_enable=True, pfc_skid_max_cells=headroom,
            guaranteed_cells=0, hysteresis_cells=resume, pool_id=INGRESS_POOL, pool_max_cells=xoff,
            dynamic_baf="DISABLE", **{{"icos_{{}}".format(cos): True}})
        groups[pipe] = groups.get(pipe, 0) + 1
    # What waits to leave there: the program gives a packet's class as its queue.
    place = tm.port.cfg.get(dev_port=port, print_ents=False).data
    group, queues = place[b"pg_id"], place[b"egress_qid_queues"]
    for cos in range(CLASSES):
        queue = dict(pipe=pipe, pg_id=group, pg_queue=queues[cos])
        priority = str(PRIORITIES[cos])
        tm.queue.sched_cfg.mod(min_priority=priority, max_priority=priority, **queue)
        if cos in LOSSLESS:
            tm.queue.cfg.mod(pfc_cos=cos, **queue)
            # PFC bounds it where it came in; nothing is dropped here.
            tm.queue.buffer.mod_with_shared_pool(tail_drop_enable=False, pool_id=EGRESS_POOL, **queue)
bfrt.complete_operations()
print("PFC of classes {{}} at {{}} ports".format(LOSSLESS, len(PORTS)))
"""


def pfc_script(lab: TofinoLab) -> str:
    """Returns the script's text."""
    ports = [
        (
            port.number,
            cells(port.pfc.xoff_bytes),
            _resume_cells(port.pfc.xoff_bytes - port.pfc.xon_bytes),
            cells(port.pfc.headroom_bytes),
        )
        for port in lab.ports
    ]
    return _SCRIPT.format(
        switch=lab.switch,
        cell_bytes=CELL_BYTES,
        classes=CLASSES,
        lossless=[one.number for one in lab.lossless],
        priorities=[one.priority for one in lab.classes],
        ports="\n".join(f"    {port}," for port in ports),
        ports_a_pipe=PORTS_A_PIPE,
    )


def _resume_cells(size: int) -> int:
    return -(-cells(size) // _HYSTERESIS_CELLS) * _HYSTERESIS_CELLS
