"""Losses of replicas where prefill and decode stand at places: in sums as loss by loss."""

import itertools
from dataclasses import replace

import pytest
from fleet_random import small_fleet

from planner.planning.formulation.places import at_their_places
from planner.schema.choice import Spares
from planner.solver.mip import place_rows
from planner.solver.mip.solve import solve_mip


def question(seed, lost):
    made = at_their_places(small_fleet(seed))
    assert all(len(demand.buckets) == 1 for demand in made.demands)
    assert len({option.place for option in made.options}) > 1
    spared = tuple(
        replace(demand, spares=Spares("replicas", lost)) if demand.role != "serve" else demand
        for demand in made.demands
    )
    return replace(made, demands=spared)


def loss_by_loss(self, hit):
    number, whole = self.writers.index(hit), [dict(writer.of_option) for writer in self.writers]
    for gone in itertools.combinations_with_replacement(
        hit.of_option, hit.pool.spares_of("replicas", "servers")
    ):
        left = [*whole[:number], hit.without(gone), *whole[number + 1 :]]
        place_rows._write(self.writers, {self.bucket: self.whole}, number, left)


@pytest.mark.parametrize("lost", [1, 2, 3])
@pytest.mark.parametrize("seed", [65, 102, 111, 134])
def test_losses_of_replicas_are_those_of_every_one(seed, lost, monkeypatch):
    asked = question(seed, lost)
    found = solve_mip(asked)
    monkeypatch.setattr(place_rows._OneBucket, "survives", loss_by_loss)
    one_by_one = solve_mip(asked)
    assert (found.status, found.value) == (one_by_one.status, one_by_one.value)
    assert found.status in ("optimal", "infeasible")
