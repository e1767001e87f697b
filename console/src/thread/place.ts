/** What the address of a thread's page says, and the page's title. Pure. */
import { type RawSearch, textIn } from "../frame/search.js"

/** `checkpoint`: the one that is looked at; undefined for the present state. */
export const placeIn = (raw: RawSearch) => ({ checkpoint: textIn(raw, "checkpoint") })

/** Ids begin with the time, so those of one day differ at their ends. */
export const titleOf = (threadId: string): string => `Thread ${threadId.slice(-8)}`
