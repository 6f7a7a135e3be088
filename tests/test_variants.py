"""Conforming variants of the core: that any two answers to any two open points meet in some build of them.

That no case accuses one is shown in test_no_false_alarm.py, and for all cases by `acl-cts score`.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from acl_cts.backends.core_backend import FOLDER, build_core
from acl_cts.backends.core_variants import MEETINGS, switches, variants


def answers(switch: str) -> list[int]:
    """What each variant answers at one open point."""
    return [int(f"{switch}=1" in defines) for _, defines in variants()]


def test_every_open_point_of_the_header_is_a_switch() -> None:
    header = (FOLDER / "src" / "answers.h").read_text(encoding="utf-8")
    assert len(switches()) == len(set(switches())) == header.count("#ifndef CORE_ANSWER_")
    assert len(switches()) > 30


def test_there_are_enough_variants_each_with_a_name_and_answers_of_its_own() -> None:
    assert len(variants()) >= 24
    assert len({name for name, _ in variants()}) == len({defines for _, defines in variants()}) == len(variants())


def test_the_first_two_answer_everything_in_one_way() -> None:
    assert variants()[0] == ("default", ())
    assert variants()[1] == ("opposite", tuple(f"{switch}=1" for switch in switches()))
    assert build_core("plain", variants()[1][1]).is_file()


@given(st.data())
def test_any_two_answers_to_any_two_open_points_meet(data: st.DataObject) -> None:
    one, other = data.draw(st.lists(st.sampled_from(switches()), min_size=2, max_size=2, unique=True))
    met = list(zip(answers(one), answers(other), strict=True))
    for pair in product((0, 1), repeat=2):
        assert met.count(pair) >= MEETINGS, (one, other, pair)


def test_variants_are_the_same_in_every_process() -> None:
    program = "from acl_cts.backends.core_variants import variants; print(variants())"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told.strip() == str(variants())
