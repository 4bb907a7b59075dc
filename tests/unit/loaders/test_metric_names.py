"""The data in catalog/metrics, and what its loader refuses."""

import re
from pathlib import Path

import pytest

from planner.app.data import catalog_check
from planner.errors import InputError
from planner.exports.watches import EXPORTED_SERIES
from planner.loaders.metric_names import load_metric_names

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "catalog" / "metrics").glob("*.yaml"))
GOOD = """
kind: exporter
id: mine
name: Mine
version: "1"
prefix: "mine:"
path: /metrics
order: 5
source: a
series:
  kv: {names: [kv_usage], type: gauge, unit: fraction}
  hits: {names: [hits], type: counter, unit: tokens}
readings:
  kv_usage_ratio: [{take: value, of: [kv], replicas: max}]
sources:
  a: {title: a, date: 2026-11-21, grade: B}
"""


@pytest.fixture(scope="module")
def names():
    return load_metric_names()


def load(tmp_path, text, stem="mine"):
    folder = tmp_path / "metrics"
    folder.mkdir(exist_ok=True)
    (folder / f"{stem}.yaml").write_text(text, encoding="utf-8")
    return load_metric_names([tmp_path])


def test_every_file_is_read_and_counted(names):
    assert len(FILES) == len(names.exporters) + 1  # and the queries
    assert catalog_check()["metrics"] == len(names.exporters)


def test_every_series_is_used(names):
    for exporter in names.exporters:
        used = {key for rules in exporter.readings.values() for rule in rules for key in (*rule.of, *rule.to)}
        assert used | {*EXPORTED_SERIES} >= set(exporter.series) >= used, exporter.id


def test_the_engines_of_the_catalog_and_the_gpu_are_known(names):
    # Nobody runs the naive engine: it is there to compare with.
    engines = {path.stem for path in (ROOT / "catalog" / "engines").glob("*.yaml")} - {"naive"}
    assert engines | {"dcgm"} <= {exporter.id for exporter in names.exporters}


def test_no_wire_name_has_two_types(names):
    seen = {}
    for exporter in names.exporters:
        for key, series in exporter.series.items():
            for sample in (sample for aliases in exporter.wire_names(key) for sample in aliases):
                assert seen.setdefault(sample, series.type) == series.type, sample
                assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", sample)


def test_an_overlay_adds_an_exporter_and_replaces_one(tmp_path):
    more = load(tmp_path, GOOD)
    assert more.exporters[0].id == "mine"  # the lowest order
    text = GOOD.replace("id: mine", "id: vllm")
    replaced = load(tmp_path, text, "vllm")
    assert next(e for e in replaced.exporters if e.id == "vllm").name == "Mine"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kv_usage_ratio:", "kv_usage_ration:", 'Maybe "kv_usage_ratio"?'),
        ("of: [kv]", "of: [kw]", 'found "kw"'),
        ("of: [kv]", "of: [hits]", "value of hits, a counter"),
        ("replicas: max", "quantile: 0.5", "value with quantile"),
        ("source: a", "source: b", "b"),
        ('"mine:"', '"mine"', "prefix"),
        ("id: mine", "id: yours", "yours"),
        ("type: gauge", "type: gage", "gage"),
        ("order: 5", "order: 5\ncolour: red", "colour"),
    ],
)
def test_faults_are_named(tmp_path, old, new, said):
    with pytest.raises(InputError) as refused:
        load(tmp_path, GOOD.replace(old, new))
    assert said in str(refused.value)


def test_a_query_needs_its_placeholders(tmp_path):
    text = (ROOT / "catalog" / "metrics" / "queries.yaml").read_text(encoding="utf-8")
    with pytest.raises(InputError, match=r"\$range"):
        load(tmp_path, text.replace("[$range]", "[5m]"), "queries")
