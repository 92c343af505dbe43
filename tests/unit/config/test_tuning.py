"""Text and JSON of tunings: lossless, and located errors."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imbrex.config.cpu.plan import CpuTuning
from imbrex.config.general.plan import GeneralTuning
from imbrex.config.tuning import KINDS, Tuning, checked, parse, text
from imbrex.config.warpgroup.plan import WarpgroupTuning
from imbrex.config.xdlops.plan import XdlopsTuning
from imbrex.diagnostic import Diagnostic
from imbrex.view.stage.lds import LDS_KINDS

sizes = st.integers(1, 2**31)
tunings: st.SearchStrategy[Tuning] = st.one_of(
    st.builds(GeneralTuning, *[sizes] * 6),
    st.builds(XdlopsTuning, *[sizes] * 6),
    st.builds(
        XdlopsTuning,
        *[sizes] * 6,
        st.sampled_from(["auto", "mfma_f32_32x32x8_f16", "mfma_f64_4x4x4_4b_f64"]),
        st.sampled_from(LDS_KINDS),
        st.sampled_from(["staged", "direct"]),
        st.booleans(),
        sizes,
        sizes,
    ),
    st.builds(
        CpuTuning,
        *[sizes] * 6,
        st.sampled_from(["k_major", "k_blocked"]),
        st.sampled_from(["a", "b"]),
        st.booleans(),
    ),
)


@given(tunings)
def test_text_is_lossless(tuning: Tuning) -> None:
    assert parse(text(tuning)) == tuning
    assert "\n" not in text(tuning)


def test_spellings() -> None:
    assert text(GeneralTuning(256, 128, 128, 8, 4, 4)) == "v1:general:256,128,128,8,4,4"
    xdlops = XdlopsTuning(128, 128, 4, 64, 64, 8)
    assert text(xdlops) == "v1:xdlops:128,128,4,64,64,8"
    assert text(replace(xdlops, swapped=True)) == "v1:xdlops:128,128,4,64,64,8,auto,xor,staged,swapped"
    whole = "v1:xdlops:128,128,4,64,64,8,auto,xor,staged,straight,1,2"
    assert parse(whole) == parse("v1:xdlops:128,128,4,64,64,8,auto") == xdlops
    cpu = CpuTuning(14, 32, 140, 512, 256, 16, "k_blocked", "b", swapped=True)
    assert text(cpu) == "v1:cpu:14,32,140,512,256,16,k_blocked,b,swapped"


@pytest.mark.parametrize(
    ("line", "message", "under"),
    [
        ("v2:general:256,128,128,8,4,4", "tuning starts with 'v2', expected 'v1'", "v2"),
        ("256,128,128,8,4,4", "tuning starts with '256,128,128,8,4,4', expected 'v1'", "256,128,128,8,4,4"),
        ("", "tuning starts with '', expected 'v1'", ""),
        ("v1:genral:256,128,128,8,4,4", "unknown kind of tuning 'genral'", "genral"),
        ("v1:general:256,128,128", "a general tuning takes 6 values, got 3", "256,128,128"),
        ("v1:general", "a general tuning takes 6 values, got 0", ""),
        ("v1:general:256,128,128,8,4,4,1", "a general tuning takes 6 values, got 7", "256,128,128,8,4,4,1"),
        ("v1:general:256,128,128,x,4,4", "k_per_block is 'x', expected a whole number from 1", "x"),
        ("v1:general:256,128,128,8,0,4", "m_per_thread is '0', expected a whole number from 1", "0"),
        ("v1:general:256,128,-8,8,4,4", "n_per_block is '-8', expected a whole number from 1", "-8"),
        ("v1:general:256,128,128,8,4,", "n_per_thread is '', expected a whole number from 1", ""),
        ("v1:general:256, 128,128,8,4,4", "m_per_block is ' 128', expected a whole number from 1", " 128"),
        ("v1:general:256,128,128,08,4,4", "k_per_block is '08', expected a whole number from 1", "08"),
        (
            "v1:cpu:14,32,140,512,256,16,kmajor,a,straight",
            "a_layout is 'kmajor', expected k_major or k_blocked",
            "kmajor",
        ),
        (
            "v1:cpu:14,32,140,512,256,16,k_major,a,True",
            "swapped is 'True', expected straight or swapped",
            "True",
        ),
        ("v1:xdlops:128,128,4,64,64", "an xdlops tuning takes 6 to 13 values, got 5", "128,128,4,64,64"),
        (
            "v1:xdlops:128,128,4,64,64,8,mfma_f32_32x32x9_f16",
            "there is no matrix instruction 'mfma_f32_32x32x9_f16'",
            "mfma_f32_32x32x9_f16",
        ),
        (
            "v1:xdlops:128,128,4,64,64,8,v_mfma_f32_32x32x8_f16",
            "instruction is 'v_mfma_f32_32x32x8_f16', expected its name in the table",
            "v_mfma_f32_32x32x8_f16",
        ),
        (
            "v1:xdlops:128,128,4,64,64,8,auto,xored",
            "lds is 'xored', expected xor or padded or plain or tiled",
            "xored",
        ),
        (
            "v1:xdlops:128,128,4,64,64,8,auto,xor,staged,straight,0",
            "interleave is '0', expected a whole number from 1",
            "0",
        ),
    ],
)
def test_bad_text_is_located(line: str, message: str, under: str) -> None:
    with pytest.raises(Diagnostic) as error:
        parse(line)
    assert error.value.message == message
    assert error.value.col is not None
    assert line[error.value.col - 1 :][: len(under)] == under and error.value.length == max(1, len(under))


def test_a_bad_line_is_shown_with_carets() -> None:
    with pytest.raises(Diagnostic) as error:
        parse("v1:general:256,128,128,x,4,4")
    assert str(error.value).splitlines() == [
        "<tuning>:1:24: error: k_per_block is 'x', expected a whole number from 1",
        "v1:general:256,128,128,x,4,4",
        " " * 23 + "^",
    ]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("m_per_block", None, "m_per_block is None, expected a whole number from 1"),
        ("m_per_block", True, "m_per_block is True, expected a whole number from 1"),
        ("swapped", 1, "swapped is 1, expected one of [False, True]"),
        ("a_layout", "rows", "a_layout is 'rows', expected one of ['k_major', 'k_blocked']"),
        ("instruction", 4, "instruction is 4, expected 'auto' or a matrix instruction's name"),
        ("instruction", "mfma", "there is no matrix instruction 'mfma'"),
        ("lds", "rows", "lds is 'rows', expected one of ['xor', 'padded', 'plain', 'tiled']"),
    ],
)
def test_a_bad_value_says_what_is_expected(name: str, value: object, message: str) -> None:
    with pytest.raises(Diagnostic) as error:
        checked(name, value)
    assert error.value.message == message


@dataclass(frozen=True)
class Patient(WarpgroupTuning):
    """A made-up kind, with a field that texts of before do not have."""

    kind: ClassVar[str] = "patient"
    patience: int = 1


def test_a_new_parameter_is_a_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "patient", Patient)
    old = "v1:patient:256,128,64,4,2,1,1,cooperative,straight,8"
    made = parse(old)
    assert isinstance(made, Patient) and made.patience == 1 and text(made) == old
    longer = replace(made, patience=3)
    assert text(longer) == f"{old},3" and parse(f"{old},3") == longer
    with pytest.raises(Diagnostic, match="takes 10 to 11 values, got 9"):
        parse(old.removesuffix(",8"))
