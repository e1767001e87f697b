/** Messages that a lost attempt had begun to say. The next attempt says them again, under other ids. Pure. */
import type { RawMessage } from "./messages.js"

/** @returns the ids of the answers that the state does not have */
export const unfinishedIds = (messages: readonly RawMessage[], state: unknown): string[] =>
  messages
    .filter((message) => message.type === "ai" && !isIn(state, message))
    .flatMap(({ id }) => (id === undefined ? [] : [id]))

/** The conversation without what a lost attempt had begun. @param lost  ids that were unfinished when the next attempt began */
export const withoutLost = (messages: readonly RawMessage[], lost: ReadonlySet<string>): readonly RawMessage[] =>
  messages.filter(({ id }) => id === undefined || !lost.has(id))

const isIn = (state: unknown, { id }: RawMessage): boolean =>
  Array.isArray(state) && state.some((message: RawMessage) => message.id === id)
