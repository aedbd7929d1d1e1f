"""A token endpoint on a loopback port: it gives unsecured tokens to who knows the secret, and is ill on demand.

Who signs with the key that belongs to `key` is known to it, too.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from sparkmirror.net.sasl.tokens import make_unsecured

CLIENT, SECRET = "mirror", "s3cret-of-the-endpoint"


class AskedToken(NamedTuple):
    form: dict[str, list[str]]
    credentials: str


class TokenEndpoint:
    def __init__(
        self, subject: str = "mirror", tls: ssl.SSLContext | None = None, key: rsa.RSAPublicKey | None = None
    ) -> None:
        self.life_s = 3600.0
        self.status = 200
        self.body: bytes | None = None
        self.delay_s = 0.0
        self.asked: list[AskedToken] = []
        self.given: list[str] = []
        self._subject, self._key = subject, key
        self._news = threading.Condition()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                status, body = endpoint._answer(self.headers["Authorization"] or "", self.rfile.read(size).decode())
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._scheme = "https" if tls else "http"
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self) -> TokenEndpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}/token"

    def await_asked(self, times: int, deadline_s: float) -> bool:
        with self._news:
            return self._news.wait_for(lambda: len(self.asked) >= times, deadline_s)

    def _answer(self, authorization: str, form: str) -> tuple[int, bytes]:
        time.sleep(self.delay_s)
        credentials = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        with self._news:
            asked = AskedToken(urllib.parse.parse_qs(form), credentials)
            self.asked.append(asked)
            self._news.notify_all()
            if credentials != f"{CLIENT}:{SECRET}" and not self._is_signed(asked.form):
                return 401, b'{"error": "invalid_client"}'
            if self.status != 200 or self.body is not None:
                return self.status, self.body or b""
            options = {
                "unsecuredLoginStringClaim_sub": self._subject,
                "unsecuredLoginStringClaim_jti": str(len(self.given)),
                "unsecuredLoginLifetimeSeconds": str(self.life_s),
            }
            self.given.append(make_unsecured(options, time.time()).text)
            return 200, json.dumps({"access_token": self.given[-1]}).encode()

    def _is_signed(self, form: dict[str, list[str]]) -> bool:
        """By the key's owner, for now."""
        (assertion,) = form.get("client_assertion") or form.get("assertion") or [""]
        content, _, signature = assertion.rpartition(".")
        if self._key is None or not content:
            return False
        try:
            self._key.verify(decode(signature), content.encode(), padding.PKCS1v15(), hashes.SHA256())
        except InvalidSignature:
            return False
        claims = json.loads(decode(content.split(".")[1]))
        return bool(claims["nbf"] <= time.time() < claims["exp"])


def decode(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
