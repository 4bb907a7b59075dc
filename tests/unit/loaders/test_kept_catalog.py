"""The catalog is read once a process, and again when a file of it changes."""

from planner.app.catalog_new import catalog_new
from planner.loaders.catalog import load_catalog
from planner.loaders.rules import load_planning_rules


def test_nothing_is_read_twice_while_no_file_changes():
    assert load_catalog() is load_catalog()
    assert load_planning_rules() is load_planning_rules()


def test_a_changed_file_is_read_again(tmp_path):
    file = tmp_path / "mine.yaml"
    catalog_new("accelerator", new_id="mine", out=file)
    before = load_catalog((file,))
    text = file.read_text(encoding="utf-8").replace("name: mine", "name: Mine, changed")
    file.write_text(text, encoding="utf-8")
    assert load_catalog((file,)).accelerator("mine").name == "Mine, changed"
    assert before.accelerator("mine").name == "mine"


def test_a_file_that_is_added_or_taken_away_counts(tmp_path):
    (tmp_path / "accelerators").mkdir()
    assert load_catalog((tmp_path,)).accelerator("mine") is None
    catalog_new("accelerator", new_id="mine", out=tmp_path)
    assert load_catalog((tmp_path,)).accelerator("mine") is not None
    (tmp_path / "accelerators" / "mine.yaml").unlink()
    assert load_catalog((tmp_path,)).accelerator("mine") is None
