/**
 * Walks through the console like somebody who presses everything, chosen by a seed, and says what a user should never see: an uncaught
 * error, a refused request of which the page says nothing, something other than the API says.
 */
import { heldWithin } from "@superstep/toolkit/testing/until"
import type { Page } from "playwright-core"
import { type ConsoleBrowser, wideWindow } from "../console-page.js"
import { type Choice, choiceOf, locatorOf, press, settledChoices } from "./choices.js"
import { type Dice, diceOf } from "./dice.js"
import type { Furnishing } from "./furnishing.js"
import { typeKeys } from "./keyboard.js"
import { differenceOf } from "./lines.js"
import type { WalkLength } from "./options.js"
import { pathOf, unlessLeft, watchNotes, watchRefusals } from "./refusals.js"
import { linesOf, Refused, type Truth } from "./truths.js"

export interface WalkOptions extends WalkLength {
  readonly browser: ConsoleBrowser
  readonly furnishing: Furnishing
  /** After the walk has signed out. */
  readonly signInAgain: () => Promise<void>
  readonly seed: number
  readonly truths: readonly Truth[]
  /** Each step and each problem. */
  readonly say: (line: string) => void
}

export interface Walked {
  readonly steps: number
  /** How many of each role were pressed, `keyboard` and `phone` how many steps, `compared` how often a page was compared with the API. */
  readonly pressed: Readonly<Record<string, number>>
  /** Each with the address and what was done before. */
  readonly problems: readonly string[]
}

// A walk that stays in one corner sees little. A form takes some steps to fill in.
const [stepsPerPage, stepsPerDialog] = [10, 25]
const stepsPerComparison = 3
const pagesPerRestock = 5
const [keyboardShare, phoneShare] = [0.2, 0.25]
const phone = { width: 360, height: 740 }
/** How far a page may be behind the API, and how late it may show what was refused: 5 seconds, and the time of a reply. */
const graceMs = 6000
/** How long a page is compared that changes again and again. */
const patienceMs = 60_000

export async function walk(options: WalkOptions): Promise<Walked> {
  const { browser, furnishing, signInAgain, seed, truths, say } = options
  await browser.context.addInitScript({ content: watchNotes })
  const page = await browser.open("")
  const refusals = watchRefusals(page)
  const trail: string[] = []
  const problems: string[] = []
  const pressed: Record<string, number> = {}
  const end = performance.now() + (options.minutes ?? Number.POSITIVE_INFINITY) * 60_000
  const wantsMore = (steps: number) => steps < (options.steps ?? Number.POSITIVE_INFINITY) && performance.now() < end
  const count = (what: string) => {
    pressed[what] = (pressed[what] ?? 0) + 1
  }
  const report = (what: string) => {
    const repeat = `repeat: npm run walk -- --seed ${seed} --steps ${steps}`
    problems.push(`${what}\n  at ${pathOf(page)}\n  after ${trail.slice(-6).join(" › ")}\n  ${repeat}`)
    say(problems.at(-1) ?? "")
  }
  const mayPress = (choice: Choice) => furnishing.mayPress(choice, pathOf(page))
  let steps = 0
  let stepsHere = 0
  let visits = 0
  let isPhone = false

  const visit = async (dice: Dice) => {
    if (visits++ % pagesPerRestock === 0) await furnishing.restock()
    const path = dice.among(furnishing.pages(), nameOf, weightOf) ?? ""
    isPhone = dice.share("phone") < phoneShare
    trail.push(`/${path}${isPhone ? " on a phone" : ""}`)
    say(`${steps} opens ${trail.at(-1)}`)
    await page.setViewportSize(isPhone ? phone : wideWindow)
    await page.goto(new URL(`/${path}`, page.url()).href)
    await page.locator(".page, .sign-in").first().waitFor()
    stepsHere = 0
  }

  const act = async (dice: Dice): Promise<string | undefined> => {
    if (dice.share("keyboard") < keyboardShare) {
      count("keyboard")
      return typeKeys({ page, dice, mayPress })
    }
    const found = await settledChoices(page)
    const place = choiceOf(found, dice, mayPress)
    const choice = place === undefined ? undefined : found[place]
    if (place === undefined || choice === undefined) return undefined
    const done = await press(page, choice, locatorOf(page, place), dice)
    if (done === undefined) return undefined
    count(choice.role)
    return `${choice.role} “${choice.name}” ${done}`
  }

  const compare = async () => {
    const at = pathOf(page)
    for (const truth of truths) {
      const ids = truth.on.exec(at)?.slice(1)
      if (!ids) continue
      count("compared")
      const difference = await contradiction(page, truth, ids)
      if (difference !== undefined) report(difference)
    }
  }

  while (wantsMore(steps)) {
    const dice = diceOf(seed, ++steps)
    const hasDialog = (await page.locator("[role=dialog]").count()) > 0
    if ((await page.locator(".sign-in").count()) > 0) {
      if (!/sign out|\bend\b/i.test(trail.slice(-8).join())) report("the person was signed out")
      await signInAgain()
      stepsHere = stepsPerDialog
    }
    if (steps === 1 || stepsHere >= (hasDialog ? stepsPerDialog : stepsPerPage)) await visit(dice)
    stepsHere++
    if (isPhone) count("phone")
    const done = await act(dice)
    if (done !== undefined) trail.push(done)
    say(`${steps} ${pathOf(page)} ${done ?? "nothing"}`)
    for (const line of await refusals.untold(graceMs)) report(line)
    for (const error of browser.problems.splice(0)) if (!isOfReply(error)) report(`an error was not caught: ${error}`)
    if (steps % stepsPerComparison === 0) await compare()
  }
  await page.close()
  // A walk that takes no step finds nothing.
  if (steps === 0) problems.push("the walk has taken no step")
  return { steps, pressed, problems }
}

/** Of a page: ids differ from walk to walk. */
const nameOf = (path: string): string => path.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "…")

/** Where most can be changed for good. */
const weightOf = (path: string): number => (/settings$|revisions$/.test(path) ? 3 : 1)

/** Chromium's own note about a refused request, which is judged by what the page says of it. */
const isOfReply = (problem: string): boolean => /^Failed to load resource|^WebSocket connection to /.test(problem)

/** What differs from the API, which has said the same for longer than the page may be behind. */
async function contradiction(page: Page, truth: Truth, ids: readonly string[]): Promise<string | undefined> {
  const at = pathOf(page)
  let said = ""
  let sinceMs = performance.now()
  const judged = async () => {
    const now = await compared(page, truth, ids)
    if (now === undefined || pathOf(page) !== at) return { difference: undefined }
    if (now.said !== said) {
      said = now.said
      sinceMs = performance.now()
    }
    return performance.now() - sinceMs > graceMs && now
  }
  // What changes all the time cannot be judged.
  return (await heldWithin(judged, patienceMs))?.difference
}

/** @returns  undefined when the page agrees, or has said that it could not be read and the API refuses, too */
async function compared(page: Page, truth: Truth, ids: readonly string[]) {
  const shown = await linesOf(page, truth).catch(unlessLeft)
  if (shown === null) return undefined
  const said = await truth.said(ids).catch(unlessRefused)
  if (said instanceof Refused) {
    const isSaid = (await page.locator(".problem").count()) > 0
    const difference = `the API refuses (${said.message}), and the page does not say so`
    return isSaid ? undefined : { said: said.message, difference }
  }
  // A page that has failed stays so until the person tries again.
  const failure = await page.evaluate<string | null>(tryAgain).catch(unlessLeft)
  const difference =
    failure === null
      ? differenceOf(shown, said, truth.isPart)
      : `the API answers, and the page has failed: “${failure}”`
  return difference === undefined ? undefined : { said: said.join("\n"), difference }
}

/** In a page: presses “Try again” where it says that something could not be read. What it says; null when nothing failed. */
const tryAgain = `(() => {
  for (const problem of document.querySelectorAll(".problem")) {
    const again = [...problem.querySelectorAll("button")].find((one) => one.textContent.trim() === "Try again")
    if (!again) continue
    const said = problem.textContent
    again.click()
    return said
  }
  return null
})()`

function unlessRefused(error: unknown): Refused {
  if (error instanceof Refused) return error
  throw error
}
