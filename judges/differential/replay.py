"""The embedded switch on a recording's case. Its clock stands: a packet's effects are complete when
they are read."""

from control import Digests, Result, change, load, prepare, state
from generate import PORTS, Case
from p4rt_client import Client
from p4rt_process import Process

from pcn.lab.target import CPU_PORT, PRIORITIES
from pcn.softswitch.clock import ManualClock

STEP_S = 1e-3  # for a packet that is recirculated many times


def replay(known: Result, case: Case) -> Result:
    """What the switch makes of the case: "outputs", "digests" and "state", as in the recording."""
    ports = [word for port in PORTS for word in ("-i", str(port))]
    options = ["--priority-queues", str(PRIORITIES), "--cpu-port", str(CPU_PORT)]
    switch = Process("--no-p4", "--device-id", "1", "--clock", "manual", *ports, *options)
    try:
        with Client(switch.port) as client, ManualClock(f"127.0.0.1:{switch.port}") as clock:
            return _replay(client, clock, known, case)
    finally:
        assert switch.end() == 0, switch.lines


def _replay(client: Client, clock: ManualClock, known: Result, case: Case) -> Result:
    names, program = load(known["program"])
    setup, packets = case
    client.arbitrate()
    client.set_pipeline(names.info, program)
    prepare(client, names, setup)
    learned, outputs = Digests(client), []
    for number, packet in enumerate(packets):
        if number == len(packets) // 2:
            change(client, names, setup)
        clock.send(packet.port, packet.frame)
        clock.advance(STEP_S)
        by_port: dict[str, list[str]] = {}
        for left in clock.received():
            by_port.setdefault(str(left.port), []).append(left.data.hex())
        outputs.append({port: sorted(frames) for port, frames in sorted(by_port.items())})
    digests = learned.take(len(known["digests"]))
    return {"outputs": outputs, "digests": digests, "state": state(client, names, setup, None)}
