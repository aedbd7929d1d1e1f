"""Names are matched in linear time, and exactly those that `re` would match."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkmirror.config.java_regex import compile_elements, translate
from sparkmirror.config.name_pattern import LONGEST_TRIED, NamePattern

LONGEST_S = 2.0  # of a busy machine; by trying, each of these takes hours or longer
LONGEST_GROUP_ID = 32_767

_SIGNS = "abkKsS-._09 \n\v\t\r\u00e9\u00c9\u017f\u212a\u2028]^$&"
_names = st.text(alphabet=_SIGNS, max_size=12)
_atoms = st.one_of(
    st.sampled_from([".", r"\w", r"\d", r"\s", r"\S", r"\W", r"\b", r"\.", r"\-", r"\_", r"\u00e9", r"\x41", r"\z"]),
    st.sampled_from(
        [r"[a-k]", r"[^a]", r"[\s_]", r"[^\s]", r"[\S]", r"[]$]", r"\p{Alpha}", r"\Qa.b\E", "^", "$", r"\h"]
    ),
    st.sampled_from(["a", "b", "k", "s", "K", "-", "_", " ", "\u00e9"]),
)
_quantifiers = st.sampled_from(["", "", "", "*", "+", "?", "*?", "{2}", "{1,3}", "{2,}"])
_patterns = st.recursive(
    st.builds(lambda atom, quantifier: atom + quantifier, _atoms, _quantifiers),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
        st.builds(
            lambda kind, body, quantifier: f"{kind}{body}){quantifier}",
            st.sampled_from(["(", "(?:", "(?i:", "(?s:", "(?m:", "(?<n>"]),
            inner,
            _quantifiers,
        ),
        inner.map(lambda body: "(?i)" + body),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(_patterns, st.lists(_names, min_size=1, max_size=8))
def test_a_name_matches_where_it_would_by_trying(pattern: str, names: list[str]) -> None:
    try:
        tried = re.compile(translate(pattern), re.ASCII)
    except (re.error, ValueError):
        return
    found = NamePattern(translate(pattern))
    for name in names:
        assert (found.fullmatch(name) is not None) == (tried.fullmatch(name) is not None), (pattern, name)


@pytest.mark.parametrize("pattern", [".*-.*-.*x", "(a+)+b", "(?i).*-.*-.*x", "(.*a){12}", "(a|aa)+$", "([a-z]+)*9"])
def test_a_name_that_somebody_made_for_it_takes_no_time(pattern: str) -> None:
    found = compile_elements((pattern,))
    assert found is not None and found.is_linear
    began = time.process_time()
    for letter in "-a":
        found.fullmatch(letter * (LONGEST_GROUP_ID - 1) + "!")
    assert time.process_time() - began < LONGEST_S


def test_what_only_trying_can_tell_is_tried_for_names_as_long_as_a_topic_s() -> None:
    found = compile_elements((r"(?!__).*-.*-.*x",))
    assert found is not None and not found.is_linear
    assert found.fullmatch("a-b-x") is not None and found.fullmatch("__-b-x") is None
    began = time.process_time()
    assert found.fullmatch("-" * LONGEST_TRIED) is None
    assert found.fullmatch("-" * LONGEST_GROUP_ID + "x") is None
    assert time.process_time() - began < LONGEST_S


def test_groups_are_those_that_trying_finds() -> None:
    found = compile_elements((r"(a+)(a*)-(?<rest>x|xy)(y?)",))
    assert found is not None and found.is_linear and found.groups == 4
    match = found.fullmatch("aaa-xy")
    assert [match[i] for i in range(5)] == ["aaa-xy", "aaa", "", "x", "y"]
