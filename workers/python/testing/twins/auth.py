"""The auth module of the protocol's fixtures: a request names its user."""

from typing import Any

from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
def authenticate(headers: dict[bytes, bytes]) -> Any:
    name = headers.get(b"x-name")
    if name is None:
        raise Auth.exceptions.HTTPException(401, "Who?", {"www-authenticate": "Name"})
    return {"identity": name.decode(), "permissions": ["all"], "team": 7}


@auth.on.threads
async def own(ctx: Auth.types.AuthContext, value: Any) -> Any:
    value["metadata"] = {"owner": ctx.user.identity}
    return {"owner": ctx.user.identity}


@auth.on(actions="delete")
async def nobody_deletes(ctx: Auth.types.AuthContext, value: Any) -> bool:
    return False


@auth.on
async def allowed(ctx: Auth.types.AuthContext, value: Any) -> bool:
    return True
