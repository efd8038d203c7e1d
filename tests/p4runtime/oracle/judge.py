"""Sends batches, compares each answer with the model's decision, and then all that the server holds with the model."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from finsy.proto import p4r
from google.protobuf import text_format

from oracle import info, readback, reads
from oracle.batch import draw_batch
from oracle.differences import Difference
from oracle.draw import Draw
from oracle.model import Decision, Model
from oracle.programs import Program
from oracle.rules import ABORTED, OK, RULES
from oracle.target import Answer, Target

BATCHES = 40  # an episode, which starts from a fresh pipeline
UPDATES = 25  # of a batch at most
UNKNOWN = 2


@dataclass(frozen=True)
class Violation:
    """What went against the specification, and how to see it again."""

    program: str
    seed: int
    episode: int
    batch: int
    what: str
    update: str = ""

    def __str__(self) -> str:
        replay = f"--program {self.program} --seed {self.seed} --episode {self.episode}"
        return f"{replay} (batch {self.batch}): {self.what}" + (f"\n    {self.update}" if self.update else "")


@dataclass
class Tally:
    """What was sent and what came of it. `refused`: by the rules broken, `reached`: all rules broken."""

    updates: int = 0
    queries: int = 0
    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    reached: Counter[str] = field(default_factory=Counter)
    known: int = 0
    violations: list[Violation] = field(default_factory=list)


@dataclass(frozen=True)
class _Case:
    """An update, what the model makes of it, and the code that it got."""

    update: p4r.Update
    decision: Decision
    code: int
    message: str


class Judge:
    """Judges one program on one target."""

    def __init__(
        self, target: Target, program: Program, seed: int, known: tuple[Difference, ...] = (), batches: int = BATCHES
    ) -> None:
        self._target = target
        self._program = program
        self._seed = seed
        self._known = {(difference.rule, difference.code) for difference in known}
        self._batches = batches
        self._info = info.read(program.config.p4info)
        self.tally = Tally()

    def run(self, updates: int) -> Tally:
        """Episodes until so many updates were sent."""
        episode = 0
        while self.tally.updates < updates:
            self.episode(episode)
            episode += 1
        return self.tally

    def episode(self, number: int) -> None:
        """One episode; it ends at its first violation, since the model is then no longer the server's."""
        self._target.load(self._program)
        model = Model(self._info)
        draw = Draw(random.Random(f"{self._seed} {self._program.name} {number}"), model)
        found = list(self._start(model))
        for batch in range(self._batches):
            if not found:
                request, whole = draw_batch(draw, UPDATES)
                found = list(self.judge(model, request, whole))
                found = found or list(self._judge_queries(draw))
            if found:
                self.tally.violations += [
                    Violation(self._program.name, self._seed, number, batch, *violation) for violation in found
                ]
                return

    def _start(self, model: Model) -> Iterator[tuple[str, str]]:
        entities, answer = self._target.read(readback.queries(model))
        found, wrong = readback.observed(entities)
        if answer.code:
            yield f"a read failed: {answer}", ""
        yield from ((what, "") for what in (*wrong, *readback.adopt(model, found)))

    def judge(self, model: Model, request: p4r.WriteRequest, whole: str = "") -> Iterator[tuple[str, str]]:
        """Sends a request. Yields what is wrong, and the update that it is wrong of."""
        answer = self._target.write(request)
        self.tally.updates += len(request.updates)
        before = model.begin()
        if answer.details or answer.code in (OK, UNKNOWN):
            if whole and not RULES[whole].choice:
                yield f"accepted, though it breaks {whole}", ""
            yield from self._judge_updates(model, request, answer)
        else:
            self.tally.refused[whole] += 1
            self.tally.reached[whole] += 1
            if not whole:
                yield f"refused as a whole with code {answer.code}: {answer.message}", ""
            elif answer.code not in RULES[whole].codes:
                yield f"code {answer.code}, not of {sorted(RULES[whole].codes)}: {whole}", ""
        if request.atomicity != p4r.WriteRequest.CONTINUE_ON_ERROR and answer.code != OK:
            model.restore(before)
        yield from self._read_back(model)

    def _judge_updates(self, model: Model, request: p4r.WriteRequest, answer: Answer) -> Iterator[tuple[str, str]]:
        if answer.code == OK:
            errors = [p4r.Error()] * len(request.updates)
        else:
            errors = list(answer.details)
            codes = [error.canonical_code for error in errors]
            if len(codes) != len(request.updates) or not any(codes):
                yield (
                    f"{len(codes)} errors, {sum(map(bool, codes))} of them set, for {len(request.updates)} updates",
                    "",
                )
                return
            if any(error != p4r.Error() for error in answer.details if not error.canonical_code):
                yield "the error of an update that succeeded says more than OK", ""
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
            elif (decision.broken[0] if decision.broken else "", code) in self._known:
                self.tally.known += 1
            else:
                yield self._describe(case), text_format.MessageToString(update, as_one_line=True)
        if rollback and not blamed:
            yield "a batch was rolled back, and no update is to blame", ""

    def _count(self, case: _Case) -> None:
        self.tally.reached.update(case.decision.broken)
        if case.code == OK:
            self.tally.accepted += 1
        else:
            self.tally.refused.update(case.decision.broken)

    def _describe(self, case: _Case) -> str:
        answered = "accepted" if case.code == OK else f"refused with code {case.code} ({case.message})"
        return f"{answered}, not {sorted(case.decision.codes)}: {case.decision}"

    def _read_back(self, model: Model) -> Iterator[tuple[str, str]]:
        entities, answer = self._target.read(readback.queries(model))
        found, wrong = readback.observed(entities)
        if answer.code:
            yield f"a read failed: {answer}", ""
        yield from ((what, "") for what in (*wrong, *readback.differences(readback.expected(model), found)))

    def _judge_queries(self, draw: Draw) -> Iterator[tuple[str, str]]:
        queries = reads.draw_queries(draw)
        self.tally.queries += len(queries)
        yield from reads.wrong(queries, *self._target.read([query.entity for query in queries]))
