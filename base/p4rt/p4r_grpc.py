"""The service of p4/v1/p4runtime.proto, without generated code."""

from __future__ import annotations

from typing import Any

from pcn.base import rpc
from pcn.base.protos import load

SERVICE = load("p4/v1/p4runtime.proto").services_by_name["P4Runtime"]


class P4RuntimeStub:
    """A client's calls, by their methods' names."""

    Write: Any
    Read: Any
    SetForwardingPipelineConfig: Any
    GetForwardingPipelineConfig: Any
    StreamChannel: Any
    Capabilities: Any

    def __init__(self, channel: Any) -> None:
        vars(self).update(rpc.calls(SERVICE, channel))
