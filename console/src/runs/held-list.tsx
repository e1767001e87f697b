/** Below a list of runs that does not read on by itself: why, and the button that lets it. */
import { Button } from "../frame/button.js"
import { exactly } from "../frame/time-text.js"
import type { Runs } from "./use-runs.js"

export function HeldList({ list: { hasMore, isHeld, pausedAt, readMore, askAgain } }: { list: Runs }) {
  if (!hasMore || !isHeld) return null
  return (
    <p className="runs-more">
      {pausedAt !== undefined && `Nothing more is found back to ${exactly(pausedAt)}. `}
      {pausedAt === undefined ? (
        <Button onPress={askAgain}>Try again</Button>
      ) : (
        <Button onPress={readMore}>Look further back</Button>
      )}
    </p>
  )
}
