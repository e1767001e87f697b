/** Waits until a server answers: asked often, since every start in this house takes about a second. */
import { setTimeout as sleep } from "node:timers/promises"

const pollMs = 25

/**
 * Asks until the answer is a success.
 * @param gaveUp  resolves when waiting has lost its sense: the process ended, or the user stopped it
 * @returns       whether it answered
 */
export async function untilAnswers(url: string, gaveUp: Promise<unknown>): Promise<boolean> {
  let over = false
  void gaveUp.then(() => {
    over = true
  })
  while (!over) {
    if (await answers(url)) return true
    await sleep(pollMs)
  }
  return false
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) })
    await response.body?.cancel()
    return response.ok
  } catch {
    // Not there yet; the next look tells.
    return false
  }
}
