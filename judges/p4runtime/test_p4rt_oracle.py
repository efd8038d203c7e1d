"""The oracle fuzzer in short: no program shows a violation, and a server that is wrong does."""

import copy
import ctypes
import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import needs
import pytest
from oracle.batch import ELECTION
from oracle.differences import DIFFERENCES
from oracle.judge import Judge, Tally
from oracle.known import Difference, unclean
from oracle.mutate import MUTATIONS
from oracle.programs import Program, programs
from oracle.rules import RULES
from oracle.target import Answer, Bmv2, Embedded, Remote
from p4rt_switch import running_switch

from pcn.base.p4rt import p4r, rpc_code

PROGRAMS = programs()
Change = Callable[["Wrong", p4r.WriteRequest], Answer]
# 11 draws a rare one: a batch of which nothing is wrong but its election ID
SEEDS = (11, 9, 8, 5, 3, 1)


@pytest.fixture(scope="module")
def embedded() -> Iterator[Embedded]:
    target = Embedded()
    yield target
    target.close()


@pytest.mark.parametrize(
    "name", [name for name in PROGRAMS if not name.endswith("_native")]
)  # which have a part alone
def test_no_violation(embedded: Embedded, name):
    judge = Judge(embedded, PROGRAMS[name], seed=2026, batches=15)
    judge.episode(0)
    assert not judge.tally.violations, "\n".join(map(str, judge.tally.violations))
    assert judge.tally.accepted > 20
    assert judge.tally.refused.total() > 10


def test_over_grpc(library: ctypes.CDLL):
    """The client that other servers are judged by."""
    with running_switch(library) as switch:
        remote = Remote(f"127.0.0.1:{switch.port}")
        judge = Judge(remote, PROGRAMS["bench"], seed=2026, batches=15)
        judge.episode(0)
        remote.close()
    assert not judge.tally.violations, "\n".join(map(str, judge.tally.violations))


def test_an_episode_replays(embedded: Embedded):
    tallies = []
    for _ in range(2):
        judge = Judge(embedded, PROGRAMS["indirect"], seed=3, batches=10)
        judge.episode(4)
        tallies.append(judge.tally)
    assert tallies[0] == tallies[1] != Tally()


def test_it_shares_no_code_with_the_switch():
    files = {
        path.name: path.read_text() for path in (Path(__file__).parent / "oracle").glob("*.py")
    }
    assert [
        name
        for name, text in files.items()
        # `packed` reads files and uses nothing of P4Runtime
        if re.search(r"^\s*(from|import) pcn\.softswitch(?! import packed$)", text, re.M)
    ] == ["target.py"]


def test_kinds_of_mutations():
    assert MUTATIONS.keys() <= RULES.keys()
    assert len(MUTATIONS) > 90
    whole = {"device", "role", "election", "rollback", "atomic"}
    by_drawing = {"table-full", "table-initial", "profile-full", "group-empty", "set-range"}
    assert RULES.keys() - MUTATIONS.keys() == whole | by_drawing


# ---- a judge that can't fail is none ----


class Wrong:
    """The embedded switch with writes changed by `change`, and with answers to reads changed by
    `hide`."""

    def __init__(
        self,
        inner: Embedded,
        change: Change | None = None,
        hide: Callable[[p4r.Entity], p4r.Entity | None] = lambda entity: entity,
    ):
        self.inner, self._change, self._hide = inner, change, hide

    def load(self, program: Program):
        self.inner.load(program)

    def write(self, request: p4r.WriteRequest) -> Answer:
        return self._change(self, request) if self._change else self.inner.write(request)

    def read(self, queries: Iterable[p4r.Entity]) -> tuple[list[p4r.Entity], Answer]:
        entities, answer = self.inner.read(queries)
        return [shown for shown in map(self._hide, entities) if shown is not None], answer

    def close(self):
        pass


def answered(codes: list[int]) -> Answer:
    """A Write's answer, as these outcomes of its updates make it."""
    details = tuple(p4r.Error(canonical_code=code) for code in codes)
    return Answer(rpc_code.UNKNOWN, details) if any(codes) else Answer(rpc_code.OK)


def codes_of(request: p4r.WriteRequest, answer: Answer) -> list[int]:
    return [error.canonical_code for error in answer.details] or [0] * len(request.updates)


def is_judged(request: p4r.WriteRequest, answer: Answer) -> bool:
    """Whether the updates of a batch that continues were looked at one by one."""
    whole = answer.code not in (rpc_code.OK, rpc_code.UNKNOWN)
    return (
        not whole
        and request.atomicity == p4r.WriteRequest.CONTINUE_ON_ERROR
        and len(request.updates) > 0
    )


def drops_an_update(target: Wrong, request: p4r.WriteRequest) -> Answer:
    """Reports success of the last update without applying it."""
    shorter = p4r.WriteRequest()
    shorter.CopyFrom(request)
    if not request.updates or request.updates[-1].type != p4r.Update.INSERT:
        return target.inner.write(request)
    del shorter.updates[-1]
    answer = target.inner.write(shorter)
    if not is_judged(request, answer):
        return answer
    return answered([*codes_of(shorter, answer), rpc_code.OK])


def accepts_what_it_refused(target: Wrong, request: p4r.WriteRequest) -> Answer:
    answer = target.inner.write(request)
    return answered([0] * len(request.updates)) if is_judged(request, answer) else answer


def answers_another_code(target: Wrong, request: p4r.WriteRequest) -> Answer:
    answer = target.inner.write(request)
    if not is_judged(request, answer):
        return answer
    return answered(
        [rpc_code.DATA_LOSS if code else rpc_code.OK for code in codes_of(request, answer)]
    )


def refuses_what_is_right(target: Wrong, request: p4r.WriteRequest) -> Answer:
    answer = target.inner.write(request)
    return (
        answered([rpc_code.INVALID_ARGUMENT] * len(request.updates))
        if is_judged(request, answer)
        else answer
    )


def loses_a_detail(target: Wrong, request: p4r.WriteRequest) -> Answer:
    answer = target.inner.write(request)
    return Answer(answer.code, answer.details[:-1]) if len(answer.details) > 1 else answer


def does_not_roll_back(target: Wrong, request: p4r.WriteRequest) -> Answer:
    careless = p4r.WriteRequest()
    careless.CopyFrom(request)
    if request.atomicity == p4r.WriteRequest.ROLLBACK_ON_ERROR:
        careless.atomicity = p4r.WriteRequest.CONTINUE_ON_ERROR
    answer = target.inner.write(careless)
    if answer.details and careless.atomicity != request.atomicity:
        return answered([code or rpc_code.ABORTED for code in codes_of(request, answer)])
    return answer


def rolls_back_for_nothing(target: Wrong, request: p4r.WriteRequest) -> Answer:
    if request.atomicity == p4r.WriteRequest.ROLLBACK_ON_ERROR:
        return answered([rpc_code.ABORTED] * len(request.updates))
    return target.inner.write(request)


def takes_any_election_id(target: Wrong, request: p4r.WriteRequest) -> Answer:
    request.election_id.CopyFrom(p4r.Uint128(low=1))
    return target.inner.write(request)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (drops_an_update, "is missing"),
        (accepts_what_it_refused, "accepted, not"),
        (answers_another_code, "refused with code 15"),
        (refuses_what_is_right, "it breaks no rule"),
        (loses_a_detail, "updates"),
        (does_not_roll_back, "should not be there"),
        (rolls_back_for_nothing, "no update is to blame"),
        (takes_any_election_id, "it breaks election"),
    ],
)
def test_a_wrong_answer_is_noticed(embedded: Embedded, change, text):
    unexpected = []
    for violation in violations(Wrong(embedded, change), "bench"):
        if text in violation:
            return
        unexpected.append(violation)
    pytest.fail(f"it is in none of {unexpected}")


def refuses_to_roll_back(target: Wrong, request: p4r.WriteRequest) -> Answer:
    sender = (request.device_id, request.role, request.election_id)
    if sender == (1, "", ELECTION) and request.atomicity == p4r.WriteRequest.ROLLBACK_ON_ERROR:
        return Answer(rpc_code.UNIMPLEMENTED)
    return target.inner.write(request)


def test_batches_need_not_be_rolled_back(embedded: Embedded):
    assert list(violations(Wrong(embedded, refuses_to_roll_back), "bench", SEEDS[:3])) == []


# ---- differences that are known ----


def ignores_is_const(target: Wrong, request: p4r.WriteRequest) -> Answer:
    changed = copy.deepcopy(request)
    for update in changed.updates:
        if update.entity.HasField("table_entry"):
            update.entity.table_entry.is_const = False
    return target.inner.write(changed)


def refuses_and_inserts(target: Wrong, request: p4r.WriteRequest) -> Answer:
    """Refuses an entry with a time since the last hit, as it should, but puts it there."""
    changed = copy.deepcopy(request)
    for update in changed.updates:
        if update.entity.HasField("table_entry"):
            update.entity.table_entry.ClearField("time_since_last_hit")
    answer = target.inner.write(changed)
    if changed == request or not is_judged(request, answer):
        return answer
    codes = codes_of(request, answer)
    for number, (update, sent) in enumerate(zip(changed.updates, request.updates, strict=True)):
        if update != sent:
            codes[number] = codes[number] or rpc_code.INVALID_ARGUMENT
    return answered(codes)


def dies_of_no_type(target: Wrong, request: p4r.WriteRequest) -> Answer:
    if any(update.type == p4r.Update.UNSPECIFIED for update in request.updates):
        return Answer(rpc_code.UNAVAILABLE)
    return target.inner.write(request)


DIFFERING = [
    (takes_any_election_id, Difference("election", rpc_code.OK, "12")),
    (ignores_is_const, Difference("is-const", rpc_code.OK, "9.1")),
    (refuses_and_inserts, Difference("last-hit", rpc_code.INVALID_ARGUMENT, "12", unclean=True)),
    (dies_of_no_type, Difference("type-unset", rpc_code.UNAVAILABLE, "12")),
]


def differing(embedded: Embedded, change: Change, known: Difference) -> Iterator[Tally]:
    """What a target that has changed is known by: an episode's tally each."""
    for seed in SEEDS:
        judge = Judge(Wrong(embedded, change), PROGRAMS["bench"], seed=seed, known=(known,))
        judge.episode(0)
        yield judge.tally


@pytest.mark.parametrize(("change", "difference"), DIFFERING)
def test_a_known_difference_is_counted(embedded: Embedded, change, difference):
    name = unclean(difference) if difference.unclean else (difference.name, difference.code)
    for tally in differing(embedded, change, difference):
        assert not tally.violations, "\n".join(map(str, tally.violations))
        if tally.known[name]:
            return
    pytest.fail("not met")


@pytest.mark.parametrize(("change", "difference"), DIFFERING)
def test_one_of_another_name_is_a_violation(embedded: Embedded, change, difference):
    renamed = dataclasses.replace(difference, name="member-zero")
    assert any(tally.violations for tally in differing(embedded, change, renamed))


def test_bmv2_differs_as_it_is_known_to():
    needs.target("bmv2")
    target = Bmv2()
    judge = Judge(target, PROGRAMS["bench"], seed=2026, known=DIFFERENCES["bmv2"], batches=15)
    judge.episode(0)
    target.close()
    assert not judge.tally.violations, "\n".join(map(str, judge.tally.violations))
    assert judge.tally.updates > 100
    assert judge.tally.known["register_entry", rpc_code.UNIMPLEMENTED] > 0


# ---- a wrong state ----


def forgets_metadata(entity: p4r.Entity) -> p4r.Entity:
    if entity.HasField("table_entry"):
        entity.table_entry.ClearField("metadata")
    return entity


def pads(entity: p4r.Entity) -> p4r.Entity:
    for param in entity.table_entry.action.action.params if entity.HasField("table_entry") else ():
        param.value = b"\0" + param.value
    return entity


def hides_members(entity: p4r.Entity) -> p4r.Entity | None:
    return None if entity.HasField("action_profile_member") else entity


def counts(entity: p4r.Entity) -> p4r.Entity:
    if entity.HasField("table_entry") and entity.table_entry.HasField("counter_data"):
        entity.table_entry.counter_data.packet_count += 1
    return entity


@pytest.mark.parametrize(
    ("hide", "name"),
    [(forgets_metadata, "bench"), (pads, "bench"), (hides_members, "indirect"), (counts, "bench")],
)
def test_a_wrong_state_is_noticed(embedded: Embedded, hide, name):
    assert any(violations(Wrong(embedded, hide=hide), name))


def violations(target: Wrong, name: str, seeds: Iterable[int] = SEEDS) -> Iterator[str]:
    """What a few episodes find; a right server has none in them."""
    for seed in seeds:
        judge = Judge(target, PROGRAMS[name], seed=seed)
        judge.episode(0)
        yield from (violation.finding.text for violation in judge.tally.violations)
