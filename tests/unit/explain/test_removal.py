"""What each constraint removes, by hand."""

from candidate_samples import verdict

from planner.explain.removal import of_verdict, removals, stacked

NAMES = ("a", "b", "c", "d", "e")
# a and b miss TTFT alone, b by less; c misses TTFT and memory; d memory alone; e nothing.
TTFT = verdict("ttft:chat", [4.0, 2.5, 2.1, 1.0, 2.0], 2.0, "s")
VRAM = verdict("vram:chat", [50.0, 60.0, 90.0, 99.0, 70.0], 80.0, "B")
RULE = verdict("some-rule", [0, 0, 0, 0, 0], 0)


def rows(*verdicts, names=NAMES):
    return [of_verdict(item, names) for item in verdicts]


def test_alone_total_and_nearest():
    ttft, vram = removals(rows(VRAM, TTFT, RULE))
    assert (ttft.id, ttft.title, ttft.alone, ttft.total) == ("ttft:chat", "title of ttft:chat", 2, 3)
    assert (ttft.nearest, ttft.nearest_value, ttft.limit, ttft.unit) == ("b", 2.5, 2.0, "s")
    assert (vram.alone, vram.total, vram.nearest, vram.nearest_value) == (1, 2, "d", 99.0)


def test_a_value_at_its_limit_is_kept():
    assert [
        item.total
        for item in removals(
            rows(
                verdict("budget", [2.0, 2.0], 2.0),
            )
        )
    ] == []


def test_without_any_alone_the_nearest_breaks_the_fewest():
    one = verdict("one", [9.0, 1.1], 1.0, "s")
    two = verdict("two", [1, 1], 0)
    three = verdict("three", [0, 1], 0)
    found = {item.id: item for item in removals(rows(one, two, three, names=("x", "y")))}
    assert all(item.alone == 0 for item in found.values())
    assert (found["one"].nearest, found["one"].nearest_value) == ("x", 9.0)


def test_bits_without_a_unit_show_no_number():
    (found,) = removals(rows(verdict("some-rule", [1, 1], 0), names=("x", "y")))
    assert (found.alone, found.nearest, found.nearest_value, found.limit) == (2, "x", None, None)


def test_values_without_end_are_never_nearest():
    (found,) = removals(rows(verdict("ttft:chat", [float("inf"), 3.0], 1.0, "s"), names=("x", "y")))
    assert (found.nearest, found.nearest_value) == ("y", 3.0)
    (found,) = removals(rows(verdict("ttft:chat", [float("inf")], 1.0, "s"), names=("x",)))
    assert (found.nearest, found.nearest_value) == ("x", None)


def test_a_limit_of_zero():
    (found,) = removals(rows(verdict("budget", [5.0, 1.0], 0.0, "USD/h"), names=("x", "y")))
    assert found.limit == 0.0


def test_workloads_are_stacked_and_rules_keep_one_id():
    first = rows(TTFT, verdict("some-rule", [0, 0, 0, 0, 1], 0))
    second = rows(
        verdict("ttft:code", [3.0, 1.0], 2.0, "s"), verdict("some-rule", [0, 1], 0), names=("f", "g")
    )
    found = stacked([first, second])
    assert [item.id for item in found] == ["ttft:chat", "some-rule", "ttft:code"]
    assert all(tuple(item.names) == (*NAMES, "f", "g") for item in found)
    by_id = {item.id: item for item in removals(found)}
    assert by_id["ttft:chat"].total == 3
    assert (by_id["ttft:code"].alone, by_id["ttft:code"].nearest) == (1, "f")
    assert (by_id["some-rule"].alone, by_id["some-rule"].total, by_id["some-rule"].nearest) == (2, 2, "e")


def test_the_constraint_that_alone_removes_most_comes_first():
    more = verdict("more", [1, 1, 0], 0)
    less = verdict("less", [0, 0, 1], 0)
    assert [item.id for item in removals(rows(less, more, names=("x", "y", "z")))] == ["more", "less"]
