/** Messages between the servers of one database. Pure. */

/** A waiting run that could start now. */
export interface WaitingRun {
  /** The revision that may execute it; null: any server. */
  readonly revisionId: string | null
  /** It needs its own worker (server/src/runs/README.md, R9). */
  readonly runsAlone: boolean
}

/** A running run that must stop. */
export interface StoppingRun {
  readonly runId: string
  /** The server that holds its claim. */
  readonly serverId: string
}

/** How many more runs a server can start. */
export interface Room {
  readonly freeSlots: number
  /** Free slots for runs that need their own worker. */
  readonly freeSoloSlots: number
}

/** A server that claims runs. */
export interface Claimer {
  readonly serverId: string
  /** The server's revision; null: the server may execute every run. */
  readonly revisionId: string | null
  /** How long a claim, and the lease of the server, last without renewal, in milliseconds. */
  readonly leaseMs: number
}

/** The channel of messages to one server. */
export const channelOf = (serverId: string): string => `server_${serverId}`

/** The messages on that channel. */
export type Message =
  | { readonly kind: "look"; readonly runsAlone: boolean }
  | { readonly kind: "cancel"; readonly runId: string }

export const messageText = (message: Message): string =>
  message.kind === "cancel" ? `cancel ${message.runId}` : message.runsAlone ? "look alone" : "look"

/** @returns undefined for a message of a newer release */
export function parseMessage(text: string): Message | undefined {
  const [kind, detail = ""] = text.split(" ")
  if (kind === "cancel") return { kind, runId: detail }
  if (kind === "look") return { kind, runsAlone: detail === "alone" }
  return undefined
}
