/**
 * The messages of one run as protocol events. A message is open from its first chunk until its task ends or returns it; then it
 * is forgotten. No message stays open: what was started is finished, or ends with `error`.
 */
import { isRecord } from "@superstep/protocol/worker/validate"
import { type ContentMessage, slicesOf, wholeBlocks } from "./content-slices.js"
import { MessageStream } from "./message-stream.js"
import { type Namespace, protocolEvent } from "./protocol-event.js"
import type { WireEvent } from "./wire-event.js"

interface OpenMessage {
  readonly stream: MessageStream
  /** The task that makes the message: it ends with it. */
  readonly task: Namespace
}

/** A tool's result is on the channel `tools`, and in `values`. */
const unshownTypes = new Set(["tool", "remove"])

export class ProtocolMessages {
  readonly #open = new Map<string, OpenMessage>()

  /** @param payload  of the stream mode `messages`: a message or a chunk of one, and its metadata */
  take(graph: Namespace, payload: unknown): WireEvent[] {
    if (!Array.isArray(payload) || !isContentMessage(payload[0])) return []
    const [message, metadata]: unknown[] = payload
    if (!isContentMessage(message) || message.id === undefined) return []
    const { id } = message
    const type = message.getType?.() ?? "ai"
    if (unshownTypes.has(type)) return []
    const now = Date.now()
    const known = this.#open.get(id)
    const open = known ?? { stream: new MessageStream({ id, ...roleOf(type) }), task: taskOf(metadata) ?? graph }
    if (known === undefined) this.#open.set(id, open)
    const texts = known === undefined ? [open.stream.start()] : []
    const isChunk = "concat" in message
    // A whole message with the id of an open one repeats its content.
    const slices = isChunk ? slicesOf(message) : known === undefined ? wholeBlocks(message) : []
    for (const slice of slices) texts.push(...open.stream.content(slice, now))
    if (message.usage_metadata) texts.push(open.stream.usage(message.usage_metadata))
    const reason = message.response_metadata?.finish_reason ?? message.response_metadata?.stop_reason
    if (typeof reason === "string") open.stream.reason(reason)
    const events = texts.map((text) => messageEvent(open, text, now))
    return !isChunk || message.chunk_position === "last" ? [...events, ...this.#finish(id)] : events
  }

  /** Finishes the messages that a node has returned. @param update  the node's result */
  returned(update: unknown): WireEvent[] {
    if (this.#open.size === 0 || !isRecord(update)) return []
    return Object.values(update)
      .flat()
      .flatMap((value) => (isRecord(value) && typeof value.id === "string" ? this.#finish(value.id) : []))
  }

  /**
   * Ends the messages of a task and of what it called.
   * @param failure  why they will not be completed; undefined when they are complete
   */
  end(task: Namespace, failure?: string): WireEvent[] {
    if (this.#open.size === 0) return []
    return [...this.#open].flatMap(([id, open]) => {
      if (!task.every((segment, index) => open.task[index] === segment)) return []
      return failure === undefined ? this.#finish(id) : this.#close(id, (stream) => [stream.fail(failure)])
    })
  }

  #finish(id: string): WireEvent[] {
    return this.#close(id, (stream) => stream.finish())
  }

  #close(id: string, last: (stream: MessageStream) => string[]): WireEvent[] {
    const open = this.#open.get(id)
    if (open === undefined) return []
    this.#open.delete(id)
    return last(open.stream).map((text) => messageEvent(open, text, Date.now()))
  }
}

const messageEvent = ({ task }: OpenMessage, text: string, timestampMs: number): WireEvent =>
  protocolEvent({ channel: "messages", namespace: task, text, timestampMs })

const isContentMessage = (value: unknown): value is ContentMessage => isRecord(value) && "content" in value

const roleOf = (type: string) => (type === "ai" ? {} : { role: type })

/** The path of the task that a message was made in. */
function taskOf(metadata: unknown): Namespace | undefined {
  const ns = isRecord(metadata) ? metadata.langgraph_checkpoint_ns : undefined
  return typeof ns === "string" ? ns.split("|") : undefined
}
