/** Waits until a server answers: asked often, since every start in this house takes about a second. */
import { setTimeout as sleep } from "node:timers/promises"

const pollMs = 25

type Check = (response: Response) => boolean | Promise<boolean>

/**
 * Asks until the answer is the awaited one.
 * @param gaveUp   resolves when waiting has lost its sense: the process ended, or the user stopped it
 * @param isReady  looks at an answer; a success is enough unless told
 * @returns        whether it came
 */
export async function untilAnswers(url: string, gaveUp: Promise<unknown>, isReady?: Check): Promise<boolean> {
  let over = false
  void gaveUp.then(() => {
    over = true
  })
  while (!over) {
    if (await answers(url, isReady)) return true
    await sleep(pollMs)
  }
  return false
}

/** @returns whether the address gives such an answer now */
export async function answers(url: string, isReady: Check = ({ ok }) => ok): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) })
    const ready = await isReady(response)
    if (!response.bodyUsed) await response.body?.cancel()
    return ready
  } catch {
    // Not there yet, or gone again; the next look tells.
    return false
  }
}
