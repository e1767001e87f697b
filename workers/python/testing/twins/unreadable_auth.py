"""An auth module whose handlers raise an error that cannot be read."""

from typing import Any

from langgraph_sdk import Auth
from unreadable import Unreadable

auth = Auth()


@auth.authenticate
async def authenticate() -> Any:
    raise Unreadable


@auth.on
async def on(ctx: Auth.types.AuthContext, value: Any) -> Any:
    raise Unreadable
