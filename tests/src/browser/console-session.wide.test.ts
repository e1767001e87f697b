/** Signing in to the console in a real browser, and what pages of other sites try at it. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { portServer } from "@superstep/toolkit/testing/http-server"
import type { Page } from "playwright-core"
import { startPlatform } from "../testing/platform.js"
import { openConsole, noChromium as skip } from "./console-page.js"

/** Sends a request from a page, as its scripts can. @returns  the status, or `unreadable` */
const sendFrom = (page: Page, url: string, method: string, body?: object) =>
  page.evaluate(
    async ([to, how, text]) => {
      const init = { method: how, credentials: "include", ...(text !== undefined && { body: text }) } as RequestInit
      const opaque = await fetch(to as string, { ...init, mode: "no-cors" }).catch(() => undefined)
      const reply = await fetch(to as string, init).catch(() => undefined)
      return { isAnswered: opaque !== undefined, status: reply?.status ?? "unreadable" }
    },
    [url, method, body === undefined ? undefined : JSON.stringify(body)] as const,
  )

test("a person signs in with the printed address, and pages of other sites gain nothing by it", { skip }, async (t) => {
  await using platform = await startPlatform()
  const { url, tenant_id: tenant, org_api_key: key } = platform.credentials
  const made = await platform.api<{ url: string }>("POST", "/v2/console/codes", {}, { "x-api-key": key })
  const printed = made.body.url
  await using browser = await openConsole(`${url}/`)
  const { context, problems } = browser
  const page = await context.newPage()
  const session = (from: Page) => from.evaluate(async () => (await fetch("/v2/console/session")).status)

  await t.test("the code becomes a session that scripts cannot read, and leaves the address", async () => {
    await page.goto(printed)
    await page.waitForURL((address) => !address.pathname.startsWith("/sign-in"))

    const [cookie] = await context.cookies(url)
    assert.deepEqual([cookie?.name, cookie?.httpOnly, cookie?.sameSite], ["superstep_session", true, "Strict"])
    assert.equal(await page.evaluate("document.cookie"), "")
    assert.deepEqual([await session(page), page.url().includes("code=")], [200, false])
  })

  await t.test("a used code signs nobody in: the page says so", async () => {
    await using other = await openConsole(`${url}/`)
    const late = await other.open(printed)
    await late.getByText("superstep console", { exact: false }).first().waitFor()
    assert.equal(await session(late), 401)
  })

  await t.test(
    "a page on another port of this host changes and reads nothing, though its requests carry the cookie",
    async () => {
      using foreign = await portServer((_, response) => response.setHeader("content-type", "text/html").end("<p>agent"))
      const agent = await context.newPage()
      await agent.goto(`${foreign.origin}/`)

      const wrote = await sendFrom(agent, `${url}/v2/api-keys`, "POST", { name: "stolen" })
      const read = await sendFrom(agent, `${url}/v2/api-keys`, "GET")
      await agent.close()

      const { body } = await platform.api<{ resources: { name: string }[] }>("GET", "/v2/api-keys")
      assert.deepEqual(wrote, { isAnswered: false, status: "unreadable" })
      assert.deepEqual(read, { isAnswered: false, status: "unreadable" })
      const isStolen = body.resources.some(({ name }) => name === "stolen")
      assert.equal(isStolen, false)
    },
  )

  await t.test("a name with HTML is text on every page, and the pages keep to their policy", async () => {
    const html = "<img src=x onerror=\"document.title='attacked'\"><script>document.title='attacked'</script>"
    await platform.api("POST", "/v2/api-keys", { name: html })
    problems.length = 0

    for (const path of [`/?workspace=${tenant}`, "/settings", "/system"]) {
      await page.goto(`${url}${path}`)
      await page.getByRole("heading").first().waitFor()
      assert.notEqual(await page.title(), "attacked", path)
    }
    await page.goto(`${url}/settings`)
    await page.getByText("onerror").first().waitFor()
    assert.deepEqual(problems, [])
  })

  await t.test("the first press of Tab offers to skip the navigation", async () => {
    await page.goto(`${url}/settings`)
    await page.getByText("onerror").first().waitFor()

    await page.keyboard.press("Tab")
    assert.equal(await page.locator(":focus").textContent(), "Skip to the content")
    await page.keyboard.press("Enter")

    assert.equal(await page.locator(":focus").getAttribute("id"), "content")
    assert.equal(page.url(), `${url}/settings`)
  })

  await t.test("a link with a code asks before it replaces the session, and staying signed in keeps it", async () => {
    const before = await context.cookies(url)
    const { body: code } = await platform.api<{ url: string }>("POST", "/v2/console/codes", {})
    await page.goto(code.url)
    await page.getByRole("button", { name: "Stay signed in" }).click()
    await page.waitForURL((address) => !address.pathname.startsWith("/sign-in"))

    assert.deepEqual(await context.cookies(url), before)
  })

  await t.test("a link whose id is a path opens no page, and sends nothing that changes anything", async () => {
    const id = randomUUID()
    const sent: string[] = []
    page.on(
      "request",
      (request) => request.url().includes(id) && !request.isNavigationRequest() && sent.push(request.url()),
    )
    const hostile = [`${id}%2Fpause%3F`, `${id}%2F..%2F${id}%2Fpause%23`, `..%2Fapi-keys%3F${id}`]

    for (const deployment of hostile)
      for (const rest of ["", "/logs", "/settings", "/agent/threads", `/revisions/${id}`]) {
        await page.goto(`${url}/deployments/${deployment}${rest}`)
        await page.getByText("There is no such page").waitFor()
      }
    assert.deepEqual(sent, [])
  })
})
