/** Which events of a run a client wants: by mode, by namespace, or all. Pure. */
import { resultEvent, stateEvent } from "./event.js"
import { isProtocolEvent } from "./protocol-event.js"

export interface Wanted {
  /**
   * Requested stream modes. `messages-tuple` selects the event `messages`; `messages` selects the events `messages/…`. A
   * name with a namespace, such as `updates|sub:<task>`, selects only that event (agent-server-api §7.10).
   */
  readonly modes?: readonly string[] | undefined
  /** Graphs whose events are wanted, each without its subgraphs: `""` is the root, else `sub:<task>|inner:<task>`. */
  readonly namespaces?: readonly string[] | undefined
}

// Events about the run as a whole go to every client.
const always = new Set(["metadata", "error", "end", "feedback"])

/** @returns whether a client gets an event of this name */
export function eventFilter({ modes, namespaces }: Wanted): (event: string) => boolean {
  if (modes === undefined && namespaces === undefined) return isPublic
  const wantedModes = modes && new Set(modes.map(eventOf))
  const wantedNamespaces = namespaces && new Set(namespaces)
  return (event) => {
    const [mode = "", ...namespace] = event.split("|")
    if (always.has(mode)) return true
    const isOfMode = wantedModes === undefined || wantedModes.has(event) || wantedModes.has(kindOf(mode))
    return isPublic(event) && isOfMode && (wantedNamespaces === undefined || wantedNamespaces.has(namespace.join("|")))
  }
}

/** Whether the run's own stream contains this event. */
export const isPublic = (event: string): boolean =>
  event !== resultEvent && event !== stateEvent && !isProtocolEvent(event)

/** The older message mode has three events, which count as one kind. */
const kindOf = (mode: string): string => (mode.startsWith("messages/") ? "messages/" : mode)

function eventOf(asked: string): string {
  if (asked === "messages") return "messages/"
  return asked.replace(/^messages-tuple(?=$|\|)/, "messages")
}
