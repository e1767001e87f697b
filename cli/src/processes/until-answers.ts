/** Waits until a server answers: asked often, since every start in this house takes about a second. */
import { setTimeout as sleep } from "node:timers/promises"

const pollMs = 25

export interface Question {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Looks at an answer; a success is enough unless told. */
  readonly isReady?: (response: Response) => boolean
}

/**
 * Asks until the answer is the awaited one.
 * @param gaveUp  resolves when waiting has lost its sense: the process ended, or the user stopped it
 * @returns       whether it came
 */
export async function untilAnswers(question: Question, gaveUp: Promise<unknown>): Promise<boolean> {
  let over = false
  void gaveUp.then(() => {
    over = true
  })
  while (!over) {
    if (await answers(question)) return true
    await sleep(pollMs)
  }
  return false
}

/** @returns whether the address gives such an answer now */
export async function answers({ url, headers = {}, isReady = ({ ok }) => ok }: Question): Promise<boolean> {
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(2000) })
    await response.body?.cancel()
    return isReady(response)
  } catch {
    // Not there yet, or gone again; the next look tells.
    return false
  }
}
