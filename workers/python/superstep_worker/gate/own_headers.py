"""Headers that Superstep's own processes send to each other (protocol/src/http/own-headers.ts). Any client can send them too,
so they are removed from every request before other code sees it, and their values are checked."""

from __future__ import annotations

import base64
import hashlib
import hmac

from .http_message import Headers

#: The credential of a project's own code for its server's own socket.
credential_header = "x-superstep-credential"
#: Identifies the request that the server has passed to the app, when the app passes it on.
ticket_header = "x-superstep-ticket"
#: The caller, for the app: a user as JSON, percent-encoded.
user_header = "x-superstep-user"


def is_own(name: bytes) -> bool:
    """:param name: in lower case"""
    return name.startswith(b"x-superstep-")


def take_own_headers(headers: Headers) -> tuple[Headers, dict[str, str]]:
    """:returns: the other headers, and the removed ones by name. Values of a repeated header are joined, and the result is not
    a valid credential."""
    taken: dict[str, str] = {}
    for name, value in headers:
        if is_own(name):
            key, text = name.decode(), value.decode("latin-1")
            taken[key] = f"{taken[key]}, {text}" if key in taken else text
    return [each for each in headers if not is_own(each[0])], taken


def is_signed_ticket(ticket: str, credential: str) -> bool:
    """Whether the server has issued this ticket. Only the server knows whether it is still valid."""
    id_ = ticket.split(".")[0]
    mac = hmac.new(credential.encode(), id_.encode(), hashlib.sha256).digest()
    expected = f"{id_}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"
    return hmac.compare_digest(ticket.encode(), expected.encode())
