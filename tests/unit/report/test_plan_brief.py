import shlex

import pytest

from planner.report import plan_brief, terminal
from planner.report.limits_text import limits_in_short, limits_section
from planner.report.parts import Continued
from planner.report.terminal import render
from planner.report.warnings_text import warnings_of
from planner.schema.limits_told import ConstraintState


def page(plan, width=100):
    return terminal.render(plan_brief.view(plan), width=width)


def test_one_screen_holds_decision_money_pools_and_limits(chat_plan):
    text = page(chat_plan)
    lines = text.splitlines()
    assert len(lines) <= 40
    assert lines[1] == "Buy 16 × h100-sxm as 8 replicas for 40.00 USD/h: the cheapest fleet."
    assert lines[2].startswith("29,200 USD a month, 350,400 USD a year; 4.03 USD per million output tokens")
    for words in ("chat/serve/1", "itl:chat", "sets capacity", "--details"):
        assert words in text


def test_limits_that_set_capacity_come_first(chat_plan):
    lines = page(chat_plan).splitlines()
    first = lines[lines.index("Limits") + 2]
    assert first.startswith("  itl:chat ")
    assert first.endswith("sets capacity")


def test_many_pools_are_cut_and_counted(chat_plan):
    pool = chat_plan.pools[0]
    many = tuple(pool.model_copy(update={"id": f"chat/serve/{n}"}) for n in range(1, 12))
    text = page(chat_plan.model_copy(update={"pools": many}))
    assert "chat/serve/8" in text
    assert "chat/serve/9" not in text
    assert "… and 3 more pools" in text


@pytest.mark.parametrize("width", [80, 100, 160])
def test_no_line_is_wider_than_the_page(two_pools, width):
    assert all(len(line) <= width for line in page(two_pools, width).splitlines())


def test_what_pools_share_is_told_once(two_pools):
    first, second = (pool.id for pool in two_pools.pools[:2])
    lines = [f"{first}: too warm", "the sun shines: always", f"{second}: too warm", f"{first}: alone"]
    told = warnings_of(two_pools.model_copy(update={"warnings": tuple(lines)}))
    both = "every pool" if len(two_pools.pools) == 2 else f"{first} and {second}"
    assert told == [f"{both}: too warm", "the sun shines: always", f"{first}: alone"]


def test_long_warnings_are_shortened_at_a_word_and_the_rest_counted(chat_plan):
    lines = tuple(f"warning {n} " + "word " * 40 for n in range(5))
    text = page(chat_plan.model_copy(update={"warnings": lines}))
    assert "… and 2 more warnings" in text
    shortened = [line for line in text.splitlines() if "warning 0" in line]
    assert shortened[0].endswith("word …")


def test_a_plan_that_does_not_exist_says_what_stands_in_the_way(no_plan):
    text = page(no_plan.model_copy(update={"gpu_types": ()}), 80)
    assert len(text.splitlines()) <= 40
    for words in ("ttft:chat", "121 ms, 21 % over", "What would make it possible", "--details"):
        assert words in text
    assert no_plan.removed[0].nearest not in text


def test_what_does_not_fit_gives_way_a_little_at_a_time(chat_plan):
    warnings = tuple(f"warning {n} " + "word " * 40 for n in range(5))
    limits = [chat_plan.constraints[0].model_copy(update={"id": f"limit:{n}"}) for n in range(6)]
    pools = [chat_plan.pools[0].model_copy(update={"id": f"chat/serve/{n}"}) for n in range(1, 9)]
    seen = []
    for most in (1, 4, 8):
        changes = {"warnings": warnings, "constraints": tuple(limits), "pools": tuple(pools[:most])}
        text = page(chat_plan.model_copy(update=changes), 80)
        assert len(text.splitlines()) <= 40
        assert "more warnings" in text
        seen.append(sum("warning " in line for line in text.splitlines()))
    assert seen == sorted(seen, reverse=True)
    assert seen[0] == 3


@pytest.mark.parametrize("width", [60, 80, 160])
@pytest.mark.parametrize(
    "command",
    [
        "vllm serve org/name --tensor-parallel-size 2 --max-num-seqs 40 --max-model-len 19000 -q fp8",
        """A=1 serve --hf-overrides '{"a": "b --c"}' --speculative-config '{"method": "ngram --x y"}' --y""",
        "serve --open 'quote --tensor-parallel-size 2 --max-num-seqs 40 --max-model-len 19000 --quantization",
    ],
)
def test_a_command_goes_on_where_a_shell_reads_it_as_one(command, width):
    text = render(Continued(command), width=width)
    shell = text.replace("\\\n", "")
    try:
        assert shlex.split(shell) == shlex.split(command)
    except ValueError:
        assert text == f"{command}\n"
    if "'" not in command:
        assert all(len(line) <= width for line in text.splitlines())


def test_a_limit_that_no_plan_can_miss_is_not_what_sets_capacity():
    def state(id_, unit, value, limit):
        return ConstraintState(id=id_, value=value, limit=limit, unit=unit, slack=limit - value, binding=True)

    one, two = state("places:chat", "places", 1, 1), state("places:code", "places", 2, 2)
    latency, link = state("itl:chat", "s", 0.06, 0.06), state("kv-transfer:chat", "fraction", 0.04, 1)
    text = render(limits_in_short([one, two, latency, link], 6))
    assert "places:chat" not in text
    assert [line.split()[0] for line in text.splitlines() if "sets capacity" in line] == [
        "places:code", "itl:chat", "kv-transfer:chat",
    ]  # fmt: skip
    assert "96 %" in text
    assert "(" not in text.split("kv-transfer:chat")[1].splitlines()[0]
    page = render(limits_section([one, latency]))
    assert "What holds the plan back: itl:chat." in page
