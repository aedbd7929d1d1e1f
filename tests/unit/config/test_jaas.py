"""JAAS text as Kafka's JaasConfig and Java's ConfigFile read it; errors with their place and without secrets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.config.jaas import (
    FLAGS,
    KERBEROS_MODULE,
    MODULES,
    OAUTH_MODULE,
    PLAIN_MODULE,
    SCRAM_MODULE,
    find_section,
    parse_jaas,
)

FILE = """
/* Two programs
   share it. */
Client { com.example.ZooKeeperLoginModule required user="x"; };
KafkaClient {   // ours
  com.sun.security.auth.module.Krb5LoginModule required
  useKeyTab=true
  storeKey=true
  keyTab="/etc/security/keytabs/mirror.keytab"
  principal="mirror/host@EXAMPLE.COM"
  serviceName="kafka";
};
"""


def test_a_printed_line_is_read() -> None:
    module = parse_jaas(f'{PLAIN_MODULE} required username="alice" password="a;b=c // \\"d\\" \\101\\t";')
    assert (module.name, module.options) == (PLAIN_MODULE, {"username": "alice", "password": 'a;b=c // "d" A\t'})


def test_single_quotes_words_comments_and_flags_in_any_case() -> None:
    module = parse_jaas(f"// who\n{SCRAM_MODULE} /* flag */ Sufficient\n username='a\"b'\n password=x-y.z_1\n ;  ")
    assert module.options == {"username": 'a"b', "password": "x-y.z_1"}
    assert parse_jaas(f"{OAUTH_MODULE} optional;").options == {}


QUOTED = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"))


def quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True), QUOTED), st.sampled_from(FLAGS))
def test_every_value_comes_back_as_it_was_quoted(options: dict[str, str], flag: str) -> None:
    text = " ".join((PLAIN_MODULE, flag, *(f"{name}={quote(value)}" for name, value in options.items()))) + ";"
    assert parse_jaas(text).options == options


@given(
    st.text() | st.lists(st.sampled_from([*MODULES, *FLAGS, "=", ";", "{", "}", '"', "'", "\\", "a", " "])).map("".join)
)
def test_whatever_is_written_there_is_an_answer(text: str) -> None:
    for parse in (parse_jaas, find_section):
        try:
            parse(text)
        except ValueError as error:
            assert str(error).startswith(("JAAS line ", "section "))


@given(st.integers(0, 200), st.sampled_from(['"', "'", "=", ";", "{", "}", "x ", "\n"]))
def test_no_error_shows_a_secret(at: int, noise: str) -> None:
    text = f'{SCRAM_MODULE} required username="alice" password="hunter2" other="hunter2";'
    broken = text[:at] + noise + text[at:]
    try:
        parse_jaas(broken)
    except ValueError as error:
        assert "hunter2" not in str(error)
        assert "nter" not in str(error)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "JAAS line 1, column 1: expected the class of a login module, and the text ends"),
        (f"{PLAIN_MODULE}", "column 56: expected required, requisite, sufficient or optional behind the login module"),
        (f"{PLAIN_MODULE} must;", "JAAS line 1, column 57: expected required, requisite, sufficient or optional"),
        (f"{PLAIN_MODULE} required\n username", "JAAS line 2, column 10: expected '=' and a value behind an option"),
        (f"{PLAIN_MODULE} required a=;", "JAAS line 1, column 68: expected the value of an option"),
        (
            f'{PLAIN_MODULE} required a="b"',
            "expected an option, or ';' at the end of the login module, and the text ends",
        ),
        (f'{PLAIN_MODULE} required a="b', "JAAS line 1, column 68: a quote that begins here is not closed on its line"),
        (f"{PLAIN_MODULE} required; {PLAIN_MODULE} required;", "expected one login module, and nothing behind its ';'"),
        (
            "com.example.Mine required;",
            "the login module com.example.Mine is not known here: expected one of org.apache",
        ),
        ("hunter2 required;", "JAAS line 1, column 1: the login module is not known here: expected one of"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_jaas(text)
    assert said in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_the_section_of_clients_is_found_in_a_file() -> None:
    section = find_section(FILE)
    assert section is not None
    module = parse_jaas(section)
    assert (module.name, module.options["principal"]) == (KERBEROS_MODULE, "mirror/host@EXAMPLE.COM")
    assert find_section(FILE.replace("KafkaClient", "KafkaServer").replace("com.sun", "com.any")) is None


def test_a_section_with_an_unknown_module_is_refused_where_it_stands() -> None:
    with pytest.raises(ValueError, match=r"JAAS line 6, column 3: the login module com.sun.any.Krb5LoginModule is not"):
        find_section(FILE.replace("com.sun.security.auth.module", "com.sun.any"))
    with pytest.raises(ValueError, match=r"section KafkaClient: .*system properties is not known here"):
        find_section(FILE.replace('"kafka"', '"${service}"'))
