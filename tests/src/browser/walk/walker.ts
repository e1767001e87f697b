/**
 * Walks through the console like somebody who presses everything, chosen by a seed, and says what a user should never see: an uncaught
 * error, a refused request of which the page says nothing, something other than the API says.
 */
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { until } from "@superstep/toolkit/testing/until"
import type { Page, Request, Response } from "playwright-core"
import type { ConsoleBrowser } from "../console-page.js"
import { choose, press } from "./choices.js"
import type { Truth } from "./truths.js"

export interface WalkOptions {
  readonly browser: ConsoleBrowser
  /** Where the walk begins, and where it goes on from time to time. */
  readonly pages: readonly string[]
  readonly seed: number
  readonly wantsMore: () => boolean
  readonly truths: readonly Truth[]
  readonly say: (line: string) => void
}

export interface Walked {
  readonly steps: number
  /** How many of each role were pressed. */
  readonly pressed: Readonly<Record<string, number>>
  /** Each with the address and what was done before. */
  readonly problems: readonly string[]
}

// A walk that stays in a dialog, or in one corner, sees little.
const stepsPerPage = 10
const stepsPerComparison = 3
/** How far a page may be behind the API, and how late it may show what was refused. */
const graceMs = 5000

export async function walk({ browser, pages, seed, wantsMore, truths, say }: WalkOptions): Promise<Walked> {
  const random = seededRandom(seed)
  const page = await browser.open("")
  const trail: string[] = []
  const problems: string[] = []
  const pressed: Record<string, number> = {}
  const refused: Refusal[] = []
  // A reply may come after the person has gone on.
  const askedAt = new WeakMap<Request, string>()
  page.on("request", (request) => askedAt.set(request, pathOf(page)))
  page.on("response", (response) => {
    if (response.status() >= 400) refused.push({ response, at: askedAt.get(response.request()) ?? pathOf(page) })
  })
  const uncaught: string[] = []
  page.on("pageerror", (error) => uncaught.push(String(error)))
  const report = (what: string) => {
    problems.push(`${what}\n  at ${pathOf(page)}\n  after ${trail.slice(-6).join(" › ")}`)
    say(problems.at(-1) ?? "")
  }
  let steps = 0
  while (wantsMore()) {
    if (steps++ % stepsPerPage === 0) {
      const path = random.pick(pages)
      trail.push(`/${path}`)
      await page.goto(new URL(`/${path}`, page.url()).href)
      await page.locator(".page, .sign-in").first().waitFor()
    }
    const choice = await choose(page, random)
    if (choice && (await press(page, choice, random))) {
      trail.push(`${choice.role} “${choice.name}”`)
      pressed[choice.role] = (pressed[choice.role] ?? 0) + 1
    }
    for (const refusal of refused.splice(0)) if (await isHidden(page, refusal)) report(textOf(refusal))
    for (const error of uncaught.splice(0)) report(`an error was not caught: ${error}`)
    if (steps % stepsPerComparison === 0) for (const line of await contradictions(page, truths)) report(line)
  }
  await page.close()
  return { steps, pressed, problems }
}

interface Refusal {
  readonly response: Response
  /** Where the page was. */
  readonly at: string
}

const pathOf = (page: Page): string => {
  const { pathname, search } = new URL(page.url())
  return pathname + search
}

const textOf = ({ response }: Refusal): string =>
  `${response.request().method()} ${response.url()} was answered with ${response.status()}, and the page does not say so`

/** What says to a person that something was refused. */
const notes = (page: Page) => page.locator(".problem, .field-error, [role=alert], .notice, .empty")

/** Not when the person has gone on to another page. */
async function isHidden(page: Page, { at }: Refusal): Promise<boolean> {
  const isSettled = async () => pathOf(page) !== at || (await notes(page).count()) > 0
  return until(isSettled, { what: "the page says what was refused", timeoutMs: graceMs }).then(
    () => false,
    () => true,
  )
}

async function contradictions(page: Page, truths: readonly Truth[]): Promise<string[]> {
  const at = pathOf(page)
  const found: string[] = []
  for (const { on, compare } of truths) {
    const match = on.exec(at)
    if (!match) continue
    let last: readonly [shown: string, said: string] = ["", ""]
    const isSame = async () => {
      if (pathOf(page) !== at || (await page.locator(".problem").count()) > 0) return true
      // What the API refuses, such as a paused agent, the page must show as a problem.
      last = await compare(page, match.slice(1)).catch((error) => ["no problem", String(error)] as const)
      return last[0] === last[1]
    }
    await until(isSame, { what: "the page agrees with the API", timeoutMs: graceMs }).catch(() => {
      found.push(`the page shows “${last[0]}”, the API says “${last[1]}”`)
    })
  }
  return found
}
