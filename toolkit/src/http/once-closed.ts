import type { EventEmitter } from "node:events"

/** A `ServerResponse`, or the connection of a request for a WebSocket. */
export interface Outgoing extends Pick<EventEmitter, "once"> {
  readonly closed: boolean
  readonly destroyed: boolean
}

/**
 * Does work once when a response is over: sent, or its client has left. The client may have left already, for instance while it was
 * authenticated; then there is no event any more, and the work is done at once.
 */
export function onceClosed(outgoing: Outgoing, work: () => void): void {
  if (outgoing.closed || outgoing.destroyed) work()
  else outgoing.once("close", work)
}
