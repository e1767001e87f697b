/** Where an error is explained: the page `errors` of the documentation has an entry for each code. Pure. */
import type { Home } from "./home.js"

/** A code with the address of its entry, as servers say it. */
export interface Explained {
  readonly code: string
  /** `doc_url` of a reply, such as `docs/errors.md#thread_busy`. */
  readonly docUrl: string
}

/** @returns  undefined for an error without an entry, such as an exception of a graph */
export const explainedOf = (code: unknown, docUrl: unknown): Explained | undefined =>
  typeof code === "string" && code !== "" && typeof docUrl === "string" ? { code, docUrl } : undefined

/**
 * The address of the entry that this page may link to. Agents write replies too, with any text: only the entry's name is taken from it. One
 * agent alone (`superstep dev`) serves no documentation, so there is nothing to link to until it is published.
 */
export function entryAddress({ docUrl }: Explained, home: Pick<Home, "home" | "base"> | undefined): string | undefined {
  const anchor = /#([a-z0-9_-]+)$/.exec(docUrl)?.[1]
  if (home?.home === "platform" && anchor !== undefined) return new URL(`docs/errors#${anchor}`, home.base).href
  return home?.home === "agent" && docUrl.startsWith("https://") ? docUrl : undefined
}
