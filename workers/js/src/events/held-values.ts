/** Values and their checkpoints wait here for each other, and the first values of a subgraph for its first task. Pure. */

import type { Namespace } from "./protocol-event.js"
import type { WireEvent } from "./wire-event.js"

interface Held {
  readonly namespace: Namespace
  readonly events: WireEvent[]
  /** Whether the last event is a `values` whose checkpoint has not come. */
  awaitsCheckpoint: boolean
}

export class HeldValues {
  readonly #checkpointsFollow: boolean
  readonly #held = new Map<string, Held>()

  /** @param checkpointsFollow  whether a checkpoint comes after its values, and not before */
  constructor(checkpointsFollow: boolean) {
    this.#checkpointsFollow = checkpointsFollow
  }

  /**
   * @param isStarted  whether the subgraph's start is already sent
   * @returns  the events to send now
   */
  values(namespace: Namespace, event: WireEvent, isStarted: boolean): WireEvent[] {
    if (isStarted && !this.#checkpointsFollow) return [...this.release(namespace), event]
    const held = this.#in(namespace)
    held.events.push(event)
    held.awaitsCheckpoint = this.#checkpointsFollow
    return []
  }

  /** A checkpoint without values is not sent. */
  checkpoint(namespace: Namespace, event: WireEvent, isStarted: boolean): WireEvent[] {
    if (!this.#checkpointsFollow) {
      this.#in(namespace).events.push(event)
      return []
    }
    const held = this.#held.get(namespace.join("|"))
    if (held === undefined || !held.awaitsCheckpoint) return []
    held.events.splice(-1, 0, event)
    held.awaitsCheckpoint = false
    return isStarted ? this.release(namespace) : []
  }

  namespaces(): Namespace[] {
    return [...this.#held.values()].map(({ namespace }) => namespace)
  }

  /** What waits in a namespace; called when it sends another event, too. */
  release(namespace: Namespace): WireEvent[] {
    const key = namespace.join("|")
    const held = this.#held.get(key)
    this.#held.delete(key)
    return held?.events ?? []
  }

  #in(namespace: Namespace): Held {
    const key = namespace.join("|")
    const held = this.#held.get(key) ?? { namespace, events: [], awaitsCheckpoint: false }
    this.#held.set(key, held)
    return held
  }
}
