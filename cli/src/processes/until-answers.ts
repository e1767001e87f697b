/**
 * Waits until a server that we started answers: asked often, since every start in this house takes about a second. It is
 * on this machine, at an address that a certificate need not name, so nobody's certificate is looked at.
 */
import { get as getPlainly, type IncomingMessage } from "node:http"
import { get as getSecurely } from "node:https"
import { setTimeout as sleep } from "node:timers/promises"

const pollMs = 25
const patienceMs = 2000

export interface Question {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Looks at an answer; a success is enough unless told. */
  readonly isReady?: (status: number) => boolean
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
export function answers({ url, headers = {}, isReady = isGood }: Question): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { headers, agent: false, rejectUnauthorized: false, signal: AbortSignal.timeout(patienceMs) }
    const hear = (response: IncomingMessage) => {
      response.destroy()
      resolve(isReady(response.statusCode ?? 0))
    }
    const asked = url.startsWith("https:") ? getSecurely(url, options, hear) : getPlainly(url, options, hear)
    // Not there yet, or gone again; the next look tells.
    asked.on("error", () => resolve(false))
  })
}

const isGood = (status: number): boolean => status >= 200 && status < 300
