import pytest

from planner import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"),
        (0.00042, "420 µs"),
        (0.0598, "59.8 ms"),
        (0.9999, "1.00 s"),
        (0.9991, "999 ms"),
        (1.5, "1.50 s"),
        (59.99, "1.00 min"),
        (94, "1.57 min"),
        (7200, "2.00 h"),
        (-0.02, "-20.0 ms"),
    ],
)
def test_seconds(value, text):
    assert numbers.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (1000, "1,000 B"),
        (81_559 * 2**20, "79.6 GiB"),
        (1.6e12, "1.46 TiB"),
        (1023.9 * 2**20, "1.00 GiB"),
    ],
)
def test_size_is_what_the_tools_of_vendors_show(value, text):
    assert numbers.size(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (40, "40.00 USD"),
        (0.4871, "0.487 USD"),
        (0.00231, "0.00231 USD"),
        (29200, "29,200 USD"),
        (0, "0.00 USD"),
    ],
)
def test_usd(value, text):
    assert numbers.usd(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.8234, "82.3 %"), (1, "100 %"), (0, "0 %"), (0.0001, "0.010 %"), (1.2, "120 %")]
)
def test_share(value, text):
    assert numbers.share(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.41, "s", "1.41 s"),
        (80e9, "B", "74.5 GiB"),
        (60.0, "USD/h", "60.00 USD/h"),
        (0.9, "fraction", "90 %"),
        (64.0, "GPUs", "64 GPUs"),
        (12.345, "req/s", "12.35 req/s"),
        (None, "s", "none"),
        ("bf16", "", "bf16"),
    ],
)
def test_quantity(value, unit, text):
    assert numbers.quantity(value, unit) == text


def test_one_is_singular():
    assert numbers.quantity(1, "GPUs") == "1 GPU"
    assert numbers.count(1, "GPU") == "1 GPU"
    assert numbers.count(1024, "GPU") == "1,024 GPUs"
    assert numbers.quantity(1, "tokens") == numbers.exact(1, "tokens") == "1 token"
    assert numbers.exact(3, "replicas") == "3 replicas"
    assert numbers.count(0.9, "turn") == "1 turn"
    assert numbers.counted("1.00", "turn") == "1.00 turns"


@pytest.mark.parametrize(
    ("noun", "two"),
    [("GPU", "GPUs"), ("length class", "length classes"), ("query", "queries"), ("day", "days")],
)
def test_plurals(noun, two):
    assert numbers.count(1, noun) == f"1 {noun}"
    assert numbers.count(2, noun) == f"2 {two}"


@pytest.mark.parametrize(
    ("value", "text"), [(0.125, "+12.5 %"), (-0.18, "-18 %"), (0.0, "+0 %"), (2.0, "+200 %")]
)
def test_signed_share(value, text):
    assert numbers.signed_share(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.2845, "s", "284.5 ms"),
        (1.5503, "s", "1.5503 s"),
        (1234.56, "USD/h", "1234.56 USD/h"),
        (64.0, "GPUs", "64 GPUs"),
        (0.125, "fraction of a GPU's memory", "12.5 % of a GPU's memory"),
        (40.5, "", "40.5"),
        ("off", "", "off"),
        (None, "s", "none"),
    ],
)
def test_exact_can_be_typed_in_again(value, unit, text):
    assert numbers.exact(value, unit) == text


def test_a_share_of_something_names_it():
    assert numbers.quantity(0.9, "fraction of a GPU's memory") == "90 % of a GPU's memory"


def test_the_largest_number_has_words_too():
    assert numbers.significant(1.7976e308) == "1.8e+308"


def test_a_share_that_floats_leave_behind_is_nothing():
    assert [numbers.share(value) for value in (1.9e-16, -1e-14, 1e-6, 0.0)] == [
        "0 %",
        "0 %",
        "0.00010 %",
        "0 %",
    ]
    assert numbers.signed_share(1e-15) == "+0 %"


def test_counts_at_several_times_are_a_range():
    words = [numbers.counted(numbers.between(*pair), "replica") for pair in ((0, 1), (0, 6), (2, 6), (1, 1))]
    assert words == ["up to 1 replica", "up to 6 replicas", "2 to 6 replicas", "1 replica"]
