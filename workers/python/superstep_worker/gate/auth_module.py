"""A project's auth module: who sent a request, and what that user may do (agent-server-api §12.2, §12.3). Its handlers are read
from the SDK's `Auth`."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from uuid import UUID

from ..values.answer import Answer
from ..values.serialise import serialise
from ..values.user import User

Handler = Callable[..., Any]


class AuthModule:
    def __init__(self, exported: Any, origin: str) -> None:
        """:raises TypeError: describing what was exported instead of an `Auth`"""
        handlers = getattr(exported, "_handlers", None)
        if not isinstance(handlers, dict):
            raise TypeError(f"{origin} is not an Auth of langgraph_sdk: export `Auth()`")
        self._authenticate: Handler | None = exported._authenticate_handler
        if self._authenticate is None:
            raise TypeError(f"{origin} has no authenticate handler: every request would be rejected")
        self._on: dict[str, Handler] = {_key(*place): each[-1] for place, each in handlers.items() if each}
        if exported._global_handlers:
            self._on["*"] = exported._global_handlers[-1]

    @property
    def handlers(self) -> list[str]:
        """Keys of the `on` handlers."""
        return list(self._on)

    async def authenticate(self, request: Mapping[str, Any]) -> Answer:
        """:param request: `{method, url, headers}`, without its body"""
        handler = self._authenticate
        assert handler is not None
        try:
            arguments = _arguments(handler, request)
            made = handler(**arguments) if _is_async(handler) else await asyncio.to_thread(handler, **arguments)
            user = _to_user(await made if inspect.isawaitable(made) else made)
        except Exception as error:
            return _denial(error)
        return Answer.line("user", user)

    async def authorize(self, event: str, key: str, value: Any, user: Mapping[str, Any]) -> Answer:
        """
        :param event: such as `threads:create`
        :param value: the requested value; a handler may change it
        """
        handler = self._on.get(key)
        if handler is None:
            raise LookupError(f'the auth module has no handler for "{key}"')
        try:
            verdict = await handler(ctx=_context(event, user), value=_received(event, value))
        except Exception as error:
            return _denial(error)
        if verdict is False:
            return Answer({"denial": {"status": 403, "message": "Forbidden", "headers": {}}})
        if verdict is None or verdict is True:
            return Answer({}, [("value", serialise(value)), ("filter", "")])
        if not isinstance(verdict, dict):
            expected = "expected nothing, True, False or a filter"
            raise TypeError(f'the handler for "{key}" returned {_described(verdict)}: {expected}')
        _assert_json(verdict, f'the filter that the handler for "{key}" returned')
        return Answer({}, [("value", serialise(value)), ("filter", json.dumps(verdict))])


def drops_actions(auth_class: Any) -> bool:
    """Whether this SDK ignores `actions=` of a rule, which then applies to all actions (CVE-2026-104873).

    :param auth_class: `Auth` of langgraph_sdk
    """
    tried = auth_class()

    async def rule(ctx: Any, value: Any) -> None: ...

    try:
        tried.on.threads(actions="create")(rule)
    except Exception:
        # An SDK that does not know the parameter refuses it.
        return False
    return ("threads", "create") not in tried._handlers


def _key(resource: str, action: str) -> str:
    """`threads` for every action of a resource, `*:delete` for an action of every resource."""
    return resource if action == "*" else f"{resource}:{action}"


def _is_async(handler: Handler) -> bool:
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))


def _arguments(handler: Handler, request: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that the handler names."""
    url = urlsplit(request["url"])
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in request["headers"]]
    path = unquote(url.path)
    known: dict[str, Callable[[], Any]] = {
        "request": lambda: _starlette_request(request["method"], url, headers),
        "path": lambda: path,
        "method": lambda: request["method"],
        "path_params": lambda: _path_params(path),
        "query_params": lambda: dict(parse_qsl(url.query, keep_blank_values=True)),
        "headers": lambda: dict(headers),
        "authorization": lambda: next((v.decode("latin-1") for n, v in headers if n == b"authorization"), None),
    }
    given: dict[str, Any] = {}
    for name, parameter in inspect.signature(handler).parameters.items():
        if name in known:
            given[name] = known[name]()
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            raise TypeError(f'authenticate takes an unknown parameter "{name}": use {", ".join(known)}')
    return given


def _starlette_request(method: str, url: Any, headers: list[tuple[bytes, bytes]]) -> Any:
    try:
        from starlette.requests import Request
    except ImportError as error:
        raise TypeError("authenticate takes `request`, whose class is in starlette: install starlette") from error
    return Request(
        {
            "type": "http",
            "method": method,
            "scheme": url.scheme or "http",
            "server": (url.hostname or "localhost", url.port or 80),
            "path": unquote(url.path),
            "raw_path": url.path.encode(),
            "query_string": url.query.encode(),
            "root_path": "",
            "headers": headers,
            "path_params": _path_params(unquote(url.path)),
        }
    )


_ids = {"threads": "thread_id", "runs": "run_id", "assistants": "assistant_id", "crons": "cron_id"}


def _path_params(path: str) -> dict[str, str]:
    segments = path.split("/")
    pairs = zip(segments, segments[1:])
    return {_ids[kind]: id_ for kind, id_ in pairs if kind in _ids and _is_uuid(id_)}


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _to_user(answer: Any) -> dict[str, Any]:
    """A text is the identity; absent fields get defaults (agent-server-api §12.2)."""
    fields = {"identity": answer} if isinstance(answer, str) else _fields_of(answer)
    identity = fields.get("identity")
    if not isinstance(identity, str):
        expected = "expected a string, or an object with the string `identity`"
        raise TypeError(f"authenticate returned {_described(answer)}: {expected}")
    permissions, name = fields.get("permissions"), fields.get("display_name")
    is_known = fields.get("is_authenticated")
    return {
        **fields,
        "permissions": [str(each) for each in permissions] if isinstance(permissions, (list, tuple, set)) else [],
        "is_authenticated": is_known if isinstance(is_known, bool) else True,
        "display_name": name if isinstance(name, str) else identity,
    }


def _fields_of(answer: Any) -> dict[str, Any]:
    if isinstance(answer, Mapping):
        return dict(answer)
    if hasattr(answer, "model_dump"):
        return dict(answer.model_dump())
    if not hasattr(answer, "identity"):
        return {}
    names = {"identity", "display_name", "is_authenticated", "permissions", *getattr(answer, "__dict__", ())}
    return {name: getattr(answer, name) for name in names if not name.startswith("_") and hasattr(answer, name)}


def _context(event: str, user: Mapping[str, Any]) -> Any:
    from langgraph_sdk.auth.types import AuthContext, StudioUser

    resource, _, action = event.partition(":")
    caller: Any = User(user)
    if user.get("kind") == "StudioUser":
        caller = StudioUser(caller.identity, is_authenticated=True)
    return AuthContext(permissions=User(user).permissions, user=caller, resource=resource, action=action)  # type: ignore[arg-type]


def _received(event: str, value: Any) -> Any:
    """The SDK's types say that a namespace is a tuple."""
    if event.startswith("store:") and isinstance(value, dict) and isinstance(value.get("namespace"), list):
        value["namespace"] = tuple(value["namespace"])
    return value


def _denial(error: Exception) -> Answer:
    """Only an `HTTPException` is meant for the caller; any other error is raised again."""
    is_meant = any(each.__name__ == "HTTPException" for each in type(error).__mro__)
    status = getattr(error, "status_code", None)
    if not is_meant or not isinstance(status, int):
        raise error
    headers = {str(name).lower(): str(value) for name, value in dict(getattr(error, "headers", None) or {}).items()}
    return Answer({"denial": {"status": status, "message": str(getattr(error, "detail", "")), "headers": headers}})


def _assert_json(value: Any, what: str) -> None:
    """A filter that has changed in JSON would allow too much."""
    if value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        for each in value.values():
            _assert_json(each, what)
    elif isinstance(value, list):
        for each in value:
            _assert_json(each, what)
    else:
        raise TypeError(f"{what} contains {_described(value)}, which matches nothing")


def _described(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, (list, tuple)):
        return "a list"
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return "a number" if is_number else f"a {type(value).__name__}"
