"""Who may write: sessions, roles, election ids and primaries.

Source: P4Runtime specification, "Client Arbitration and Controller Replication". The primary of a
role is the session with the highest election id that the role has ever seen. Callers hold the
server's lock: so a change of primary waits for the Write in progress, as the specification
requires.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from pcn.base.p4rt import any_pb, p4r, rpc_status
from pcn.softswitch.p4runtime.calls import DONE, Outlet, Pushed
from pcn.softswitch.p4runtime.errors import (
    ALREADY_EXISTS,
    FAILED_PRECONDITION,
    INVALID_ARGUMENT,
    NOT_FOUND,
    OK,
    PERMISSION_DENIED,
    RESOURCE_EXHAUSTED,
    RpcError,
    status_of,
)
from pcn.softswitch.p4runtime.roles import Scope, scope_of

log = logging.getLogger(__name__)

MAX_SESSIONS = 64  # that have claimed a role
MAX_SILENT = 16  # that have claimed none yet
MAX_OF_CONNECTION = 16
MAX_WAITING = (
    8192  # messages for a client that does not read; beyond it packets and digests are dropped
)
MAX_WAITING_BYTES = 8 << 20  # of those, for a primary
BACKUP_WAITING_BYTES = 1 << 20  # for others, which get no packets
MAX_ROLES = 1024  # roles that were given an election id, which has to be kept
MAX_ROLE_NAME = 1024  # bytes
MAX_ROLE_CONFIG = 64 << 10  # bytes


class Session:
    """One StreamChannel: where its messages go, and the identity that its client claims."""

    def __init__(self, outlet: Outlet) -> None:
        self.peer, self.is_private = outlet.peer, outlet.is_private
        self.since_s = time.monotonic()
        self.primary = False
        self.role: str | None = None  # until its first arbitration
        self.election_id: int | None = None
        self.error: RpcError | None = None
        self.closed = False
        self.left = False  # the role, for good
        self._outlet = outlet
        self._drops = False
        self._lock = threading.Lock()  # of what is closed

    def send(self, message: p4r.StreamMessageResponse) -> None:
        """Sends a message that must arrive: if there is no room for it, the stream ends with
        RESOURCE_EXHAUSTED, and what waits is gone."""
        if self._push(message):
            return
        error = RpcError(
            RESOURCE_EXHAUSTED, "the client does not read its stream: too much waits for it"
        )
        if self._close(error):
            log.warning("a stream ends: its client does not read it")
            self._outlet.abort(error)

    def offer(self, message: p4r.StreamMessageResponse) -> None:
        """Sends a message that may be lost, and is where the client does not keep up."""
        if not self._push(message):
            if not self._drops:
                log.warning(
                    "a client does not read its stream: packets and digests for it are dropped"
                )
            self._drops = True

    def close(self, error: RpcError | None = None) -> None:
        """Ends the stream once what waits is sent; with an error, that is its status."""
        if self._close(error):
            self._outlet.finish(DONE if error is None else status_of(error))

    def _push(self, message: p4r.StreamMessageResponse) -> bool:
        """Returns whether there was room for a message, or the stream has ended anyway."""
        most = MAX_WAITING_BYTES if self.primary else min(BACKUP_WAITING_BYTES, MAX_WAITING_BYTES)
        pushed = self._outlet.push(message.SerializeToString(), most, MAX_WAITING)
        return pushed is not Pushed.REFUSED

    def _close(self, error: RpcError | None) -> bool:
        """Returns whether it was open."""
        with self._lock:
            if self.closed:
                return False
            self.closed, self.error = True, error
        return True


class _Role:
    """A role's sessions. `highest`: the highest election id ever seen; `config`, `scope`: of its
    last primary."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.highest: int | None = None
        self.primary: Session | None = None
        self.config: any_pb.Any | None = None
        self.scope: Scope | None = None

    def take_over(self, session: Session | None) -> None:
        """Makes a session the primary; None: there is none."""
        if self.primary is not None:
            self.primary.primary = False
        self.primary = session
        if session is not None:
            session.primary = True


class Arbitration:
    """The roles of one device. The default role, "", always exists.

    `before_notice`: is called before any stream is notified, when the primaries are those that it
    will read of."""

    def __init__(self, device_id: int, before_notice: Callable[[], object] = lambda: None) -> None:
        self._device_id = device_id
        self._before_notice = before_notice
        self._roles: dict[str, _Role] = {"": _Role()}

    def update(self, session: Session, message: p4r.MasterArbitrationUpdate) -> None:
        """Takes a session's claim and notifies whom it concerns. Raises RpcError, which ends the
        stream."""
        if session.left or session.closed:  # a claim that was read before its stream ended
            return
        self._let_ended_leave()
        name = message.role.name
        election_id = _number(message.election_id) if message.HasField("election_id") else None
        first = session.role is None
        scope = self._check(session, message, name, election_id)
        role = self._roles.setdefault(name, _Role())
        if first:
            session.role = name
            role.sessions.append(session)
        session.election_id = election_id
        if election_id is not None and (role.highest is None or election_id >= role.highest):
            config = message.role.config if scope is not None else None
            changed = (
                role.primary is not session or election_id != role.highest or config != role.config
            )
            role.take_over(session)
            role.highest = election_id
            role.config, role.scope = config, scope
            if changed:
                self._notify(name, role, [s for s in role.sessions if s is not session])
            self._notify(name, role, [session])
        elif role.primary is session:
            role.take_over(None)
            self._notify(name, role, role.sessions)
        else:
            self._notify(name, role, [session])

    def leave(self, session: Session) -> None:
        """A stream has ended."""
        session.left = True
        if session.role is None:
            return
        role = self._roles.get(session.role)
        if role is not None and session in role.sessions:
            role.sessions.remove(session)
            if role.primary is session:
                role.take_over(None)
                self._notify(session.role, role, role.sessions)
            if session.role and not role.sessions and role.highest is None:
                del self._roles[session.role]  # nothing of it has to be kept

    def _let_ended_leave(self) -> None:
        """Takes out sessions whose stream has ended, and whose thread has yet to notice: their ids
        are free."""
        ended = [
            session for role in self._roles.values() for session in role.sessions if session.closed
        ]
        for session in ended:
            self.leave(session)

    def make_room(self, message: p4r.MasterArbitrationUpdate) -> Session | None:
        """Returns the session whose place a new one may take with its first claim: None, if there
        is room. A claim with an election id takes the place of one without; what makes a session
        primary takes that of any that isn't; the oldest goes first. Raises RpcError."""
        self._let_ended_leave()
        sessions = [session for role in self._roles.values() for session in role.sessions]
        if len(sessions) < MAX_SESSIONS:
            return None
        claims = message.HasField("election_id")
        role = self._roles.get(message.role.name)
        highest = role.highest if role is not None else None
        leads = claims and (highest is None or _number(message.election_id) >= highest)
        lesser = [
            s for s in sessions if not s.primary and (leads or (claims and s.election_id is None))
        ]
        if not lesser:
            raise RpcError(RESOURCE_EXHAUSTED, f"{MAX_SESSIONS} controllers are connected already")
        return min(lesser, key=lambda session: (session.election_id is not None, session.since_s))

    def check_device(self, device_id: int) -> None:
        """Raises RpcError NOT_FOUND for another device."""
        if device_id != self._device_id:
            raise RpcError(NOT_FOUND, f"this switch is device {self._device_id}, not {device_id}")

    def check_primary(self, role_name: str, election_id: p4r.Uint128) -> Scope | None:
        """Returns what the role may do; None: everything. Raises RpcError unless the request comes
        from the role's primary."""
        role = self._roles.get(role_name)
        if role is None:
            raise RpcError(
                NOT_FOUND, f"no controller has taken the role {role_name[:MAX_ROLE_NAME]!r}"
            )
        if role.primary is None or _number(election_id) != role.highest:
            primary = (
                f"the primary has election id {role.highest}"
                if role.primary
                else "there is no primary"
            )
            raise RpcError(
                PERMISSION_DENIED,
                f"election id {_number(election_id)} is not the primary's: {primary}",
            )
        return role.scope

    def scope(self, role_name: str) -> Scope | None:
        """Returns what a role sees; None: everything."""
        role = self._roles.get(role_name)
        return None if role is None else role.scope

    def is_primary(self, session: Session) -> bool:
        """Returns whether a session may send packets."""
        return session.role is not None and self._roles[session.role].primary is session

    def primaries(self) -> list[tuple[Session, Scope | None]]:
        """Returns the primary of each role that has one: who gets packets and digests."""
        return [
            (role.primary, role.scope)
            for role in list(self._roles.values())
            if role.primary is not None
        ]

    def _check(
        self,
        session: Session,
        message: p4r.MasterArbitrationUpdate,
        name: str,
        election_id: int | None,
    ) -> Scope | None:
        """Returns what the role is to do."""
        if session.role is None:
            self.check_device(message.device_id)
        elif message.device_id != self._device_id:
            raise RpcError(FAILED_PRECONDITION, f"this stream is for device {self._device_id}")
        elif name != session.role:
            raise RpcError(
                FAILED_PRECONDITION, f"this stream has the role {session.role!r}: open another"
            )
        if len(name.encode()) > MAX_ROLE_NAME:
            raise RpcError(INVALID_ARGUMENT, f"a role's name has at most {MAX_ROLE_NAME} bytes")
        if message.role.config.ByteSize() > MAX_ROLE_CONFIG:
            raise RpcError(
                RESOURCE_EXHAUSTED, f"a role's configuration has at most {MAX_ROLE_CONFIG} bytes"
            )
        if name not in self._roles and len(self._roles) >= MAX_ROLES:
            raise RpcError(RESOURCE_EXHAUSTED, f"{MAX_ROLES} roles exist already")
        scope = scope_of(message.role.config) if message.role.HasField("config") else None
        for other_name, role in self._roles.items():
            if (
                scope
                and role.scope
                and role.sessions
                and other_name != name
                and scope.conflicts(role.scope)
            ):
                raise RpcError(
                    INVALID_ARGUMENT, f"the role {other_name!r} has some of these ids, not for both"
                )
        others = [
            rival
            for rival in (self._roles[name].sessions if name in self._roles else [])
            if rival is not session
        ]
        if election_id is not None and any(rival.election_id == election_id for rival in others):
            raise RpcError(
                INVALID_ARGUMENT,
                f"election id {election_id} is in use by another controller of this role",
            )
        return scope

    def _notify(self, name: str, role: _Role, sessions: list[Session]) -> None:
        self._before_notice()
        for session in sessions:
            response = p4r.StreamMessageResponse()
            message = response.arbitration
            message.device_id = self._device_id
            if name:
                message.role.name = name
            if role.config is not None:
                message.role.config.CopyFrom(role.config)
            if role.highest is not None:
                message.election_id.high, message.election_id.low = (
                    role.highest >> 64,
                    role.highest & (2**64 - 1),
                )
            if role.primary is session:
                status = rpc_status.Status(code=OK, message="you are primary")
            elif role.primary is not None:
                status = rpc_status.Status(
                    code=ALREADY_EXISTS, message="another controller is primary"
                )
            else:
                status = rpc_status.Status(code=NOT_FOUND, message="there is no primary")
            message.status.CopyFrom(status)
            session.send(response)


def _number(election_id: p4r.Uint128) -> int:
    return election_id.high << 64 | election_id.low
