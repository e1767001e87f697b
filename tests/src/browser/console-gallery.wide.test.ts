/**
 * The gallery: every page of the console in every state, at three widths, in both themes, drawn by a real platform
 * (docs/decisions/0096-a-gallery-of-boxes.md). `SUPERSTEP_TEST_SCREENSHOTS=<folder>` keeps its photographs and a page that shows them side by side.
 * After a wanted change of the layout: `UPDATE_GALLERY=1`.
 */
import assert from "node:assert/strict"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { heldWithin } from "@superstep/toolkit/testing/until"
import type { Page } from "playwright-core"
import { clientOf, deploy } from "../testing/deployments.js"
import { startPlatform } from "../testing/platform.js"
import { accessibilityProblems, keepScreenshot, noChromium } from "./console-page.js"
import { deployDesk, deskRepository, signedIn } from "./deployed-desk.js"
import { everyPage, namesOfPages } from "./every-page.js"
import { readBoxes, readFaults } from "./gallery/boxes.js"
import { enter, type State, states } from "./gallery/states.js"

const widths = [360, 768, 1440]
const themes = ["light", "dark"] as const
const file = fileURLToPath(new URL("../../src/browser/gallery/boxes.json", import.meta.url))
const folder = process.env.SUPERSTEP_TEST_SCREENSHOTS

type Boxes = Record<string, readonly string[]>

/** A picture of the gallery, by its name. */
interface Exhibit {
  readonly name: string
  readonly path: string
  readonly state: State
}

const untilDrawn = async (page: Page, state: State) => {
  if (state === "loading") await page.locator(".loading, [aria-busy=true]").first().waitFor()
  else if (state === "error") await page.locator(".problem").first().waitFor()
  else {
    await page.getByRole("heading", { level: 1 }).waitFor()
    await page.locator(".loading").first().waitFor({ state: "detached" })
  }
}

/** Chromium's own notes about the requests that fail in the state `error`. */
const isOfFailedRequest =
  /^Failed to load resource: the server responded with a status of 500|^WebSocket connection to /

const kept = JSON.parse(readFileSync(file, "utf8")) as Boxes

// Parts of a page come as their replies do. Only a change of the layout uses it up.
const settleMs = 60_000

/** The boxes as soon as they are those that are kept, else the last ones. */
async function settledBoxes(page: Page, title: string): Promise<string[]> {
  let last: string[] = []
  const isAsKept = async () => {
    last = await page.evaluate<string[]>(readBoxes)
    return JSON.stringify(last) === JSON.stringify(kept[title])
  }
  await heldWithin(isAsKept, settleMs)
  return last
}

test("the gallery of all pages", { skip: noChromium }, async (t) => {
  await using platform = await startPlatform()
  await using browser = await signedIn(platform, platform.credentials.org_api_key)
  const boxes: Boxes = {}
  const faults: string[] = []

  /** Draws one page in one state at all widths, and keeps what is compared and what is wrong. */
  const show = async ({ name, path, state }: Exhibit) => {
    const leave = await enter(state, browser, platform.agentsUrl)
    browser.problems.splice(0)
    const page = await browser.open(path)
    for (const width of widths) {
      await page.setViewportSize({ width, height: width < 500 ? 740 : 900 })
      await untilDrawn(page, state)
      const title = `${name} ${state} ${width}`
      boxes[title] = await settledBoxes(page, title)
      faults.push(...(await page.evaluate<string[]>(readFaults)).map((fault) => `${title}: ${fault}`))
      for (const theme of themes) {
        if (folder === undefined && width !== 360) continue
        await page.emulateMedia({ colorScheme: theme })
        await keepScreenshot(page, `gallery-${title}-${theme}`.replaceAll(" ", "-"))
        if (width === 360) faults.push(...(await accessibilityProblems(page)).map((one) => `${title} ${theme}: ${one}`))
      }
    }
    await page.close()
    await leave()
    const uncaught = browser.problems.filter((problem) => state !== "error" || !isOfFailedRequest.test(problem))
    faults.push(...uncaught.map((problem) => `${name} ${state}: ${problem}`))
  }

  await t.test("a platform on which nothing is deployed", async () => {
    for (const path of ["", "approvals"]) await show({ name: path || "deployments", path, state: "empty" })
  })

  const repository = await deskRepository()
  const quiet = await deploy(platform, "quiet", repository.url)
  const { thread_id: threadId } = await clientOf(platform, quiet).threads.create({ graphId: "talk" })
  const desk = await deployDesk(platform)
  const names = namesOfPages()
  const full = everyPage(desk)
  const unused = everyPage({
    deploymentId: quiet.id,
    revisionId: quiet.latest_revision_id,
    threadId,
    runId: desk.runId,
  })

  for (const state of states)
    await t.test(`each page, ${state}`, async () => {
      for (const [n, name] of names.entries()) {
        // A run has no empty state, and the pages that are no deployment's are above.
        if (state === "empty" && (/runs-runId$/.test(name) || !unused[n]?.includes(quiet.id))) continue
        const path = (state === "empty" ? unused : full)[n] ?? ""
        await show({ name, path, state })
      }
    })

  await t.test("no page is broken in any state", () => assert.deepEqual(faults, []))

  await t.test("each part of each page is where it was", () => {
    if (folder !== undefined) writeFileSync(join(folder, "gallery.html"), galleryOf(Object.keys(boxes)))
    if (process.env.UPDATE_GALLERY === "1") writeFileSync(file, `${JSON.stringify(boxes, null, 1)}\n`)
    const titles = [...new Set([...Object.keys(kept), ...Object.keys(boxes)])]
    const changed = titles.filter((title) => JSON.stringify(kept[title]) !== JSON.stringify(boxes[title]))
    assert.deepEqual(
      changed.map((title) => ({ title, parts: boxes[title] })),
      changed.map((title) => ({ title, parts: kept[title] })),
    )
  })
})

/** A page with all photographs: a row for each page and state. */
const galleryOf = (titles: readonly string[]): string => {
  const pictures = titles.flatMap((title) =>
    themes.map(
      (theme) =>
        `<figure><img src="gallery-${title.replaceAll(" ", "-")}-${theme}.png"><figcaption>${title} ${theme}</figcaption></figure>`,
    ),
  )
  return `<!doctype html><title>Gallery</title><style>body{display:flex;flex-wrap:wrap;gap:12px;font:12px sans-serif}figure{margin:0}img{height:420px;border:1px solid #ccc}</style>${pictures.join("\n")}\n`
}
