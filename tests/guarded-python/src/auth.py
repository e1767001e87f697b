"""Owners, as in LangGraph's documentation: every user sees what is their own. A token is `<name>-token`."""

from typing import Any

from langgraph_sdk import Auth

HTTPException = Auth.exceptions.HTTPException
users = ["ada", "bob"]

auth = Auth()


@auth.authenticate
async def authenticate(authorization: str | None, method: str, path: str, headers: dict[bytes, bytes]) -> Any:
    assert (method, path[0], headers.get(b"authorization", b"").decode() or None) == (method, "/", authorization)
    _, found, token = (authorization or "").partition(" ")
    if not found:
        told = {"www-authenticate": 'Bearer realm="agents"', "content-type": "text/html"}
        raise HTTPException(status_code=401, detail="Send a token.", headers=told)
    if token == "broken-token":
        raise RuntimeError("the identity provider at 10.0.0.7 is down")
    if token == "odd-token":
        return 42
    if token == "plain-token":
        return "plain"
    name = token.removesuffix("-token")
    if name not in users:
        raise HTTPException(status_code=403, detail="This token was revoked.")
    return {"identity": name, "display_name": name.upper(), "permissions": ["agents"], "team": {"id": 7}}


@auth.on
async def own(ctx: Auth.types.AuthContext, value: Any) -> Any:
    if ctx.user.identity == "plain":
        return None
    if ctx.action in ("create", "create_run", "update"):
        value["metadata"] = {**(value.get("metadata") or {}), "owner": ctx.user.identity}
    return {"owner": ctx.user.identity}


@auth.on.threads.create
async def create_thread(ctx: Auth.types.AuthContext, value: Any) -> Any:
    metadata = value.get("metadata") or {}
    match metadata.get("forbidden"):
        case True:
            return False
        case "politely":
            raise HTTPException(status_code=402, detail="Pay first.", headers={"x-price": "1"})
        case "oddly":
            return {"owner": {"$regex": ".*"}}
        case "without a value":
            return {"owner": ...}
    value["metadata"] = {**metadata, "owner": ctx.user.identity, "may": list(ctx.permissions)}
    return {"owner": ctx.user.identity}


@auth.on.store
async def own_namespace(ctx: Auth.types.AuthContext, value: Any) -> bool:
    namespace = value.get("namespace") or ()
    if ctx.user.identity != "plain" and namespace[:1] != (ctx.user.identity,):
        raise HTTPException(status_code=403, detail="That is not your namespace.")
    return True
