"""Java's regexes matched as Java would, or refused by name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.config.java_regex import compile_elements, translate


def matches(elements: tuple[str, ...], name: str) -> bool:
    pattern = compile_elements(elements)
    return pattern is not None and pattern.fullmatch(name) is not None


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (".*", ["a", "a.b"], []),
        ("foo-.*", ["foo-", "foo-1"], ["xfoo-1", "foo"]),
        (r"mm2.*\.internal", ["mm2-configs.a.internal"], ["mm2-configs-internal", "my.internal"]),
        (r"\Qa.b*\E.*", ["a.b*", "a.b*c"], ["axb"]),
        (r"\Qa.b", ["a.b"], ["axb"]),
        (r"[\Q.-]\E]+", [".-]"], ["a"]),
        (r"\p{Alpha}+\p{Digit}", ["abc1"], ["abc", "ab-1"]),
        (r"[\p{Lower}_]+", ["a_b"], ["A"]),
        (r"\pL\p{Lu}\p{IsAlphabetic}\P{L}", ["aBc1"], ["abc1", "aBcd"]),
        (r"\p{javaLowerCase}", ["a"], ["A"]),
        (r"(?i)orders", ["ORDERS", "orders"], ["order"]),
        (r"a(?i)b|c", ["ab", "aB", "c", "C"], ["AB", "aC"]),
        (r"(a(?i)b)c", ["abc", "aBc"], ["abC"]),
        (r"(?i:a)b", ["Ab"], ["AB"]),
        (r"(?<x>a+)-\k<x>", ["aa-aa"], ["aa-a"]),
        (r"a++b", ["aab"], ["b"]),
        (r"(?>a+)b", ["aab"], ["a"]),
        (r"(?!__).*", ["a"], ["__a"]),
        (r"(?<!x)a\z", ["a"], ["b"]),
        (r"a{2}|b{1,}|c{1,2}", ["aa", "bbb", "cc"], ["a", "ccc"]),
        (r"[]a]", ["]", "a"], ["b"]),
        (r"[^]a]", ["b"], ["]", "a"]),
        (r"[a|~&]", ["|", "~", "&"], ["b"]),
        (r"\w+", ["a_1"], ["é"]),
    ],
)
def test_matches_what_java_matches(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [name for name in yes if not matches((pattern,), name)] == []
    assert [name for name in no if matches((pattern,), name)] == []


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("*.internal", "nothing to repeat"),
        ("(a", "missing )"),
        ("a)", "unbalanced"),
        ("[a", "unclosed character class"),
        ("a{1", "illegal repetition"),
        ("a{,2}", "illegal repetition"),
        (r"\p{IsGreek}", r"'\\p{IsGreek}'"),
        (r"\p", "not supported"),
        (r"\R", r"'\R' is not supported"),
        (r"[\P{L}]", "negated"),
        ("[a[bc]]", "inside [...]"),
        ("[a&&b]", "inside [...]"),
        ("(?P<x>a)", "no group that begins"),
        ("(?x)a b", "flag 'x'"),
        ("a\\", "bad escape"),
    ],
)
def test_refuses_what_java_refuses_or_python_cannot_say(pattern: str, said: str) -> None:
    with pytest.raises(ValueError, match="bad regular expression") as caught:
        compile_elements((pattern,))
    assert said in str(caught.value)


def test_the_bad_element_is_named() -> None:
    with pytest.raises(ValueError, match=r"'\*\.b' \(element 2 of 3\)"):
        compile_elements(("a", "*.b", "c"))


def test_elements_are_joined_before_they_are_compiled_as_in_java() -> None:
    assert matches(("(eu", "us)-.*"), "us-orders")
    assert matches(("(?i)a", "b"), "B")
    assert matches(("a", "(?i)b"), "B") and not matches(("a", "(?i)b"), "A")
    assert matches((r"\Qa.b\E", "c"), "c")


def test_no_elements_match_nothing() -> None:
    assert compile_elements(()) is None


@given(st.from_regex(r"[a-zA-Z0-9._-]{1,30}", fullmatch=True))
def test_a_plain_topic_name_matches_itself(name: str) -> None:
    assert matches((name,), name)


@given(st.text(st.sampled_from("ab.*+?()[]{}|\\^$-,:<>=!QEpPLik&~"), max_size=12))
def test_any_text_compiles_or_is_a_value_error(pattern: str) -> None:
    try:
        compile_elements((pattern,))
    except ValueError:
        return
    re.compile(translate(pattern))
