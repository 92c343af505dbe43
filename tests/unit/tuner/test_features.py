"""Configurations as numbers: what varies is a column, standardised, and what does not is none."""

from __future__ import annotations

import numpy as np

from imbrex.config import configuration
from imbrex.tuner.features import family_of, features

from .spaces import Point, lawful_space

CPU = "v2:direct+product=v1:cpu:8,48,192,96,256,16,k_major,a,straight@data_parallel"
HOPPER = "v2:direct+product=v1:warpgroup:128,256,64,4,2,2,1,cooperative,straight,8@stream_k:66,early"
HALO = "v2:halo:1+product=v1:halo:1,8,10,18,9,64,64,1,4,2,cooperative@data_parallel"


def rows(*texts: str, cycles: float = 5.0) -> np.ndarray:
    return features([Point(configuration.parse(text), cycles) for text in texts])


def test_columns_are_standardised_and_say_something() -> None:
    found = features(lawful_space(200, 0.1, 0)[0])
    assert found.shape[1] == 6, "five numbers and the model's cycles; the words are the same in all"
    np.testing.assert_allclose(found.mean(0), 0, atol=1e-9)
    np.testing.assert_allclose(found.std(0), 1)


def test_alike_is_no_column() -> None:
    assert rows(CPU, CPU).shape == (2, 0)
    assert features([]).shape[0] == 0


def test_a_number_and_a_word_are_a_column_each() -> None:
    assert rows(CPU, CPU.replace("192", "384")).shape == (2, 1)
    assert rows(CPU, CPU.replace("k_major", "k_blocked")).shape == (2, 2), "one for each word"
    assert rows(HOPPER, HOPPER.replace(",early", "")).shape == (2, 1)
    assert rows(HOPPER, HOPPER.replace(":66", ":132")).shape == (2, 1)
    wide, wider = rows(CPU, CPU.replace("192", "384"), CPU.replace("192", "768"))[:2, 0]
    assert wider > wide, "the logarithm of the number"


def test_kinds_meet_in_one_table_without_gaps() -> None:
    found = rows(HOPPER, HALO, HALO.replace("64,64", "64,128"), HOPPER.replace("256", "128"))
    assert np.isfinite(found).all()


def test_of_several_products_the_mean_counts() -> None:
    one = HOPPER.removesuffix(",early")
    small = one.replace("128,256", "128,64")
    both = f"{one}+{small.partition('+')[2]}"
    low, middle, high = rows(small, both, one)[:, 0]
    assert low < middle < high or low > middle > high


def test_a_family_is_an_algorithm_and_its_tiles() -> None:
    def same(a: str, b: str) -> bool:
        return family_of(configuration.parse(a)) == family_of(configuration.parse(b))

    assert same(CPU, CPU.replace("192,96,256", "96,48,128"))
    assert not same(CPU, CPU.replace("8,48", "6,48"))
    assert not same(CPU, CPU.replace("straight", "swapped"))
    assert same(HOPPER, HOPPER.replace(",4,2,2,1,", ",3,2,1,1,"))
    assert not same(HOPPER, HOPPER.replace("128,256", "128,128"))
    assert not same(HOPPER, HOPPER.replace("direct", "aligned"))
