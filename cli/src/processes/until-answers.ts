/**
 * Waits until a server that we started answers. It polls often, since a start takes about a second. The server is on this
 * machine, at an address that its certificate need not name, so certificates are not verified.
 */
import { get as getPlainly, type IncomingMessage } from "node:http"
import { get as getSecurely } from "node:https"
import { setTimeout as sleep } from "node:timers/promises"

const pollMs = 25
const patienceMs = 2000

export interface Question {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Asks until the answer is a success.
 * @param gaveUp  resolves when the process has ended or the user has stopped it
 * @returns       false when it gave up
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

/** @returns whether the address answers with a 2xx now */
export function answers({ url, headers = {} }: Question): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { headers, agent: false, rejectUnauthorized: false, signal: AbortSignal.timeout(patienceMs) }
    const hear = (response: IncomingMessage) => {
      response.destroy()
      resolve(isSuccess(response.statusCode ?? 0))
    }
    const asked = url.startsWith("https:") ? getSecurely(url, options, hear) : getPlainly(url, options, hear)
    // Not up yet, or gone again; the next poll shows.
    asked.on("error", () => resolve(false))
  })
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300
