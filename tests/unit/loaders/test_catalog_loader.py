# ruff: noqa: E501  (messages stand here as they are shown)
"""The catalog as a whole: lookups, overlays, and faults across files."""

import re
import shutil
from pathlib import Path

import pytest

from planner import resources
from planner.errors import InputError
from planner.loaders.catalog import OTHER_FOLDERS, load_catalog, read_catalog

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


@pytest.fixture
def copy(tmp_path):
    folder = tmp_path / "catalog"
    shutil.copytree(ROOT / "catalog", folder)
    return folder


def replace(path, pattern, text):
    before = path.read_text()
    after = re.sub(pattern, text, before, count=1, flags=re.MULTILINE)
    assert after != before
    path.write_text(after)


def faults(*folders):
    with pytest.raises(InputError) as problem:
        read_catalog(folders)
    return str(problem.value).replace(f"{folders[-1]}/", "").splitlines()


def test_ids_equal_file_names_and_entries_are_sorted(catalog):
    files = sorted((ROOT / "catalog").glob("*/*.yaml"))
    known = [path.stem for path in files if path.parent.name not in OTHER_FOLDERS]
    assert sorted(entry.id for entry in catalog.entries()) == sorted(known)
    assert [entry.id for entry in catalog.accelerators] == sorted(entry.id for entry in catalog.accelerators)


def test_lookup_by_id_and_alias_in_any_case(catalog):
    h100 = catalog.accelerator("h100-80gb-sxm")
    assert h100 is not None
    assert catalog.accelerator("h100-sxm") is h100
    assert catalog.accelerator(" H100-SXM ") is h100
    assert catalog.accelerator("h100-smx") is None
    assert catalog.model("llama-3.3-70b") is not None
    assert catalog.engine("vllm") is not None
    assert catalog.number_format("FP8") is not None
    assert catalog.engine("h100-sxm") is None


def test_every_offer_names_a_known_accelerator(catalog):
    assert catalog.offers()
    assert all(catalog.accelerator(offer.accelerator) for _, offer in catalog.offers())


def test_digest_follows_bytes_not_places(catalog, copy):
    assert read_catalog([copy]).sha256 == catalog.sha256
    path = copy / "accelerators" / "l4.yaml"
    path.write_text(path.read_text() + "# a remark\n")
    changed = read_catalog([copy])
    assert changed.sha256 != catalog.sha256
    assert changed.calibration_sha256 == catalog.calibration_sha256
    assert re.fullmatch("sha256:[0-9a-f]{64}", changed.sha256)


def test_the_last_overlay_wins(tmp_path, catalog):
    overlays = []
    for number in (1, 2):
        (tmp_path / str(number) / "accelerators").mkdir(parents=True)
        text = (ROOT / "catalog" / "accelerators" / "l4.yaml").read_text()
        path = tmp_path / str(number) / "accelerators" / "l4.yaml"
        path.write_text(re.sub("(?m)^name: .*", f"name: overlay {number}", text))
        overlays.append(tmp_path / str(number))
    changed = load_catalog(overlays)
    assert changed.accelerator("l4").name == "overlay 2"
    assert len(changed.accelerators) == len(catalog.accelerators)


def test_the_calibration_of_an_overlay_is_the_one_in_use(tmp_path, catalog):
    folder = tmp_path / "calibration"
    folder.mkdir()
    text = (ROOT / "catalog" / "calibration" / f"{catalog.calibration.id}.yaml").read_text()
    (folder / "zz-mine.yaml").write_text(
        re.sub("(?m)^aliases: .*", "", text.replace(f"id: {catalog.calibration.id}", "id: zz-mine"))
    )
    assert load_catalog([tmp_path]).calibration.id == "zz-mine"


def test_missing_overlay_is_named(tmp_path):
    with pytest.raises(InputError) as problem:
        load_catalog([tmp_path / "none"])
    assert str(problem.value) == f"{tmp_path / 'none'}: found no such folder, expected a folder."


def test_an_alias_with_two_meanings_is_a_fault(copy):
    replace(
        copy / "accelerators" / "l4.yaml", r"^name: .*", "name: L4\naliases: [h100-sxm]"
    ) if "aliases" not in (copy / "accelerators" / "l4.yaml").read_text() else replace(
        copy / "accelerators" / "l4.yaml", r"^aliases: .*", "aliases: [h100-sxm]"
    )
    found = faults(copy)
    assert len(found) == 1
    assert re.fullmatch(
        r'accelerators/l4.yaml:\d+: aliases.0: found "h100-sxm", which also means h100-80gb-sxm, '
        r"expected a name with one meaning\.",
        found[0],
    )


def test_id_unlike_the_file_is_a_fault(copy):
    replace(copy / "networks" / "infiniband-ndr.yaml", r"^id: .*", "id: ndr")
    found = [line for line in faults(copy) if ": id:" in line]
    assert re.fullmatch(
        r'networks/infiniband-ndr.yaml:\d+: id: found "ndr", expected the name of the file, "infiniband-ndr"\.',
        found[0],
    )


def test_references_to_nothing_are_faults(copy):
    replace(copy / "prices" / "aws.yaml", r"accelerator: h100-80gb-sxm", "accelerator: h100-80gb-smx")
    found = faults(copy)
    assert len(found) == 1
    assert re.fullmatch(
        r'prices/aws.yaml:\d+: offers\.\d+\.accelerator: found "h100-80gb-smx", '
        r'expected an id in catalog/accelerators\. Maybe "h100-80gb-sxm"\?',
        found[0],
    )


def test_unknown_source_key_and_date_as_number(copy):
    path = copy / "networks" / "infiniband-ndr.yaml"
    replace(path, r"date: ['\"]?[0-9-]+['\"]?", "date: 20250101")
    found = faults(copy)
    assert len(found) == 1
    assert 'found 20250101, expected a date such as "2025-11-21"' in found[0]


def test_strange_folders_and_files_are_not_passed_over(copy):
    (copy / "gpus").mkdir()
    (copy / "accelerators" / "x.yml").write_text("id: x\n")
    found = faults(copy)
    assert any("a folder of no known kind" in line for line in found)
    assert any("a file that ends in .yml, expected the ending .yaml" in line for line in found)


def test_faults_of_several_files_come_together(copy):
    for kind, name in (("accelerators", "l4"), ("models", "phi-4-14b")):
        (copy / kind / f"{name}.yaml").write_text("id: [\n")
    found = faults(copy)
    assert sum("that is no YAML" in line for line in found) == 2


def test_own_folders_exist():
    for kind in ("catalog", "rules", "problems"):
        assert resources.own_folder(kind).is_dir()
    overlay = ROOT / "tests"
    assert resources.folders("rules", [overlay, ROOT]) == (ROOT, overlay, resources.own_folder("rules"))
