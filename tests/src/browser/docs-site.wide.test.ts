/** The documentation that `npm run docs` builds, as the control plane serves it. */
import assert from "node:assert/strict"
import { existsSync, readdirSync } from "node:fs"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { startApi } from "@superstep/control/testing/api"
import { listen } from "@superstep/toolkit/http/listen"
import { accessibilityProblems, noChromium, openConsole } from "./console-page.js"

const docsFolder = fileURLToPath(new URL("../../../docs/site", import.meta.url))
const noSite = existsSync(docsFolder) ? false : "the documentation is not built: npm run docs"
/** In all folders. Decisions are many and alike: one stands for them. */
function pagesOfSite(): string[] {
  const files = readdirSync(docsFolder, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".html") && file !== "404.html",
  )
  const decisions = files.filter((file) => file.startsWith("decisions/"))
  return files
    .filter((file) => !decisions.includes(file) || file === decisions[0])
    .map((file) => `docs/${file.replace(/(^index)?\.html$/, "")}`)
}

test("the documentation: every page, nothing from other hosts, search, dark mode", {
  skip: noChromium || noSite,
}, async (t) => {
  await using api = await startApi({ docsFolder })
  const http = await listen(api.fetch, { host: "127.0.0.1", port: 0 })
  t.after(() => http.close(0))
  const origin = `http://127.0.0.1:${http.port}/`
  await using browser = await openConsole(origin)
  const foreign: string[] = []
  browser.context.on("request", (request) => {
    const url = request.url()
    if (!url.startsWith(origin) && !url.startsWith("data:")) foreign.push(url)
  })

  await t.test("every page opens, without violations of its policy or of axe's rules", async () => {
    const pages = pagesOfSite()
    assert.ok(pages.length > 20 && pages.some((page) => page.startsWith("docs/recipes/")), pages.join(" "))
    const found: string[] = []
    for (const path of pages) {
      const page = await browser.open(path)
      await page.locator("main h1").waitFor()
      found.push(...(await accessibilityProblems(page)).map((problem) => `${path}: ${problem}`))
      await page.close()
    }
    assert.deepEqual(found, [])
  })

  await t.test("a link leads to another page without loading the site again", async () => {
    const page = await browser.open("docs")
    await page.evaluate("window.isTheSame = true")
    await page.getByRole("link", { name: "Streaming", exact: true }).first().click()
    await page.waitForURL("**/docs/streaming")
    await page.locator("main h1", { hasText: "Streaming" }).waitFor()
    assert.equal(await page.evaluate("window.isTheSame"), true)
    await page.close()
  })

  await t.test("the search finds a word, and leads to its page", async () => {
    const page = await browser.open("docs/")
    await page.getByRole("button", { name: "Search" }).first().click()
    await page.locator("#localsearch-input").fill("thread_pinning")
    const result = page.locator("#localsearch-list a").first()
    await result.waitFor()
    await result.click()
    await page.waitForURL("**/docs/operating-deployments*")
    await page.close()
  })

  await t.test("the dark mode is kept from page to page", async () => {
    const page = await browser.open("docs/")
    const background = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor")
    const isDark = () => page.evaluate<boolean>("document.documentElement.classList.contains('dark')")
    const light = await background()
    await page.locator(".VPNavBarAppearance button").click()
    assert.equal(await isDark(), true)
    assert.notEqual(await background(), light)
    await page.goto(`${origin}docs/streaming`)
    assert.equal(await isDark(), true)
    assert.deepEqual(await accessibilityProblems(page), [])
    await page.close()
  })

  await t.test("a page that does not exist says so, and the API's reference is beside the pages", async () => {
    const none = await browser.open("docs/nothing")
    await none.getByText("PAGE NOT FOUND").waitFor()
    const page = await browser.open("docs/")
    await page.getByRole("link", { name: "API", exact: true }).first().click()
    await page.waitForURL("**/docs/api")
    await page.getByText("/v2/deployments/{deployment_id}").first().waitFor()
  })

  assert.deepEqual(foreign, [])
  assert.deepEqual(
    browser.problems.filter((problem) => !problem.includes("status of 404")),
    [],
  )
})
