"""Who may do what. A real project asks its identity provider instead of this table."""

from typing import Any

from langgraph_sdk import Auth

USERS = {"token-of-ada": "ada", "token-of-bob": "bob"}

auth = Auth()


@auth.authenticate
async def authenticate(authorization: str | None) -> str:
    user = USERS.get((authorization or "").removeprefix("Bearer "))
    if user is None:
        raise Auth.exceptions.HTTPException(status_code=401, detail="Send the header authorization: Bearer <token>")
    return user


@auth.on.threads
async def own_threads(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> dict[str, str]:
    """Marks new threads with their owner, and shows each user only their own."""
    value["metadata"] = {**(value.get("metadata") or {}), "owner": ctx.user.identity}
    return {"owner": ctx.user.identity}


@auth.on.store
async def own_notes(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> bool:
    """The first part of a namespace is the user."""
    return tuple(value.get("namespace") or ())[:1] == (ctx.user.identity,)
