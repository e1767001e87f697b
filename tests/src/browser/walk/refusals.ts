/** Refused requests, and whether the page tells the person what was refused. */
import { heldWithin } from "@superstep/toolkit/testing/until"
import type { Page, Request, Response } from "playwright-core"

export interface Refusal {
  /** Where the page was when it asked. */
  readonly at: string
  /** Such as `GET /v2/deployments/…`. */
  readonly asked: string
  readonly status: number
  /** What a note about it contains: one of these. */
  readonly texts: readonly string[]
  /** By the clock of the page. */
  readonly failedAtMs: number
  /** Whether it is read, and the address had just changed: the page before may still ask. */
  readonly isAtArrival: boolean
}

/** A note on the page, and since when it says this. */
export interface Note {
  readonly text: string
  readonly sinceMs: number
}

export interface Refusals {
  /**
   * Waits for the replies to what was sent, for `graceMs` at most. Each refusal that the page has not told the person within `graceMs`, and
   * each change that has had no reply for `lostMs`, as a sentence.
   */
  untold(graceMs: number): Promise<string[]>
}

/** Replies that a page expects and shows as something other than an error. */
const answers: readonly RegExp[] = [
  // A git integration without a webhook: the page shows the form that sets one.
  /^GET \/v2\/integrations\/git\/[^/]+\/webhook 404$/,
]

/** Runs in each page before its scripts: notes since when each note has its text. */
export const watchNotes = `(() => {
  const selector = ".problem, .field-error, [role=alert], [role=status], .notice, .empty, .reason, .palette-none"
  const since = new WeakMap()
  const look = () => {
    for (const note of document.querySelectorAll(selector)) {
      const text = note.textContent.replace(/\\s+/g, " ").trim()
      if (since.get(note)?.text !== text) since.set(note, { text, sinceMs: Date.now() })
    }
  }
  new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true })
  globalThis.walkNotes = () => {
    look()
    return [...document.querySelectorAll(selector)].filter((note) => note.checkVisibility()).map((note) => since.get(note))
  }
})()`

export const pathOf = (page: Page): string => {
  const { pathname, search } = new URL(page.url())
  return pathname + search
}

/** For so long after a change of the address the page before may still be there. */
const arrivalMs = 1000

/** Until what was pressed has sent its request. */
const sendMs = 100

/**
 * Only of pages in a context to which `watchNotes` was added.
 * @param lostMs  longer than a request waits for an agent that starts
 */
export function watchRefusals(page: Page, lostMs = 60_000): Refusals {
  const askedAt = new WeakMap<Request, Place>()
  const coming: Promise<Refusal>[] = []
  const told: Refusal[] = []
  /** Changes without a reply, with the time of their sending. */
  const changing = new Map<Request, number>()
  /** What was refused at an arrival and not told, as `at asked`; the page was read anew then, to see whether it asks. */
  const doubted = new Set<string>()
  let movedMs = 0
  page.on("framenavigated", () => {
    movedMs = performance.now()
  })
  const placeNow = (request: Request) => ({
    at: pathOf(page),
    isAtArrival: isReading(request) && performance.now() - movedMs < arrivalMs,
  })
  // A reply may come after the person has gone on.
  page.on("request", (request) => {
    askedAt.set(request, placeNow(request))
    if (request.method() !== "GET") changing.set(request, performance.now())
  })
  page.on("requestfailed", (request) => changing.delete(request))
  page.on("response", (response) => {
    changing.delete(response.request())
    const place = askedAt.get(response.request()) ?? placeNow(response.request())
    if (response.status() >= 400) coming.push(refusalOf(response, place))
  })
  // After signing out a last request may fail: the form is what to do.
  const asksToSignIn = async ({ status }: Refusal) => status === 401 && (await page.locator(".sign-in").count()) > 0
  return {
    async untold(graceMs) {
      const sentences: string[] = []
      // Who closes a dialog before its reply has gone on, too. A stream's reply begins at once.
      await page.waitForTimeout(sendMs)
      const isAnswered = () => [...changing.values()].every((sentMs) => performance.now() - sentMs > graceMs)
      await heldWithin(isAnswered, graceMs)
      for (const [request, sentMs] of changing) {
        if (performance.now() - sentMs <= lostMs) continue
        changing.delete(request)
        sentences.push(`${nameOf(request)} has had no reply for ${lostMs / 1000} seconds`)
      }
      for (const refusal of await Promise.all(coming.splice(0))) {
        if (answers.some((answer) => answer.test(`${refusal.asked} ${refusal.status}`))) continue
        // The query of a page that the person has left repeats its request once.
        const isOfOtherPage = told.some(
          ({ at, asked, failedAtMs }) =>
            at !== refusal.at && asked === refusal.asked && refusal.failedAtMs - failedAtMs < graceMs,
        )
        told.push(refusal)
        if (isOfOtherPage) continue
        const isDone = async () =>
          pathOf(page) !== refusal.at || isTold(refusal, told, await notesOf(page)) || (await asksToSignIn(refusal))
        if (await heldWithin(isDone, graceMs)) continue
        const doubt = `${refusal.at} ${refusal.asked}`
        if (refusal.isAtArrival && !doubted.has(doubt)) {
          doubted.add(doubt)
          await page.reload()
        } else sentences.push(sentenceOf(refusal, await notesOf(page)))
      }
      return sentences
    },
  }
}

/**
 * Whether a note says what was refused. It has the refusal's text or code, and it appeared after the request failed, or after an earlier
 * one of the same page failed with the same text: such a note stays. Pure.
 */
export function isTold(refusal: Refusal, all: readonly Refusal[], notes: readonly Note[]): boolean {
  const same = all.filter(({ at, texts }) => at === refusal.at && texts[0] === refusal.texts[0])
  const since = Math.min(refusal.failedAtMs, ...same.map(({ failedAtMs }) => failedAtMs))
  return notes.some(({ text, sinceMs }) => sinceMs >= since && refusal.texts.some((one) => text.includes(one)))
}

const sentenceOf = ({ asked, status, texts }: Refusal, notes: readonly Note[]): string =>
  `${asked} was answered with ${status} (${texts.join("; ")}), and the page does not say so; it says: ${JSON.stringify(notes.map(({ text }) => text.slice(0, 80)))}`

// A page that is just being left has none.
const notesOf = async (page: Page): Promise<readonly Note[]> =>
  (await page.evaluate<readonly Note[]>("globalThis.walkNotes()").catch(unlessLeft)) ?? []

/** While the page changes to another one it shows nothing. @throws  every other error */
export function unlessLeft(error: unknown): null {
  if (/Execution context was destroyed|because of a navigation/.test(String(error))) return null
  throw error
}

/** Whether a page asks it by itself, and again when it is loaded anew. */
const isReading = (request: Request): boolean =>
  request.method() === "GET" || /\/(search|count|history|namespaces|versions)$/.test(new URL(request.url()).pathname)

/** Such as `GET /v2/deployments/…`. */
const nameOf = (request: Request): string => `${request.method()} ${new URL(request.url()).pathname}`

type Place = Pick<Refusal, "at" | "isAtArrival">

async function refusalOf(response: Response, place: Place): Promise<Refusal> {
  const request = response.request()
  const { startTime, responseStart } = request.timing()
  // A reply whose page has gone on cannot be read any more.
  const text = await response.text().catch(unlessGone)
  return {
    ...place,
    asked: nameOf(request),
    status: response.status(),
    texts: textsOf(response.status(), text),
    failedAtMs: Math.floor(startTime + Math.max(0, responseStart)),
  }
}

function unlessGone(error: unknown): string {
  if (/No resource with given identifier|No data found for resource|Response body is unavailable/.test(String(error)))
    return ""
  throw error
}

/** What the console says of a reply. @param body  usually `{ detail, code }`; of invalid input a list of `{ msg }`. Pure */
export function textsOf(status: number, body: string): string[] {
  const { detail, code } = parsed(body)
  const details =
    typeof detail === "string" ? [detail] : Array.isArray(detail) ? detail.map(({ msg }) => String(msg)) : []
  const texts = [...details, ...(typeof code === "string" ? [code] : [])].map((text) =>
    text.replace(/\s+/g, " ").trim(),
  )
  return texts.length > 0 ? texts : [`The server answered with ${status}.`]
}

function parsed(text: string): { readonly detail?: unknown; readonly code?: unknown } {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === "object" && body !== null ? body : {}
  } catch {
    return text === "" ? {} : { detail: text.slice(0, 300) }
  }
}
