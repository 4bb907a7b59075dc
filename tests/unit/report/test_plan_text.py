import io

import pytest

from planner.report import plan_text, terminal


def page(plan, width=80, **options):
    return terminal.render(plan_text.view(plan), width=width, **options)


def flat(plan):
    return " ".join(page(plan).split())


def test_headline_says_what_to_buy_and_how_sure(chat_plan):
    lines = page(chat_plan).splitlines()
    assert lines[0] == "chat-70b: optimal, proved: nothing better exists among the candidates"
    assert lines[1] == "Buy 16 × h100-sxm as 8 replicas for 40.00 USD/h: the cheapest fleet."


def test_a_gap_is_named_with_its_bound(two_pools):
    words = flat(two_pools)
    assert "two-teams: feasible, at most 2.7 % from the best possible (nothing is below 70.00 USD/h)" in words
    assert "8 × h200-sxm (4 of them idle)" in words
    assert "the cheapest fleet found so far" in words


def test_cost_is_told_per_hour_month_and_million_tokens(chat_plan):
    text = page(chat_plan)
    # 40 USD/h x 730 h
    for words in ("40.00 USD", "29,200 USD", "4.03 USD", "0.487 USD"):
        assert words in text


def test_limits_show_slack_and_which_binds(chat_plan):
    lines = page(chat_plan).splitlines()
    itl = next(line for line in lines if line.startswith("  itl:chat "))
    assert itl.split() == [
        "itl:chat",
        "59.8",
        "ms",
        "60.0",
        "ms",
        "200",
        "µs",
        "(0.3",
        "%)",
        "sets",
        "capacity",
    ]
    assert "What holds the plan back: itl:chat (P99 gap between tokens)." in page(chat_plan)


def test_routing_appears_only_when_there_is_a_choice(chat_plan, two_pools):
    assert "Routing" not in page(chat_plan)
    assert "25 %" in page(two_pools)


def test_runner_up_comes_with_its_reason(chat_plan):
    words = flat(chat_plan)
    assert "+25.0 %" in words
    assert "a replica carries 2.1 times as much" in words


def test_infeasible_names_what_stands_in_the_way(no_plan):
    words = flat(no_plan)
    assert words.startswith("chat-70b: no plan keeps every limit")
    # 121 ms against 100 ms; 133.4 GiB against 127.6 GiB
    assert "121 ms, 21 % over" in words
    assert "133 GiB, 4.5 % over" in words
    assert "budget and ttft:chat" in words
    assert "ttft:chat 100 ms 121 ms (+21 %) 47.50 USD/h" in words
    assert "Buy" not in words


def test_unknown_suggests_more_time(make_plan):
    text = page(make_plan(status="unknown"))
    assert "stopped before there was an answer" in text
    assert "--time-limit" in text


def test_measured_rates_leave_unknown_things_out(make_plan, chat_plan):
    pool = chat_plan.pools[0].model_copy(
        update={"memory_bytes": None, "ttft_s": {}, "itl_s": {}, "tpot_s": {}, "e2e_s": {}, "uncertainty": {}}
    )
    text = page(chat_plan.model_copy(update={"pools": (pool,), "guardrails": None}))
    for section in ("Memory of one GPU", "Latency at", "Guardrails"):
        assert section not in text


def test_wall_times_only_when_asked(chat_plan):
    assert "solve" not in page(chat_plan)
    timed = chat_plan.provenance.model_copy(update={"timing_s": {"solve": 0.42}})
    assert "solve 420 ms" in page(chat_plan.model_copy(update={"provenance": timed}))


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
@pytest.mark.parametrize("sample", ["chat_plan", "two_pools", "no_plan"])
def test_no_line_is_wider_than_the_page(request, sample, width):
    text = page(request.getfixturevalue(sample), width=width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert not any(line != line.rstrip() for line in text.splitlines())


def test_plain_text_has_no_escapes_and_ascii_has_no_blocks(two_pools, no_plan):
    assert "\x1b" not in page(two_pools)
    assert "\x1b[" in page(two_pools, color=True)
    for plan in (two_pools, no_plan):
        text = page(plan, unicode=False)
        assert text.isascii()
        assert "?" not in text


def test_names_cannot_steer_the_terminal(make_plan):
    nasty = make_plan(problem="a\x1b]0;owned\x07b[red]c")
    assert page(nasty).startswith("a?]0;ownedb[red]c: optimal")
    colored = page(nasty, color=True)
    assert "\x1b]" not in colored
    assert "\x07" not in colored


class Stream(io.TextIOWrapper):
    def __init__(self, encoding, terminal):
        super().__init__(io.BytesIO(), encoding=encoding)
        self.terminal = terminal

    def isatty(self):
        return self.terminal

    def text(self):
        return self.buffer.getvalue().decode(self.encoding)


def shown(plan, encoding="utf-8", is_terminal=False, **environment):
    stream = Stream(encoding, is_terminal)
    terminal.show(plan_text.view(plan), stream, environment)
    return stream.text()


def test_color_only_on_a_terminal_that_wants_it(chat_plan):
    assert "\x1b[" in shown(chat_plan, is_terminal=True, COLUMNS="80")
    assert "\x1b[" not in shown(chat_plan)
    assert "\x1b[" not in shown(chat_plan, is_terminal=True, NO_COLOR="1")
    assert "\x1b[" not in shown(chat_plan, is_terminal=True, TERM="dumb")


def test_width_and_encoding_of_the_stream(chat_plan):
    assert max(map(len, shown(chat_plan, COLUMNS="70").splitlines())) <= 70
    assert "█" in shown(chat_plan)
    assert "█" not in shown(chat_plan, encoding="latin-1")
    assert shown(chat_plan, encoding="ascii").isascii()
