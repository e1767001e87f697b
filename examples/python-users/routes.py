"""Routes of the project beside those of the agent server, with the same users."""

from fastapi import FastAPI, Request
from langgraph_sdk import get_client

app = FastAPI()


@app.get("/notes")
async def notes(request: Request) -> dict[str, object]:
    # Without an address the client calls this server, with the rights of the header.
    client = get_client(headers={"authorization": request.headers["authorization"]})
    found = await client.store.search_items((request.user.identity, "notes"))
    return {"user": request.user.identity, "notes": [item["value"]["text"] for item in found["items"]]}
