"""An app without a framework."""

from typing import Any


async def app(scope: Any, receive: Any, send: Any) -> None:
    assert scope["type"] == "http"
    is_echo = scope["path"] == "/custom/echo"
    body, message = b"", {"more_body": True}
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    await send(
        {
            "type": "http.response.start",
            "status": 200 if is_echo else 404,
            "headers": [(b"x-from", b"fetch"), (b"content-type", b"text/plain")],
        }
    )
    await send({"type": "http.response.body", "body": body if is_echo else b"nobody"})
