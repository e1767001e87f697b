"""The caller of a request, in the form that LangGraph and its SDK expect (`BaseUser`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class User(dict[str, Any]):
    """The fields that the auth module returned. They can be read as items and as attributes."""

    @property
    def identity(self) -> str:
        return str(self["identity"])

    @property
    def display_name(self) -> str:
        return str(self.get("display_name", self["identity"]))

    @property
    def is_authenticated(self) -> bool:
        return bool(self.get("is_authenticated", True))

    @property
    def permissions(self) -> Sequence[str]:
        return self.get("permissions") or []

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the user has no {name}") from None


def with_user(config: dict[str, Any]) -> dict[str, Any]:
    """The config of a run or a call, with its caller as a `User`."""
    configurable = config.get("configurable")
    if not isinstance(configurable, dict):
        return config
    user = configurable.get("langgraph_auth_user")
    if not isinstance(user, dict) or "identity" not in user:
        return config
    return {**config, "configurable": {**configurable, "langgraph_auth_user": User(user)}}


def user_of(config: Mapping[str, Any]) -> User | None:
    """The caller in such a config."""
    user = (config.get("configurable") or {}).get("langgraph_auth_user")
    return user if isinstance(user, User) else None
