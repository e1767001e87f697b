/** What went wrong, as a sentence, its code, and what to do next. */

import { type ReactNode, useContext } from "react"
import { ApiError } from "../requests/api-error.js"
import { agentFailureOf } from "../requests/client-error.js"
import { type Explained, entryAddress } from "../requests/explained.js"
import { HomeContext } from "../requests/home.js"
import { TriangleAlert } from "./icons.js"

/** The code of an error, which leads to its entry in the documentation. */
export function ErrorCode({ explained }: { explained: Explained }) {
  const address = entryAddress(explained, useContext(HomeContext))
  const code = <code>{explained.code}</code>
  if (address === undefined) return code
  return (
    <a className="error-code" href={address} target="_blank" rel="noreferrer">
      {code}
    </a>
  )
}

export interface ProblemProps {
  readonly error: unknown
  readonly next?: string | undefined
  /** Where the error is explained, if the error itself does not say it. */
  readonly explained?: Explained | undefined
  readonly action?: ReactNode
}

export function Problem({ error, next, explained, action }: ProblemProps) {
  const shown = agentFailureOf(error) ?? error
  // An error that says itself what to do knows more than the page.
  const ownNext = shown instanceof ApiError ? shown.next : undefined
  const entry = explained ?? (shown instanceof ApiError ? shown.explained : undefined)
  return (
    <div className="problem" role="alert">
      <TriangleAlert size={16} aria-hidden />
      <div>
        <p>{shown instanceof Error ? shown.message : String(shown)}</p>
        <p className="problem-next">
          {ownNext ?? next ?? nextStepOf(shown)} {entry && <ErrorCode explained={entry} />}
        </p>
        {action}
      </div>
    </div>
  )
}

const whereOf = ({ requestId }: ApiError): string =>
  requestId === undefined ? "see the log of the server" : `search the log of the server for request ${requestId}`

function nextStepOf(error: unknown): string {
  if (error instanceof ApiError && error.status === 401) return "Sign in to the console, then open this page again."
  if (error instanceof ApiError && error.status === 403)
    return "Use a key with more rights, or ask an admin of the workspace."
  if (error instanceof ApiError && error.status === 404) return "It may have been deleted. Go back to the list."
  if (error instanceof ApiError && error.status >= 500)
    return `Try again in a moment. If it happens again, ${whereOf(error)}.`
  if (error instanceof ApiError) return "Change what the message names, then try again."
  if (error instanceof TypeError) return "Check that Superstep is running and that you are online, then try again."
  return "Load the page again. If it happens again, please report it."
}
