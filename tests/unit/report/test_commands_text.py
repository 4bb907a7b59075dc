"""Commands in the plan's text: one line a pool, whatever the width."""

from planner.report import plan_text, terminal


def test_a_command_is_never_broken(make_plan):
    command = "vllm serve " + " ".join(f"--option-{number} value" for number in range(40))
    pool = make_plan().pools[0].model_dump(by_alias=True) | {"command": command}
    plan = make_plan(pools=[pool])
    shown = terminal.render(plan_text.view(plan, details=True), width=70)
    assert command in shown.splitlines()
    others = [line for line in shown.splitlines() if line != command]
    assert max(map(len, others)) <= 70
    assert command not in terminal.render(plan_text.view(plan), width=70)


def test_a_plan_without_commands_says_nothing(make_plan):
    assert "Commands" not in terminal.render(plan_text.view(make_plan(), details=True))
