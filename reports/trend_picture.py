"""Pictures of a history: bars and strips, in the units of an SVG picture."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from acl_cts.reports.diff_words import measured
from acl_cts.reports.limit_result import BROKEN, LimitResult, LimitVerdict
from acl_cts.reports.trend import Moment, Point, Probe, Trend

HEIGHT, MARGIN = 170, 10
"""Height of the picture of failures, without its labels, and room above it."""

SCALE = 44
"""Room for the numbers of the scale, at the right: where a wide picture begins to be looked at."""

COLOURS = 6
"""Colours that a picture has; what comes after them shares one more."""

LETTER = 7.0
"""Width that a letter of a label takes, at the most."""

WIDE, NARROW, WHOLE = 64, 10, 960
"""Width of a run where there are few, where there are very many, and of all of them together in between."""

STRIP = 22
"""Height of a strip."""

ROW, THIN, BROAD = 300, 3, 24
"""Width of a strip, and of one run in it where there are very many and few."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: `look` is its class, `title` what a reader is told who points at it."""

    x: float
    y: float
    width: float
    height: float
    look: str
    title: str


@dataclass(frozen=True, slots=True)
class Label:
    """A text in a picture; `anchor` as in SVG."""

    x: float
    y: float
    text: str
    anchor: str = "middle"


@dataclass(frozen=True, slots=True)
class Bars:
    """Failures of every run, stacked by what explains them. `legend`: look and name of each part; `lines`: heights of
    the scale."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    labels: tuple[Label, ...]
    lines: tuple[float, ...]
    legend: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Strip:
    """One row: a box for every run. `changed`: whether they are not all alike; `last`: what the latest run tells;
    `legend`: look and name of what the boxes stand for, where they need one."""

    name: str
    boxes: tuple[Box, ...]
    width: float
    changed: bool
    last: str
    legend: tuple[tuple[str, str], ...] = ()


Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Pictures:
    """Pictures of one backend, with one column for each run of `history`, also where it was not judged."""

    history: Trend
    backend: str

    @property
    def slot(self) -> float:
        """Width of one run."""
        return max(NARROW, min(WIDE, WHOLE / max(1, len(self.history.points))))

    def failures(self) -> Bars:
        """Failing cases of every run; a low picture without a scale where there is none."""
        moments = self._moments()
        names = [name for name, _ in self._explained().most_common()]
        looks = {name: f"part-{place if place < COLOURS else 'rest'}" for place, name in enumerate(names)}
        top = _round_up(max((moment.failed for moment in moments if moment), default=0))
        height = HEIGHT if names else 0
        boxes = [box for place, one in enumerate(moments) for box in self._stack(place, one, looks, height / top)]
        legend = [(looks[name], name) for name in names[:COLOURS]]
        if len(names) > COLOURS:
            legend.append(("part-rest", f"+{len(names) - COLOURS}"))
        steps = () if not names else (0, 1) if top < 2 else (0, 0.5, 1)
        heights = [MARGIN + height * (1 - step) for step in steps]
        width = self.slot * len(moments)
        scale = [Label(width + 8, y + 4, f"{top * step:g}", "start") for step, y in zip(steps, heights, strict=True)]
        return Bars(
            width=width + SCALE,
            height=MARGIN + height + 48,
            boxes=tuple(boxes),
            labels=(*scale, *self._names(MARGIN + height)),
            lines=tuple(heights),
            legend=tuple(legend),
        )

    def clauses(self) -> tuple[Strip, ...]:
        """A strip of small bars for each clause that explains a failure in any run, most failures first."""
        moments = self._moments()
        return tuple(self._clause(name, moments) for name, _ in self._explained().most_common())

    def limits(self) -> tuple[Strip, ...]:
        """A strip for each probe of a limit, those that moved or are wrong first."""
        moments = self._moments()
        probes = dict.fromkeys(probe for moment in moments if moment for probe in moment.limits)
        strips = [self._limit(probe, moments) for probe in probes]
        return tuple(sorted(strips, key=lambda strip: not strip.changed))

    def points(self) -> tuple[Strip, ...]:
        """A strip for each open point, those whose answers changed first."""
        moments = self._moments()
        clauses = sorted({clause for moment in moments if moment for clause in moment.open_points})
        strips = [self._point(name, moments) for name in clauses]
        return tuple(sorted(strips, key=lambda strip: not strip.changed))

    # ------------------------------------------------------------------------------------------------------- parts

    @property
    def thin(self) -> float:
        """Width of one run in a strip."""
        return max(THIN, min(BROAD, ROW / max(1, len(self.history.points))))

    def _explained(self) -> Counter[str]:
        """Failures of all runs together, by what explains them."""
        total = Counter[str]()
        for moment in filter(None, self._moments()):
            total.update(moment.failures)
        return total

    def _moments(self) -> list[Moment | None]:
        return [point.moments.get(self.backend) for point in self.history.points]

    def _told(self, place: int) -> str:
        """Which run a box is about."""
        point = self.history.points[place]
        partial = f" ({point.version.partial})" if point.version.partial else ""
        return f"{point.label(self.backend)}, {point.version.started[:16].replace('T', ' ')}{partial}"

    def _stack(self, place: int, moment: Moment | None, looks: Mapping[str, str], scale: float) -> Iterator[Box]:
        """The boxes of one run; `scale`: height of one failure."""
        x, width = self.slot * (place + 0.15), self.slot * 0.7
        ground: float = MARGIN + (HEIGHT if scale else 0)
        if moment is None:
            yield Box(x, ground + 3, width, 6, "cell-none", f"{self._told(place)}: not judged")
            return
        if not moment.failed:
            yield Box(x, ground + 4, width, 4, "cell-good", f"{self._told(place)}: no failure")
        for name, look in looks.items():
            if number := moment.failures.get(name, 0):
                ground -= number * scale
                yield Box(x, ground, width, number * scale, look, f"{self._told(place)}: {number} × {name}")

    def _names(self, ground: float) -> Iterator[Label]:
        """Labels of the runs, as many as have room: the first of each version, and below them dates."""
        free = {ground + 28: 0.0, ground + 43: 0.0}
        before: dict[float, str] = {}
        for place, point in enumerate(self.history.points):
            middle = self.slot * (place + 0.5)
            version = _short(point, self.backend) if self.backend in point.moments else ""
            for y, text in zip(free, (version, point.version.started[5:10]), strict=True):
                half = len(text) * LETTER / 2
                if text and text != before.get(y) and middle - half >= free[y]:
                    yield Label(middle, y, text)
                    free[y] = middle + half + 6
                    before[y] = text

    def _strip(self, name: str, values: Sequence[Value], told: Callable[[Value], tuple[str, str]]) -> Strip:
        """A strip; `told` gives look and meaning of a value. Runs that are alike share one box."""
        boxes = []
        place = 0
        for (look, meaning), group in itertools.groupby(map(told, values)):
            number = len(list(group))
            until = f" – {self._told(place + number - 1)}" if number > 1 else ""
            title = f"{self._told(place)}{until}: {meaning}"
            boxes.append(Box(self.thin * place + 0.5, 2, self.thin * number - 1, STRIP - 4, look, title))
            place += number
        last = told(values[-1])[1] if values else ""
        return Strip(name, tuple(boxes), self.thin * len(values), len(boxes) > 1, last)

    def _clause(self, name: str, moments: Sequence[Moment | None]) -> Strip:
        most = max(moment.failures.get(name, 0) for moment in moments if moment)
        boxes = []
        for place, moment in enumerate(moments):
            number = moment.failures.get(name, 0) if moment else 0
            high = (STRIP - 4) * number / most if number else 2
            look = "cell-none" if moment is None else "part-bad" if number else "cell-good"
            title = f"{self._told(place)}: {'not judged' if moment is None else number}"
            boxes.append(Box(self.thin * place + 0.5, STRIP - 2 - high, self.thin - 1, high, look, title))
        last = str(moments[-1].failures.get(name, 0)) if moments[-1] else "not judged"
        return Strip(name, tuple(boxes), self.thin * len(moments), True, last)

    def _limit(self, probe: Probe, moments: Sequence[Moment | None]) -> Strip:
        limit, function, param, context = probe
        name = f"{limit}, {function} {param}".rstrip() + (f", {context}" if context else "")
        cells = [moment.limits.get(probe) if moment else None for moment in moments]
        strip = self._strip(name, cells, lambda cell: (_limit_look(cell), measured(cell)))
        known = [cell for cell, moment in zip(cells, moments, strict=True) if moment]
        alike = len({(cell.verdict, cell.measured) if cell else None for cell in known}) == 1
        wrong = any(cell is not None and cell.verdict in BROKEN for cell in known)
        return replace(strip, changed=not alike or wrong)

    def _point(self, clause: str, moments: Sequence[Moment | None]) -> Strip:
        """Colours stand for sets of answers: their numbers vary from run to run."""
        cells = [_set(moment.open_points.get(clause, ())) if moment else None for moment in moments]
        sets = [told for told in dict.fromkeys(cells) if told]
        looks = {told: f"part-{place if place < COLOURS else 'rest'}" for place, told in enumerate(sets)}

        def told(cell: str | None) -> tuple[str, str]:
            return (looks[cell], cell) if cell else ("cell-none", "not judged" if cell is None else "no answer")

        strip = self._strip(clause, cells, told)
        changed = len({cell for cell in cells if cell is not None}) > 1
        return replace(strip, changed=changed, legend=tuple((look, name) for name, look in looks.items()))


def _set(cell: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(sorted(answer for answer, _ in cell))


def _limit_look(cell: LimitResult | None) -> str:
    if cell is None:
        return "cell-none"
    if cell.verdict is LimitVerdict.AS_DOCUMENTED:
        return "cell-good"
    return ("cell-warn" if cell.accepted else "cell-bad") if cell.verdict in BROKEN else "cell-idle"


def _short(point: Point, backend: str) -> str:
    text = point.label(backend)
    return text if len(text) <= 14 else f"{text[:13]}…"


def _round_up(number: int) -> int:
    """A round number from `number` on, for the top of a scale; one at least."""
    power = 1
    while 10 * power < number:
        power *= 10
    return next(digit * power for digit in (1, 2, 4, 6, 8, 10) if digit * power >= number)
