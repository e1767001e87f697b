"""Access to the server for its user code: `get_client()` of the SDK without an address calls the server that executes it, with
the rights of the server itself (agent-server-api §13.5)."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any

from .own_headers import credential_header, is_own


def offer_loopback(loopback: Mapping[str, str]) -> None:
    """Call it before user code is imported. Without the SDK there is nothing to do."""
    # Else the SDK would import LangGraph's own server.
    os.environ["__LANGGRAPH_DEFER_LOOPBACK_TRANSPORT"] = "true"
    try:
        transport = _transport_to(loopback["socket_path"], loopback["credential"])
    except ImportError:
        return
    # The SDK's own transport collects a whole response before it returns it, and its app is set only once: a client that is
    # made later would have none.
    for name in ("langgraph_sdk._shared.utilities", "langgraph_sdk._async.client", "langgraph_sdk.client"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if hasattr(module, "get_asgi_transport"):
            setattr(module, "get_asgi_transport", lambda: transport)


def _transport_to(socket_path: str, credential: str) -> Any:
    httpx: Any = importlib.import_module("httpx")

    class OwnServer(httpx.AsyncBaseTransport):  # type: ignore[misc]
        """Takes the arguments of `httpx.ASGITransport`, which do not matter here."""

        def __init__(self, *_: Any, **__: Any) -> None:
            # A client may be used from several event loops, so no connection is kept.
            limits = httpx.Limits(max_keepalive_connections=0)
            self._transport = httpx.AsyncHTTPTransport(uds=socket_path, limits=limits)

        async def handle_async_request(self, request: Any) -> Any:
            # User code may pass on headers of a client, and a client must not set our own headers.
            headers = [(name, value) for name, value in request.headers.raw if not is_own(name.lower())]
            request.headers = httpx.Headers([*headers, (credential_header.encode(), credential.encode())])
            return await self._transport.handle_async_request(request)

        async def aclose(self) -> None:
            await self._transport.aclose()

    return OwnServer
