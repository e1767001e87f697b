/** Example request bodies by method and path. A test sends each of them. */

const question = { messages: [{ role: "user", content: "Hello" }] }

export const examples: Readonly<Record<string, object>> = {
  "POST /assistants": {
    graph_id: "agent",
    name: "Agent in German",
    context: { language: "de" },
    metadata: { team: "docs" },
  },
  "POST /assistants/search": { graph_id: "agent", limit: 10, offset: 0 },
  "POST /threads": { metadata: { user: "u1" } },
  "POST /threads/search": { metadata: { user: "u1" }, status: "idle", limit: 10, offset: 0 },
  "POST /threads/{thread_id}/history": { limit: 10 },
  "POST /threads/{thread_id}/runs": { assistant_id: "agent", input: question },
  "POST /threads/{thread_id}/runs/stream": {
    assistant_id: "agent",
    input: question,
    stream_mode: ["updates", "messages-tuple"],
  },
  "POST /threads/{thread_id}/runs/wait": { assistant_id: "agent", input: question },
  "POST /runs": { assistant_id: "agent", input: question },
  "POST /runs/stream": { assistant_id: "agent", input: question, stream_mode: "values" },
  "POST /runs/search": { status: ["error", "timeout"], created_after: "2026-01-01T00:00:00Z", limit: 20 },
  "POST /runs/wait": { assistant_id: "agent", input: question },
  "POST /runs/crons": { assistant_id: "agent", schedule: "0 8 * * 1-5", timezone: "Europe/Berlin", input: question },
}
