"""Sends batches, compares each answer with the model's decision, and then all that the server holds
with the model."""

import random
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from google.protobuf import text_format

from oracle import info, readback, reads
from oracle.batch import ELECTION, Touched, draw_batch, touched
from oracle.draw import Draw
from oracle.features import features
from oracle.known import Difference, Finding, Known, unclean
from oracle.model import Decision, Model
from oracle.programs import Program
from oracle.readback import Query
from oracle.rules import ABORTED, OK, RULES, UNAVAILABLE, UNKNOWN
from oracle.target import Answer, Target
from pcn.base.p4rt import p4r

BATCHES = 40  # an episode, which starts from a fresh pipeline
UPDATES = 25  # of a batch at most
MOST = 100  # violations, after which a program is given up


@dataclass(frozen=True)
class Violation:
    """What went against the specification, and how to see it again."""

    program: str
    seed: int
    episode: int
    batch: int
    finding: Finding

    def __str__(self) -> str:
        replay = f"--program {self.program} --seed {self.seed} --episode {self.episode}"
        text = f"{replay} (batch {self.batch}): {self.finding.text}"
        text += (
            f" [{', '.join(self.finding.names)}; code {self.finding.code}]"
            if self.finding.names
            else ""
        )
        return text + (f"\n    {self.finding.message}" if self.finding.message else "")


@dataclass
class Tally:
    """What was sent and what came of it. `refused`: by the rules broken, `reached`: all rules
    broken, `known`: by the names and codes of known differences."""

    updates: int = 0
    queries: int = 0
    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    reached: Counter[str] = field(default_factory=Counter)
    known: Counter[tuple[str, int]] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)


@dataclass
class _Late:
    """Updates that wait for the end of an episode, since nothing is known of the target's state
    after them: it is known to accept them wrongly, not to refuse them cleanly, or to crash."""

    unclean: dict[Difference, p4r.Update] = field(default_factory=dict)
    accepted: list[p4r.Update] = field(default_factory=list)
    touched: Touched = field(default_factory=Touched)
    fatal: dict[Difference, p4r.Update] = field(default_factory=dict)


@dataclass(frozen=True)
class _Case:
    """An update, what the model makes of it, and the code that it got."""

    update: p4r.Update
    decision: Decision
    code: int
    message: str


class Judge:
    """Judges one program on one target, which may differ in what is known."""

    def __init__(
        self,
        target: Target,
        program: Program,
        seed: int,
        known: tuple[Difference, ...] = (),
        batches: int = BATCHES,
    ):
        self._target = target
        self._program = program
        self._seed = seed
        self._known = Known(known)
        self._batches = batches
        self._info = info.read(program.config.p4info)
        self.tally = Tally(known=self._known.met)

    def run(self, updates: int) -> Tally:
        """Episodes until `updates` updates were sent."""
        episode = 0
        while self.tally.updates < updates and len(self.tally.violations) < MOST:
            self.episode(episode)
            episode += 1
        return self.tally

    def episode(self, number: int):
        """One episode; it ends at its first violation, since the model is then no longer the
        server's."""
        for batch, findings in self._steps(number):
            if violations := list(self._known.new(findings)):
                place = (self._program.name, self._seed, number, batch)
                self.tally.violations += [Violation(*place, violation) for violation in violations]
                return

    def _steps(self, number: int) -> Iterator[tuple[int, Iterator[Finding]]]:
        """The start and each batch, with what is found. Updates after which nothing is known of the
        target's state come last."""
        self._target.load(self._program)
        model = Model(self._info)
        draw = Draw(random.Random(f"{self._seed} {self._program.name} {number}"), model)
        yield 0, self._start(model)
        late = _Late()
        for batch in range(self._batches):
            request, whole = draw_batch(draw, UPDATES)
            for update in list(request.updates):
                if self._hold_back(model, update, late):
                    request.updates.remove(update)
            yield batch, self._judge(model, request, whole)
            yield batch, self._judge_queries(draw)
        for difference, update in late.unclean.items():
            yield self._batches, self._judge_unclean(model, difference, update)
        if late.accepted:
            yield self._batches, self._judge_write(model, _request(late.accepted))
        if late.fatal:
            update = late.fatal[self._known.rarest(late.fatal)]
            yield self._batches, self._judge_write(model, _request([update]))

    def _hold_back(self, model: Model, update: p4r.Update, late: _Late) -> bool:
        """Whether an update waits for the end of the episode."""
        broken = model.decide(update).broken
        names = (*broken, *features(model, update))
        partly = self._known.unclean(names)
        crash = self._known.crash(names)
        if crash is None and partly is None and not self._known.misses(broken):
            return False
        if late.touched.add(touched(model, update)):
            if crash is not None:
                late.fatal[crash] = update
            elif partly is not None:
                late.unclean.setdefault(partly, update)
            else:
                late.accepted.append(update)
        return True

    def _judge_unclean(
        self, model: Model, difference: Difference, update: p4r.Update
    ) -> Iterator[Finding]:
        """Sends an update that the target is known to refuse and nevertheless to carry out in
        part."""
        before = yield from self._read(readback.queries(model))
        yield from self._judge_write(model, _request([update]))
        after = yield from self._read(readback.queries(model))
        if [entities for _, entities, _ in before] != [entities for _, entities, _ in after]:
            self._known.met[unclean(difference)] += 1

    def _start(self, model: Model) -> Iterator[Finding]:
        held: list[p4r.Entity] = []
        for queries, entities, errors in (yield from self._read(readback.queries(model))):
            yield from reads.refused(queries, errors)
            held += entities
        yield from readback.adopt(model, dict(map(readback.observe, held)))

    def _judge(self, model: Model, request: p4r.WriteRequest, whole: str) -> Iterator[Finding]:
        """Sends a request, and then reads all state."""
        if (yield from self._judge_write(model, request, whole)) != UNAVAILABLE:
            yield from self._judge_read(readback.queries(model))

    def _judge_write(
        self, model: Model, request: p4r.WriteRequest, whole: str = ""
    ) -> Generator[Finding, None, int]:
        """Sends a request and returns gRPC's code."""
        answer = self._target.write(request)
        self.tally.updates += len(request.updates)
        before = model.begin()
        if answer.details or answer.code == OK:
            if whole and not RULES[whole].choice:
                yield Finding(f"accepted, though it breaks {whole}", "", (whole,))
            yield from self._judge_updates(model, request, answer)
        else:
            self.tally.refused[whole] += 1
            self.tally.reached[whole] += 1
            if not whole:
                yield self._refused(model, request, answer)
            elif answer.code not in RULES[whole].codes:
                text = f"code {answer.code}, not of {sorted(RULES[whole].codes)}: {whole}"
                yield Finding(text, "", (whole,), answer.code)
        if request.atomicity != p4r.WriteRequest.CONTINUE_ON_ERROR and answer.code != OK:
            model.restore(before)
        return answer.code

    def _judge_updates(
        self, model: Model, request: p4r.WriteRequest, answer: Answer
    ) -> Iterator[Finding]:
        if answer.code == OK:
            errors = [p4r.Error()] * len(request.updates)
        else:
            errors = list(answer.details)
            codes = [error.canonical_code for error in errors]
            if len(codes) != len(request.updates) or not any(codes):
                set_codes = sum(map(bool, codes))
                yield Finding(
                    f"{len(codes)} errors, {set_codes} of them set, for {len(request.updates)} "
                    "updates"
                )
                return
            if any(error != p4r.Error() for error in answer.details if not error.canonical_code):
                yield Finding("the error of an update that succeeded has more than OK")
        rollback = request.atomicity != p4r.WriteRequest.CONTINUE_ON_ERROR and answer.code != OK
        blamed = False
        for update, error in zip(request.updates, errors, strict=True):
            decision, code = model.decide(update), error.canonical_code
            case = _Case(update, decision, code, error.message)
            if rollback and code in (OK, ABORTED):
                if OK in decision.codes:
                    model.apply(update)  # its place in the order may matter to how full a table is
                continue
            blamed = blamed or code != OK
            self._count(case)
            if code in decision.codes:
                if code == OK:
                    model.apply(update)
            else:
                yield _wrong(model, case)
        if rollback and not blamed:
            yield Finding("a batch was rolled back, and no update is to blame")

    def _count(self, case: _Case):
        self.tally.reached.update(case.decision.broken)
        if case.code == OK:
            self.tally.accepted += 1
        else:
            self.tally.refused.update(case.decision.broken)

    def _refused(self, model: Model, request: p4r.WriteRequest, answer: Answer) -> Finding:
        """A request that no rule forbids as a whole. Where it has one update, the answer is that
        one's."""
        text, names = f"refused as a whole with code {answer.code}: {answer.message}", ("write",)
        if len(request.updates) != 1:
            return Finding(text, "", names, answer.code)
        (update,) = request.updates
        names = (*names, *model.decide(update).broken, *features(model, update))
        return Finding(text, _line(update), names, answer.code)

    # ---- reads ----

    def _judge_queries(self, draw: Draw) -> Iterator[Finding]:
        queries = reads.draw_queries(draw)
        self.tally.queries += len(queries)
        yield from self._judge_read(queries)

    def _judge_read(self, queries: list[Query]) -> Iterator[Finding]:
        for answered in (yield from self._read(queries)):
            yield from reads.wrong(*answered)

    def _read(self, queries: list[Query]) -> Generator[Finding, None, list[reads.Answered]]:
        """Reads all at once; where the target is known to differ, then one by one, to find the
        query that differs."""
        entities, answer = self._target.read([query.entity for query in queries])
        errors = (p4r.Error(),) * len(queries) if answer.code == OK else answer.details
        if answer.code not in (OK, UNKNOWN) or len(errors) != len(queries):
            text = (
                f"a read of {len(queries)} ended with code {answer.code} and {len(errors)} errors"
            )
            yield Finding(f"{text}: {answer.message}", "", ("read batch",), answer.code)
        elif not self._known:
            return [(queries, entities, errors)]
        answered: list[reads.Answered] = []
        for query in queries:
            entities, answer = self._target.read([query.entity])
            error = p4r.Error(canonical_code=answer.code, message=answer.message)
            answered.append(
                ([query], [] if answer.code else entities, answer.details[:1] or (error,))
            )
        return answered


def _wrong(model: Model, case: _Case) -> Finding:
    answered = "accepted" if case.code == OK else f"refused with code {case.code} ({case.message})"
    text = f"{answered}, not {sorted(case.decision.codes)}: {case.decision}"
    names = tuple(name for name in case.decision.broken if not RULES[name].choice)
    if case.code != OK:
        names = (*case.decision.broken, *features(model, case.update))
    return Finding(text, _line(case.update), names, case.code)


def _request(updates: list[p4r.Update]) -> p4r.WriteRequest:
    return p4r.WriteRequest(device_id=1, election_id=ELECTION, updates=updates)


def _line(update: p4r.Update) -> str:
    return text_format.MessageToString(update, as_one_line=True)
