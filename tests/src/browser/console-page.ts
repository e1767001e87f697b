/** The console in a headless Chromium, and what the tests of its pages share. */
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { type BrowserContext, chromium, type Page, type Route } from "playwright-core"
import { chromiumFlags, chromium as chromiumPath } from "./front-ends.js"

/** Why a test of the console cannot run; false when it can. */
export const noChromium =
  chromiumPath === "" ? "no Chromium: .ci/run installs it and sets SUPERSTEP_TEST_CHROMIUM" : false

/** Also used for sizes of windows, so that a test says what it looks at. */
export const wideWindow = { width: 1440, height: 900 }

export interface ConsoleBrowser extends AsyncDisposable {
  readonly context: BrowserContext
  /** Opens a page of the console in a tab of its own. @param path  from the console's start, such as `threads` */
  open(path: string): Promise<Page>
  closePages(): Promise<void>
  /** Errors of all pages: exceptions, what they wrote to their console as errors, violations of the content policy. */
  readonly problems: string[]
}

/** @param start  the address of the console, with a slash at its end */
export async function openConsole(start: string): Promise<ConsoleBrowser> {
  const context = await chromium.launchPersistentContext(join(temporaryFolder(), randomUUID()), {
    executablePath: chromiumPath,
    headless: true,
    args: chromiumFlags,
    viewport: wideWindow,
    reducedMotion: "reduce",
  })
  context.setDefaultTimeout(timeoutMs)
  const problems: string[] = []
  const note = (problem: string) => !isOfMachine(problem) && problems.push(problem)
  context.on("weberror", (error) => note(String(error.error())))
  context.on("console", (message) => message.type() === "error" && note(message.text()))
  const open = async (path: string) => {
    const page = await context.newPage()
    const visit = () => page.goto(new URL(path, start).href).catch(unlessOfMachine)
    await until(visit, { what: `the page ${path} is loaded` })
    return page
  }
  const closePages = async () => {
    for (const page of context.pages()) await page.close()
  }
  return { context, open, closePages, problems, [Symbol.asyncDispose]: () => context.close() }
}

/**
 * Holds requests, as a slow network does, until the returned function is called.
 * @param end  what then becomes of a request; it goes on by default
 */
export async function holdRequests(
  of: Page | BrowserContext,
  pattern: string | RegExp,
  end = (route: Route) => route.continue(),
): Promise<() => void> {
  let release = () => {}
  const isReleased = new Promise<void>((resolve) => {
    release = resolve
  })
  await of.route(pattern, async (route) => {
    await isReleased
    await end(route)
  })
  return release
}

// Only a failing test uses it up.
const timeoutMs = 60_000

const unlessOfMachine = (error: unknown): undefined => {
  if (!isOfMachine(error)) throw error
}

/** Chromium gives requests up when the machine's network interfaces change, as other programs' containers make them do. */
const isOfMachine = (problem: unknown): boolean => String(problem).includes("ERR_NETWORK_CHANGED")

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

/** What axe-core finds serious or critical on a page, a line each. Scripts of a test are not bound to the page's policy. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  await page.evaluate(axeSource)
  const violations = await page.evaluate<Violation[]>("axe.run().then(({ violations }) => violations)")
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
    )
}

/** Saves what a page shows, if `SUPERSTEP_TEST_SCREENSHOTS` names a folder. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.SUPERSTEP_TEST_SCREENSHOTS
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) })
}
