"""No command writes over a file that its line names to be read; through the real command line."""

import shutil
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[2] / "problems" / "01-chat-70b.yaml"


@pytest.fixture
def problem(tmp_path, monkeypatch):
    """A problem file, a link to it, and the same by another path."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(SAMPLE, "mine.yaml")
    Path("link.yaml").symlink_to("mine.yaml")
    yield Path("mine.yaml")
    assert Path("mine.yaml").read_bytes() == SAMPLE.read_bytes()


@pytest.mark.parametrize("named", ["mine.yaml", "./mine.yaml", "link.yaml"])
@pytest.mark.parametrize("command", ["plan", "relax", "whatif", "pareto", "alternatives", "robust"])
def test_the_problem_is_not_written_over(refused, problem, command, named):
    words = f"planner {command}: --out: found mine.yaml, which the command reads, expected another file"
    refused(f'{words}. Maybe "mine-new.yaml"?', command, named, "--out", str(problem))


@pytest.mark.parametrize(
    ("flag", "line"),
    [
        ("--save", ("plan", "mine.yaml")),
        ("--svg", ("plan", "mine.yaml")),
        ("--out", ("diff", "other.json", "mine.yaml")),
        ("--out", ("explain", "mine.yaml")),
        ("--out", ("replay", "other.json", "--trace", "mine.yaml")),
        ("--out", ("trace", "mine.yaml")),
        ("--out", ("today", "mine.yaml")),
        ("--out", ("catalog", "import-prices", "mine.yaml")),
        ("--out", ("catalog", "list", "--catalog", "mine.yaml")),
        ("--out", ("diagnose", "--results", "mine.yaml")),
        ("--out", ("whatif", "other.yaml", "--results", "mine.yaml")),
        ("--calibration-out", ("verify", "other.json", "mine.yaml")),
    ],
)
@pytest.mark.usefixtures("problem")
def test_nor_is_any_other_file_that_is_read(refused, flag, line):
    refused(f"{flag}: found mine.yaml, which the command reads", *line, flag, "mine.yaml")


@pytest.mark.usefixtures("problem")
def test_a_name_is_no_file(told):
    line = ("plan", "--model", "llama-3.1-8b", "--rps", "1", "--isl", "500", "--osl", "100", "--gpu", "l4")
    named = ("--name", "mine.json", "--out", "mine.json")
    for _ in range(2):
        assert told(*line, *named)["problem"] == "mine.json"


@pytest.mark.usefixtures("problem")
def test_a_file_of_an_earlier_answer_is(told):
    Path("list.json").write_text("an earlier answer")
    told("rules", "list", "--out", "list.json")
    assert Path("list.json").read_text().startswith("[")
