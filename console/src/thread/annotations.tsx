/** What stands in a conversation beside its messages: questions with their answers, and the versions of what people said. */
import { Fragment, type ReactNode, useMemo } from "react"
import type { TreeItem } from "../time-travel/checkpoint-tree.js"
import { type Checkpoints, lineOf, messagesIn, type Turn, turnsOf } from "./branches.js"
import { ExchangeView } from "./exchange-view.js"
import { exchangesOf, type GivenAnswer } from "./exchanges.js"

interface Given {
  readonly threadId: string
  readonly answers: readonly GivenAnswer[]
  readonly items: Checkpoints
  /** The checkpoint that is shown. */
  readonly tip: TreeItem | undefined
  /** The field of the state that has the messages. */
  readonly messagesKey: string
  /** Whether the open questions of the tip are shown elsewhere. */
  readonly hidesOpen: boolean
}

export interface Annotations {
  /** By the ids of human messages. */
  readonly turns: ReadonlyMap<string, Turn>
  /** What is shown behind the message with the id; "" for what is before all messages. */
  readonly between: ReadonlyMap<string, ReactNode>
}

export function useAnnotations({ threadId, answers, items, tip, messagesKey, hidesOpen }: Given): Annotations {
  const line = useMemo(() => lineOf(items, tip), [items, tip])
  const turns = useMemo(() => turnsOf(items, line, messagesKey), [items, line, messagesKey])
  const between = useMemo(() => {
    const places = new Map<string, ReactNode[]>()
    for (const exchange of exchangesOf(items, line, answers)) {
      if (exchange.isOpen && hidesOpen) continue
      const checkpoint = items.get(exchange.checkpointId)
      const place = (checkpoint && messagesIn(checkpoint, messagesKey).at(-1)?.id) ?? ""
      const view = <ExchangeView threadId={threadId} exchange={exchange} />
      places.set(place, [...(places.get(place) ?? []), <Fragment key={exchange.key}>{view}</Fragment>])
    }
    return places
  }, [items, line, answers, hidesOpen, messagesKey, threadId])
  return { turns, between }
}
