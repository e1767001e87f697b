/**
 * The stream mode `messages` of older clients: `messages/metadata` once for each message, `messages/partial` with the message so
 * far, `messages/complete` with messages that are in the state (agent-server API §7.6).
 */
import { isRecord } from "@superstep/protocol/worker/validate"
import type { WireEvent } from "./wire-event.js"

/** A chunk of a message; concatenating two gives the longer chunk. */
interface MessageChunk {
  readonly id?: string
  concat(next: unknown): MessageChunk
}

export class LegacyMessages {
  readonly #partials = new Map<string, MessageChunk>()
  readonly #completed = new Set<string>()

  /** @param event  a LangChain stream event of any kind */
  onLangChainEvent(event: Readonly<Record<string, unknown>>): WireEvent[] {
    if (event.event !== "on_chat_model_stream" || !isRecord(event.data)) return []
    if (Array.isArray(event.tags) && event.tags.includes("nostream")) return []
    const { chunk } = event.data
    if (!isChunk(chunk) || chunk.id === undefined) return []
    const before = this.#partials.get(chunk.id)
    const message = before === undefined ? chunk : before.concat(chunk)
    this.#partials.set(chunk.id, message)
    const partial = { name: "messages/partial", data: [message] }
    if (before !== undefined) return [partial]
    return [{ name: "messages/metadata", data: { [chunk.id]: { metadata: event.metadata } } }, partial]
  }

  /** The messages of the root's state that were not yet reported as complete. */
  onValues(values: unknown): WireEvent[] {
    if (!isRecord(values)) return []
    const messages = Object.values(values).flatMap((value) => (Array.isArray(value) ? value.filter(isMessage) : []))
    const fresh = messages.filter(({ id }) => id === undefined || !this.#completed.has(id))
    for (const { id } of fresh) if (id !== undefined) this.#completed.add(id)
    return fresh.length === 0 ? [] : [{ name: "messages/complete", data: fresh }]
  }
}

function isMessage(value: unknown): value is { readonly id?: string } {
  return isRecord(value) && typeof value.toDict === "function"
}

function isChunk(value: unknown): value is MessageChunk {
  return isMessage(value) && "concat" in value && typeof value.concat === "function"
}
