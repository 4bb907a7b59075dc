"""What has a price: a GPU type with all its lines, one line of the supply, or an outside supplier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from planner.constraints.fleet_check import bill
from planner.explain.variants import without_gpu, without_kinds
from planner.schema.fleet import Api, FleetChoice, FleetProblem, Line

_NONE = Fraction(0)


@dataclass(frozen=True)
class PricedItem:
    """Something that a question can buy, with its prices moved together, in proportion.

    Lines that are free stay free beside others that are paid; where all are free, they get one price per GPU.
    """

    id: str
    question: FleetProblem
    """At today's prices."""
    gpu: str
    """GPU type; the supplier's id."""
    lines: tuple[Line, ...] = ()
    api: Api | None = None
    whole: bool = False
    """The GPU type with all its lines: a plan can be told to use it."""

    @property
    def free(self) -> bool:
        """All its lines cost nothing."""
        return self.api is None and not any(line.usd_per_gpu_h for line in self.lines)

    @property
    def today(self) -> Fraction:
        """USD per GPU-hour of its cheapest line that is paid; 0 where none is; 1 for an outside supplier."""
        if self.api is not None:
            return Fraction(1)
        return min((line.usd_per_gpu_h for line in self.lines if line.usd_per_gpu_h), default=_NONE)

    @property
    def unit(self) -> Fraction:
        """What a factor of 1 on its prices is: today's price; where that is nothing, one USD."""
        return self.today or Fraction(1)

    def left_out(self) -> FleetProblem:
        """The question without it."""
        if self.whole:
            return without_gpu(self.question, self.gpu)
        apis = frozenset() if self.api is None else frozenset({self.api.id})
        return without_kinds(self.question, apis, frozenset(line.id for line in self.lines))

    def only_free(self) -> FleetProblem | None:
        """The question without its lines that are paid; None where that leaves none or all of them."""
        paid = frozenset(line.id for line in self.lines if line.usd_per_gpu_h)
        if not paid or len(paid) == len(self.lines):
            return None
        return without_kinds(self.question, frozenset(), paid)

    def priced(self, factor: Fraction) -> FleetProblem:
        """The question with its prices times a factor; where all are free, the factor in USD per GPU-hour."""
        if self.api is not None:
            rows = tuple(tuple(usd * factor for usd in row) for row in self.api.usd_per_h)
            changed = replace(self.api, usd_per_h=rows)
            apis = (changed if api.id == changed.id else api for api in self.question.apis)
            return replace(self.question, apis=tuple(apis))
        ids = {line.id for line in self.lines}
        rated = (
            replace(line, usd_per_gpu_h=factor * self._usd_per_gpu_h(line)) if line.id in ids else line
            for line in self.question.lines
        )
        return replace(self.question, lines=tuple(rated))

    def own_usd(self, choice: FleetChoice) -> Fraction:
        """What a plan pays for it at a factor of 1, over all periods; start charges are not part of it."""
        if self.api is not None:
            only = replace(self.question, apis=(self.api,))
            return sum((period.api_usd for period in bill(only, choice.periods).periods), _NONE)
        return sum(
            (
                self._usd_per_gpu_h(line) * period.bought.get(line.id, 0)
                for period in choice.periods
                for line in self.lines
            ),
            _NONE,
        )

    def _usd_per_gpu_h(self, line: Line) -> Fraction:
        return Fraction(1) if self.free else line.usd_per_gpu_h


def gpu_item(question: FleetProblem, gpu: str) -> PricedItem | None:
    """A GPU type with the lines of its machines that some option runs on; None where none does."""
    hosts = {option.supply for option in question.options if option.gpu == gpu}
    lines = tuple(line for line in question.lines if line.host in hosts)
    return PricedItem(gpu, question, gpu, lines, whole=True) if lines else None


def line_item(question: FleetProblem, line: str) -> PricedItem:
    """One line of the supply.

    Raises:
        KeyError: no such line.
    """
    found = {one.id: one for one in question.lines}[line]
    return PricedItem(line, question, found.gpu, (found,))


def api_item(question: FleetProblem, api: str) -> PricedItem:
    """An outside supplier.

    Raises:
        KeyError: no such supplier.
    """
    return PricedItem(api, question, api, api={one.id: one for one in question.apis}[api])
