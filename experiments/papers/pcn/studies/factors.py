"""A study beyond the paper: what the factors in Fig. 12 depend on that the paper leaves open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan, numbers
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.checks import Check
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes, ratio
from pcn.experiments.papers.pcn.claims import COMPARED, PCN, PREVENTED
from pcn.experiments.papers.pcn.figures import hadoop
from pcn.experiments.papers.pcn.figures.fig12 import FACTORS, factor_row, prevented_row
from pcn.experiments.papers.pcn.variants import PUBLISHED_PACKETS, PUBLISHED_SEGMENTS, VARIANTS

SEEDS = (1, 2)
_AS = "as everywhere else here"


class FactorStudy(Experiment):
    name = "factors"
    draws = DRAWN_FLOWS
    schemes = COMPARED
    variants = VARIANTS
    title = "What Fig. 12's factors depend on"
    source = "study; 7.2, Fig. 12"
    about = (
        "Fig. 12's runs, with one thing changed that is open about the schemes beside PCN. Means "
        "over two seeds. TIMELY: where factors are large flows crawl (last panel). An alpha of "
        "0.875 makes a gradient of little more than the last two RTTs: when a burst comes, all "
        "segments that are on their way take as much as a half each before the first decrease "
        "shows; and at the lowest rate, 10 Mbit/s, a segment of 16 KB takes 13 ms, in which the "
        "rate grows by as much. What keeps flows from there brings the factors down, towards the "
        "paper's: RTTs that come often, larger steps, bounded decreases, a lower start, no "
        "gradient at all (T_low at T_high), or one that is a mean over many RTTs. PCN's authors "
        "used the code that TIMELY's authors published (7), whose recommendations make it such a "
        "mean: alpha = 0.02, T_high = 1 ms, with an RTT of every packet and T_low = 0, or with one "
        "each 64 KB and T_low = 50 us; and increases grow after five falling RTTs, not gradients. "
        "Other figures have other values, since by these the link isn't full in time after the "
        "victim's bursts (Fig. 2). DCQCN: open ns-3 code has R_AI 5 and R_HAI 50 Mbit/s by "
        "default. H0's flows need fast increases, those of H2 to H15 slow ones."
    )
    settings: Mapping[Key, tuple[str, str, str, Mapping[str, float]]] = {
        "timely": ("timely", _AS, "", {}),
        "1000": ("timely", "RTT of every packet", "", {"segment_bytes": 1000.0}),
        "64000": ("timely", "RTT each 64 KB", "", {"segment_bytes": 64e3}),
        "whole": ("timely", "whole step at each RTT", "whole steps", {}),
        "min_rtt": ("timely", "least RTT 20 us", "", {"min_rtt_s": 20e-6}),
        "t_low": ("timely", "T_low 500 us", "", {"t_low_s": 500e-6}),
        "t_high": ("timely", "T_high 1 ms", "", {"t_high_s": 1e-3}),
        "hai": ("timely", "no hyper increase", "", {"hai_factor": 1.0}),
        "step": ("timely", "step 40 Mbit/s", "", {"delta_bps": 40e6}),
        "least": ("timely", "lowest rate 100 Mbit/s", "", {"min_rate_bps": 100e6}),
        "start": ("timely", "start at a tenth of line rate", "low start", {}),
        "beta": ("timely", "beta 0.2", "", {"beta": 0.2}),
        "bound": ("timely", "decreases of a tenth at most", "", {"max_decrease": 0.1}),
        "alpha": ("timely", "alpha 0.02", "", {"alpha": 0.02}),
        "code 1000": ("timely", "authors' code, every packet", "falling RTTs", PUBLISHED_PACKETS),
        "code 64000": ("timely", "authors' code, 64 KB", "falling RTTs", PUBLISHED_SEGMENTS),
        "dcqcn": ("dcqcn", _AS, "", {}),
        "r_ai": ("dcqcn", "R_AI 5, R_HAI 50 Mbit/s", "", {"r_ai_bps": 5e6, "r_hai_bps": 50e6}),
        "timer": ("dcqcn", "timer 300 us", "", {"rate_timer_s": 300e-6}),
        "timer*5": ("dcqcn", "timer 1.5 ms", "", {"rate_timer_s": 1.5e-3}),
        "k": ("dcqcn", "K_min 40 KB", "", {"k_min_bytes": 40e3}),
        "qcn": ("qcn", _AS, "", {}),
        "q_eq": ("qcn", "Q_eq 75 KB", "", {"q_eq_bytes": 75e3}),
        "equation": ("qcn", "target set at each message", "", {"keep_target": 0.0}),
        "samples": ("qcn", "a sample each 15 KB", "", {"sample_bytes": 15e3}),
        "rises": ("qcn", "R_AI 1, R_HAI 10 Mbit/s", "", {"r_ai_bps": 1e6, "r_hai_bps": 10e6}),
        "bytes": ("qcn", "increases each 500 KB", "", {"byte_counter_bytes": 500e3}),
    }
    """By key: scheme, what is changed, variant, fields."""

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for seed in SEEDS if PCN in schemes else ():
            yield Run({"scheme": PCN, "seed": seed}, PCN, seed)
        for key, (scheme, _, variant, fields) in self.settings.items():
            for seed in SEEDS if scheme in schemes else ():
                yield Run({"setting": key, "seed": seed}, scheme, seed, fields, variant)

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        return hadoop.hadoop_plan(scheme, seed, **numbers(values))

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        return Outcome(
            run.keys, {**hadoop.numbers(recording), "h0_slow": hadoop.slow_share(recording, "h0")}
        )

    def checks(self, outcomes: Outcomes) -> list[Check]:
        return [row for key in self.settings for row in self._rows(outcomes, key)]

    def _rows(self, outcomes: Outcomes, key: Key) -> list[Check]:
        """Returns the rows of one setting; none if it wasn't run."""
        if not outcomes.where(setting=key):
            return []
        scheme, setting, _, _ = self.settings[key]
        name, rows = label(scheme), []
        if scheme in PREVENTED:
            left = ratio(
                outcomes.mean("pause_per_s", scheme=PCN), outcomes.mean("pause_per_s", setting=key)
            )
            saved = None if left is None else 1 - left
            rows.append(prevented_row(f"{name}, {setting}: PCN", scheme, saved))
        for claim, number, times in FACTORS[scheme]:
            factor = _factor(outcomes, key, number)
            rows.append(
                factor_row(claim, scheme, f"{name}, {setting}: {name} / PCN, {times}", factor)
            )
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        """Returns how many of the paper's figures each setting meets."""
        by_scheme: dict[str, list[str]] = {}
        for key, (scheme, setting, _, _) in self.settings.items():
            rows = self._rows(outcomes, key)
            if rows:
                met = sum(row.verdict == "met" for row in rows)
                by_scheme.setdefault(scheme, []).append(f"{setting} {met} of {len(rows)}")
        return [
            f"{label(scheme)}, the paper's figures that come out (met): {', '.join(texts)}."
            for scheme, texts in by_scheme.items()
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        run = [key for key in self.settings if outcomes.where(setting=key)]
        panels = []
        for group, title in (
            ("h0", "H0, mean"),
            ("h1", "H1, mean"),
            ("bursts", "H2 to H15, 99% (QCN: mean)"),
        ):
            of_paper = {
                key: [
                    ratio(_factor(outcomes, key, number, **seed), claim[self.settings[key][0]])
                    for seed in ({}, *_each_seed(outcomes))
                ]
                for key in run
                for claim, number, _ in FACTORS[self.settings[key][0]]
                if number.endswith(group)
            }
            panels.append(
                self._panel(title, "Factor over PCN's, over the paper's", of_paper, 1.0, "paper")
            )
        slow = {
            key: [outcomes.mean("h0_slow", setting=key), *outcomes.by_run("h0_slow", setting=key)]
            for key in run
        }
        pcn = outcomes.mean("h0_slow", scheme=PCN)
        panels.append(
            self._panel("H0's flows below 1 Gbit/s each", "Share of their time", slow, pcn, "PCN")
        )
        return panels

    def _panel(
        self,
        title: str,
        x_label: str,
        values: Mapping[Key, Sequence[float | None]],
        level: float | None,
        level_text: str,
    ) -> Chart:
        """Returns a bar a setting, in its scheme's colour: of each the mean, then its seeds'
        values."""
        keys = list(values)
        lines = []
        for scheme in dict.fromkeys(self.settings[key][0] for key in keys):
            rows = [row for row, key in enumerate(keys) if self.settings[key][0] == scheme]
            means = [values[keys[row]][0] or 0.0 for row in rows]
            seeds = [
                [value for value in values[keys[row]][1:] if value is not None] for row in rows
            ]
            lines.append(curve(label(scheme), rows, means, scheme, seeds=seeds))
        names = [self.settings[key][1] for key in keys]
        return Chart(title, x_label, "", lines, level=level, level_text=level_text, rows=names)


def _each_seed(outcomes: Outcomes) -> list[dict[str, Key]]:
    return [{"seed": seed} for seed in outcomes.values("seed")]


def _factor(outcomes: Outcomes, key: Key, number: str, **seed: Key) -> float | None:
    return ratio(
        outcomes.mean(number, setting=key, **seed), outcomes.mean(number, scheme=PCN, **seed)
    )
