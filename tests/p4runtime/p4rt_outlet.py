"""Where a stream's messages go that has no server: a list."""

from pcn.base.p4rt import p4r
from pcn.softswitch.p4runtime.calls import ANY, MANY, Pushed
from pcn.softswitch.p4runtime.errors import RpcError, Status, status_of


class ListOutlet:
    """Keeps what is sent until a test takes it. `status`: what the stream has ended with."""

    is_private = False

    def __init__(self, peer: int = 0):
        self.peer = peer
        self.waiting: list[bytes] = []
        self.status: Status | None = None

    def push(self, data: bytes, most_bytes: int = ANY, most_messages: int = MANY) -> Pushed:
        if self.status is not None:
            return Pushed.GONE
        if len(self.waiting) >= most_messages or sum(map(len, [*self.waiting, data])) > most_bytes:
            return Pushed.REFUSED
        self.waiting.append(data)
        return Pushed.SENT

    def finish(self, status: Status):
        self.status = status

    def abort(self, error: RpcError):
        self.waiting.clear()
        self.status = status_of(error)

    def messages(self) -> list[p4r.StreamMessageResponse]:
        return [p4r.StreamMessageResponse.FromString(data) for data in self.waiting]
