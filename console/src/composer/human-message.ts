/** A message of a person, as a graph's input takes it. Pure. */
import type { RawMessage } from "../messages/messages.js"

/** The page names the message itself, so that it knows it again among those of the run. */
export const humanMessage = (content: unknown): RawMessage => ({ type: "human", id: newId(), content })

// Not `crypto.randomUUID`: browsers have it only on secure origins, and a console may be opened by plain HTTP.
function newId(): string {
  const hex = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-")
}
