/** How the platform is, in a word. Pure. */

import type { Tone } from "../frame/badge.js"
import { ApiError } from "../requests/api-error.js"

export interface Findings {
  /** Why the health, or what an operator sees, could not be read the last time. */
  readonly error: unknown
  /** Whether all of it was read at least once. */
  readonly isRead: boolean
  readonly problems: readonly string[]
}

export interface Verdict {
  readonly tone: Tone
  readonly text: string
}

/** Only an answer says that all is well: none, or an old one, does not. */
export function verdictOf({ error, isRead, problems }: Findings): Verdict {
  if (error instanceof ApiError) return { tone: "bad", text: "Not healthy" }
  if (error) return { tone: "bad", text: "No answer" }
  if (!isRead) return { tone: "idle", text: "Checking" }
  return problems.length > 0 ? { tone: "warn", text: "Needs a look" } : { tone: "good", text: "All is well" }
}
