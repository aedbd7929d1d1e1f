"""How a client says who it is: `sasl.*` settings -> one typed login. Pure.

Passwords and keys stand in these: no `repr` shows them, and a ValueError names the setting, never its value.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field

from sparkmirror.config.assertions import Assertion, Get, read_assertion, wants_assertion
from sparkmirror.config.jaas import (
    KERBEROS_MODULE,
    OAUTH_MODULE,
    PLAIN_MODULE,
    SCRAM_MODULE,
    LoginModule,
    parse_jaas,
)

GSSAPI, PLAIN, OAUTHBEARER = "GSSAPI", "PLAIN", "OAUTHBEARER"
SCRAM_256, SCRAM_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
MECHANISMS = (GSSAPI, PLAIN, SCRAM_256, SCRAM_512, OAUTHBEARER)
JAAS_KEY = "sasl.jaas.config"
KRB5_CONF_KEY = "sasl.kerberos.krb5.conf"  # not for files: where -Djava.security.krb5.conf of KAFKA_OPTS is kept
URL_KEY = "sasl.oauthbearer.token.endpoint.url"
RETRIEVER_KEY = "sasl.oauthbearer.jwt.retriever.class"
FILE_RETRIEVER, ENDPOINT_RETRIEVER = "FileJwtRetriever", "ClientCredentialsJwtRetriever"
ASSERTION_RETRIEVER = "JwtBearerJwtRetriever"

_EXTENSION = re.compile(r"[A-Za-z]+")
_MODULES = {
    GSSAPI: (KERBEROS_MODULE,),
    PLAIN: (PLAIN_MODULE, SCRAM_MODULE),
    SCRAM_256: (SCRAM_MODULE, PLAIN_MODULE),
    SCRAM_512: (SCRAM_MODULE, PLAIN_MODULE),
    OAUTHBEARER: (OAUTH_MODULE,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordLogin:
    """`is_token`: the user is a delegation token of Kafka's (KIP-48)."""

    mechanism: str
    username: str
    password: str = field(repr=False)
    is_token: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KerberosLogin:
    """`keytab` empty: tickets come from `ticket_cache`, or from where Kerberos keeps them by itself."""

    mechanism: str = GSSAPI
    service: str
    principal: str = ""
    keytab: str = ""
    ticket_cache: str = ""
    krb5_conf: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshing:
    """When a token is fetched anew, and how long its endpoint has: `sasl.login.*`, with Kafka's defaults.

    Kafka waits for an endpoint without end by default, which is of no use to anybody.
    """

    window_factor: float = 0.8
    window_jitter: float = 0.05
    min_period_s: float = 60.0
    buffer_s: float = 300.0
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 10.0
    retry_s: float = 0.1
    retry_max_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogin:
    """One of `file`, `endpoint` and `claims` says where the token comes from; claims make an unsecured one.

    `assertion`: by it the endpoint knows us, and not by a secret. `is_bearer`: it is what the token is given for
    (RFC 7523, 2.1), and not only who asks (2.2).
    """

    mechanism: str = OAUTHBEARER
    file: str = ""
    endpoint: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    assertion: Assertion | None = None
    is_bearer: bool = False
    scope: str = ""
    urlencode: bool = False
    claims: tuple[tuple[str, str], ...] = ()
    extensions: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    # `ssl.*` of the connection to the endpoint.
    ssl: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    refreshing: Refreshing = field(default_factory=Refreshing)


Login = PasswordLogin | KerberosLogin | TokenLogin


def read_login(settings: Mapping[str, str]) -> Login:
    def get(key: str, default: str = "") -> str:
        return settings.get(key, default).strip() or default

    mechanism = get("sasl.mechanism", GSSAPI)
    if mechanism not in MECHANISMS:
        raise ValueError(f"sasl.mechanism: expected one of {', '.join(MECHANISMS)}")
    if JAAS_KEY not in settings:
        raise ValueError(
            f"{JAAS_KEY}: expected a login for {mechanism}, here or in section KafkaClient of a file that "
            "KAFKA_OPTS=-Djava.security.auth.login.config=FILE names"
        )
    try:
        module = parse_jaas(settings[JAAS_KEY])
    except ValueError as error:
        raise ValueError(f"{JAAS_KEY}: {error}") from None
    if module.name not in _MODULES[mechanism]:
        raise ValueError(
            f"{JAAS_KEY}: {module.name} is not for sasl.mechanism {mechanism}: expected {_MODULES[mechanism][0]}"
        )
    if mechanism == GSSAPI:
        return _read_kerberos(module, get)
    if mechanism == OAUTHBEARER:
        return _read_token(module, get)
    return PasswordLogin(
        mechanism=mechanism,
        username=_require(module, "username"),
        password=_require(module, "password"),
        is_token=module.options.get("tokenauth", "").lower() == "true",
    )


def _require(module: LoginModule, option: str) -> str:
    value = module.options.get(option, "")
    if not value:
        raise ValueError(f'{JAAS_KEY}: {module.name} needs {option}="..."')
    return value


def _read_kerberos(module: LoginModule, get: Get) -> KerberosLogin:
    options = module.options
    named = {name for name in (get("sasl.kerberos.service.name"), options.get("serviceName", "")) if name}
    if len(named) != 1:
        raise ValueError(
            "sasl.kerberos.service.name: expected the user name of the brokers' principals, kafka for one"
            + (f", and the same as serviceName in {JAAS_KEY}" if named else "")
        )
    has_keytab = options.get("useKeyTab", "false").lower() == "true"
    if has_keytab:
        _require(module, "keyTab")
        _require(module, "principal")
    elif options.get("useTicketCache", "false").lower() != "true":
        raise ValueError(
            f"{JAAS_KEY}: nobody can be asked for a password here: expected useKeyTab=true or useTicketCache=true"
        )
    return KerberosLogin(
        service=named.pop(),
        principal=options.get("principal", ""),
        keytab=options.get("keyTab", "").removeprefix("file:") if has_keytab else "",
        ticket_cache=options.get("ticketCache", ""),
        krb5_conf=get(KRB5_CONF_KEY),
    )


def _read_token(module: LoginModule, get: Get) -> TokenLogin:
    options, url = module.options, get(URL_KEY)
    claims = {name: value for name, value in options.items() if name.startswith("unsecuredLogin")}
    extensions = {
        name.removeprefix("extension_"): value for name, value in options.items() if name.startswith("extension_")
    }
    for name, value in extensions.items():
        if not _EXTENSION.fullmatch(name) or name == "auth" or not value.isprintable():
            raise ValueError(f"{JAAS_KEY}: extension_{name}: expected letters, other than auth, and one line of text")
    if not url:
        who = f"unsecuredLoginStringClaim_{claims.get('unsecuredLoginPrincipalClaimName', 'sub')}"
        if who not in claims:
            raise ValueError(
                f"{URL_KEY}: expected file:/PATH of a token or the https address of an endpoint "
                f'(or, for development, {who}="..." in {JAAS_KEY})'
            )
        _require_numbers(claims)
        return TokenLogin(claims=tuple(sorted(claims.items())), extensions=tuple(sorted(extensions.items())))
    scheme, path = _split_url(url)
    is_file = scheme == "file"
    retriever = get(RETRIEVER_KEY).rpartition(".")[2]
    if retriever in ((ENDPOINT_RETRIEVER, ASSERTION_RETRIEVER) if is_file else (FILE_RETRIEVER,)):
        raise ValueError(f"{RETRIEVER_KEY}: {retriever} does not read {scheme}: addresses, as {URL_KEY} has one")
    is_bearer = retriever == ASSERTION_RETRIEVER
    assertion = read_assertion(get) if not is_file and (is_bearer or wants_assertion(get)) else None
    by_secret = not is_file and assertion is None
    return TokenLogin(
        file=urllib.parse.unquote(path) if is_file else "",
        endpoint="" if is_file else url,
        client_id="" if is_file else _of_client(module, get, "client.id", "clientId", is_needed=by_secret),
        client_secret=_of_client(module, get, "client.secret", "clientSecret") if by_secret else "",
        assertion=assertion,
        is_bearer=is_bearer,
        scope=get("sasl.oauthbearer.scope") or options.get("scope", ""),
        urlencode=get("sasl.oauthbearer.header.urlencode", "false").lower() == "true",
        extensions=tuple(sorted(extensions.items())),
        ssl=tuple(sorted((name, value) for name, value in options.items() if name.startswith("ssl."))),
        refreshing=_read_refreshing(get),
    )


def _require_numbers(claims: Mapping[str, str]) -> None:
    for name, value in claims.items():
        if name == "unsecuredLoginLifetimeSeconds" or name.startswith("unsecuredLoginNumberClaim"):
            try:
                float(value)
            except ValueError:
                raise ValueError(f"{JAAS_KEY}: {name}: expected a number") from None


def _split_url(url: str) -> tuple[str, str]:
    """Scheme and path."""
    try:
        parts = urllib.parse.urlsplit(url)
        has_place = parts.path if parts.scheme == "file" else parts.hostname and parts.port != 0
    except ValueError:
        has_place = None
    if not has_place or parts.scheme not in ("file", "http", "https"):
        raise ValueError(f"{URL_KEY}: expected file:/PATH, http://... or https://...")
    return parts.scheme, parts.path


def _of_client(module: LoginModule, get: Get, key: str, option: str, *, is_needed: bool = True) -> str:
    """The key stands above the option, as in Kafka 4.1 and later."""
    full = f"sasl.oauthbearer.client.credentials.{key}"
    value = get(full) or module.options.get(option, "")
    if is_needed and not value:
        raise ValueError(
            f'{full}: expected what the token endpoint knows us by, here or as {option}="..." in {JAAS_KEY}'
        )
    return value


def _read_refreshing(get: Get) -> Refreshing:
    scales = {
        "window_factor": ("sasl.login.refresh.window.factor", 1.0),
        "window_jitter": ("sasl.login.refresh.window.jitter", 1.0),
        "min_period_s": ("sasl.login.refresh.min.period.seconds", 1.0),
        "buffer_s": ("sasl.login.refresh.buffer.seconds", 1.0),
        "connect_timeout_s": ("sasl.login.connect.timeout.ms", 1e-3),
        "read_timeout_s": ("sasl.login.read.timeout.ms", 1e-3),
        "retry_s": ("sasl.login.retry.backoff.ms", 1e-3),
        "retry_max_s": ("sasl.login.retry.backoff.max.ms", 1e-3),
    }
    given = {name: float(get(key)) * scale for name, (key, scale) in scales.items() if get(key)}
    return Refreshing(**given)
