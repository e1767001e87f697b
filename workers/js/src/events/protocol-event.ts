/** Protocol events as the worker's events: their name and their text (protocol/worker README, "Protocol events"). */
import type { SharedJson, WireEvent } from "./wire-event.js"

export type Namespace = readonly string[]

export interface ProtocolParts {
  /** `values`, `messages`, `custom:<name>` … */
  readonly channel: string
  readonly namespace: Namespace
  readonly node?: string
  /** The graph's value that the event shows. Events that report an interrupt are recognised by it. */
  readonly data?: unknown
  /** The JSON of the event's data, when it is not that of `data`. */
  readonly text?: string
  /** The JSON of `data`, if another event shows it, too. */
  readonly json?: SharedJson | undefined
  /** What stands before and after the JSON of `data`. */
  readonly around?: readonly [string, string]
  readonly timestampMs?: number
}

export function protocolEvent(parts: ProtocolParts): WireEvent {
  const { channel, namespace, node, data, text, json, around = ["", ""], timestampMs = Date.now() } = parts
  const method = channel.startsWith("custom:") ? "custom" : channel
  const named = node === undefined ? "" : `,"node":${JSON.stringify(node)}`
  const path = JSON.stringify(namespace)
  const head = `{"method":"${method}","params":{"namespace":${path},"timestamp":${timestampMs}${named},"data":`
  const name = ["protocol:", channel, ...namespace.map((segment) => `|${segment}`)].join("")
  if (text !== undefined) return { name, data, text: `${head}${text}}}` }
  const shared = json === undefined ? {} : { json }
  return { name, data, around: [`${head}${around[0]}`, `${around[1]}}}`], ...shared }
}
