"""What else is in an update that a target may answer otherwise, where no rule of rules.py names
it."""

from collections.abc import Iterator

from oracle.model import Model
from pcn.base.p4rt import p4r

INSERT, MODIFY = p4r.Update.INSERT, p4r.Update.MODIFY
LARGE = 2**20


def features(model: Model, update: p4r.Update) -> Iterator[str]:
    """Names by which a Difference may match an update."""
    kind = update.entity.WhichOneof("entity")
    if kind is None:
        return
    yield kind
    message = getattr(update.entity, kind)
    if kind in ("counter_entry", "meter_entry") and not message.HasField("index"):
        yield f"{kind} of a whole array"
    elif kind in ("direct_counter_entry", "direct_meter_entry"):
        yield from (f"{kind} of a default entry",) if message.table_entry.is_default_action else ()
    elif kind == "table_entry":
        if (
            update.type == MODIFY
            and not message.HasField("action")
            and not message.is_default_action
        ):
            yield "MODIFY without an action"
    elif kind == "action_profile_group":
        yield from _of_group(model, update.type, message)
    elif kind == "digest_entry" and update.type != INSERT:
        yield "change of a digest"
    elif kind == "packet_replication_engine_entry":
        session = message.clone_session_entry
        if update.type == MODIFY and (session.packet_length_bytes or session.class_of_service):
            yield "MODIFY of a session with a length or a class"
        if session.packet_length_bytes:
            yield "session with a length"
        if any(
            len(replica.port) > 4
            for replica in (*message.multicast_group_entry.replicas, *session.replicas)
        ):
            yield "port of more than 4 bytes"


def _of_group(
    model: Model, kind: p4r.Update.Type.ValueType, message: p4r.ActionProfileGroup
) -> Iterator[str]:
    profile = model.info.profiles.get(message.action_profile_id)
    weights = [item.weight for item in message.members]
    if profile and profile.members and sum(weights) > (message.max_size or profile.group_size):
        yield "group whose weights exceed its size in members"
    if any(weight >= LARGE for weight in weights):
        yield "weight of millions"
    held = model.state.groups.get((message.action_profile_id, message.group_id))
    stay = {item.member_id for item in message.members}
    if kind == MODIFY and held and any(number not in stay for number, _ in held.watches):
        yield "MODIFY of a group that loses a watched member"
