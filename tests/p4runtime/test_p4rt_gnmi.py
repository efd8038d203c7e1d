"""A switch's interface counters by gNMI, read by another project's client: finsy's."""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator

import finsy as fy
import grpc
import pytest
from finsy.gnmiclient import GNMIClientError
from finsy.proto import gnmi
from p4rt_process import Process
from waiting import wait_until

pytestmark = pytest.mark.root
COUNTERS = {"in-pkts", "in-octets", "in-discards", "out-pkts", "out-octets", "out-discards"}


@pytest.fixture
def switch() -> Iterator[tuple[Process, list[str], list[str]]]:
    """With ports 1 and 5: the switch, its interfaces, and their far ends."""
    near, far = ([f"gn{os.getpid()}{side}{port}" for port in (1, 5)] for side in "sh")
    for near_end, far_end in zip(near, far, strict=True):
        subprocess.run(
            ["ip", "link", "add", near_end, "type", "veth", "peer", "name", far_end], check=True
        )
        for end in (near_end, far_end):
            subprocess.run(["ip", "link", "set", end, "up"], check=True)
    process = Process("--no-p4", "-i", f"1@{near[0]}", "-i", f"5@{near[1]}")
    try:
        yield process, near, far
    finally:
        process.end()
        for near_end in near:
            subprocess.run(["ip", "link", "delete", near_end], check=True)


def get(port: int, *paths: str) -> dict[tuple[str, ...], int | str]:
    """Leaf values, by interface and the path below its state."""

    async def ask() -> list[fy.GNMIUpdate]:
        async with fy.GNMIClient(f"127.0.0.1:{port}") as client:
            return list(await client.get(*(fy.GNMIPath(path) for path in paths)))

    return {
        (
            update.path["interface", "name"],
            *[elem.name for elem in update.path.path.elem][3:],
        ): update.value
        for update in asyncio.run(asyncio.wait_for(ask(), 60))
    }


def test_ports_by_name_and_all(switch: tuple[Process, list[str], list[str]]):
    process, (first, second), _ = switch
    every = get(process.port, "interfaces/interface/state")
    assert {key[0] for key in every} == {first, second}
    assert every[first, "id"] == 1
    assert every[second, "id"] == 5
    assert {key[2] for key in every if key[0] == first and key[1] == "counters"} == COUNTERS
    leaves = get(process.port, f"interfaces/interface[name={second}]/state/counters")
    assert {key[0] for key in leaves} == {second}
    assert len(leaves) == len(COUNTERS)
    two = get(
        process.port,
        f"interfaces/interface[name={first}]/state/id",
        "interfaces/interface[name=*]/state/name",
    )
    assert two == {(first, "id"): 1, (first, "name"): first, (second, "name"): second}


def test_a_link_that_goes_down(switch: tuple[Process, list[str], list[str]]):
    process, (first, second), (far, _) = switch

    def status(name: str) -> int | str:
        return get(process.port, f"interfaces/interface[name={name}]/state/oper-status")[
            name, "oper-status"
        ]

    wait_until(lambda: status(first) == "UP")
    subprocess.run(["ip", "link", "set", far, "down"], check=True)
    wait_until(lambda: status(first) == "DOWN")
    assert status(second) == "UP"


def test_what_is_refused(switch: tuple[Process, list[str], list[str]]):
    process, _, _ = switch
    with pytest.raises(GNMIClientError) as refused:
        get(process.port, "interfaces/interface[name=eth77]/state")
    assert refused.value.code is fy.GRPCStatusCode.NOT_FOUND
    with pytest.raises(GNMIClientError) as unknown:
        get(process.port, "interfaces/interface[name=*]/state/ifindex")
    assert unknown.value.code is fy.GRPCStatusCode.UNIMPLEMENTED
    assert "counters/out-discards" in unknown.value.message
    with grpc.insecure_channel(f"127.0.0.1:{process.port}") as channel:

        def call(method: str, request, answer):
            return channel.unary_unary(
                f"/gnmi.gNMI/{method}",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=answer.FromString,
            )(request, timeout=60)

        path = gnmi.Path(elem=[gnmi.PathElem(name="interfaces")])
        with pytest.raises(grpc.RpcError) as encoding:
            call(
                "Get", gnmi.GetRequest(path=[path], encoding=gnmi.Encoding.ASCII), gnmi.GetResponse
            )
        assert encoding.value.code() is grpc.StatusCode.UNIMPLEMENTED
        answer = call("Get", gnmi.GetRequest(path=[path]), gnmi.GetResponse)
        assert {json.loads(update.val.json_val) for update in answer.notification[0].update} >= {
            1,
            5,
        }
        can = call("Capabilities", gnmi.CapabilityRequest(), gnmi.CapabilityResponse)
        assert [model.name for model in can.supported_models] == ["openconfig-interfaces"]
        with pytest.raises(grpc.RpcError) as written:
            call("Set", gnmi.SetRequest(), gnmi.SetResponse)
        assert written.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_get_that_repeats_its_paths_is_refused(switch: tuple[Process, list[str], list[str]]):
    """Two bytes of a request are nine leaves of each port."""
    request = gnmi.GetRequest(path=[gnmi.Path()] * 20_000)
    with grpc.insecure_channel(f"127.0.0.1:{switch[0].port}") as channel:
        call = channel.unary_unary(
            "/gnmi.gNMI/Get", gnmi.GetRequest.SerializeToString, gnmi.GetResponse.FromString
        )
        with pytest.raises(grpc.RpcError, match="a Get answers at most 20000 leaves") as failure:
            call(request, timeout=60)
    assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
