/** How pages ask many agents, again and again: some at a time, and one that does not answer in time is given up. */
import { limited } from "../forms/limited.js"

// A browser sends about as many requests to one address at a time.
const mostAtOnce = 6
// An agent that is slower is named, and asked again.
const answerMs = 10_000

const inTurn = limited(mostAtOnce)

/**
 * @param ask     its signal ends what has taken too long
 * @param signal  of who waits for the answer
 * @throws Error  the agent has not answered in time
 */
export const askInTurn = <Answer>(
  ask: (signal: AbortSignal) => Promise<Answer>,
  signal?: AbortSignal | null,
): Promise<Answer> =>
  inTurn(async () => {
    signal?.throwIfAborted()
    const late = AbortSignal.timeout(answerMs)
    try {
      return await ask(signal ? AbortSignal.any([signal, late]) : late)
    } catch (error) {
      throw late.aborted ? new Error(`It has not answered within ${answerMs / 1000} s.`) : error
    }
  })
