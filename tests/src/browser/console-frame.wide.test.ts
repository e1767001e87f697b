/** What surrounds all pages of the console, in a real browser: edges, drawer, palette, keys, colours, focus. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Page } from "playwright-core"
import { startPlatform } from "../testing/platform.js"
import { accessibilityProblems, holdRequests, noChromium, wideWindow } from "./console-page.js"
import { deployDesk, signedIn } from "./deployed-desk.js"

const phone = { width: 360, height: 740 }

const untilLoaded = async (page: Page) => {
  await page.getByRole("heading", { level: 1 }).waitFor()
  await page.locator(".loading").first().waitFor({ state: "detached" })
}

const colours = `getComputedStyle(document.body).backgroundColor`

test("what surrounds all pages", { skip: noChromium }, async (t) => {
  await using platform = await startPlatform()
  const desk = await deployDesk(platform)
  await using browser = await signedIn(platform, platform.credentials.org_api_key)
  const agent = `deployments/${desk.deploymentId}/agent/`
  const dialog = (page: Page) => page.getByRole("dialog")
  /** Escape closes what is open. */
  const leave = async (page: Page) => {
    await page.keyboard.press("Escape")
    await dialog(page).waitFor({ state: "detached" })
  }
  t.afterEach(() => browser.closePages())

  await t.test("on a phone the navigation is in a drawer, which closes where it leads", async () => {
    const page = await browser.open(`${agent}threads`)
    await page.setViewportSize(phone)
    assert.equal(await page.getByRole("navigation").count(), 0)
    await page.getByRole("button", { name: "Navigation" }).click()
    await dialog(page).getByRole("link", { name: "Runs" }).last().waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])
    await leave(page)
    assert.equal(await page.locator(":focus").getAttribute("aria-label"), "Navigation")

    await page.getByRole("button", { name: "Navigation" }).click()
    await dialog(page).getByRole("link", { name: "Runs" }).last().click()

    await page.getByRole("heading", { name: "Runs", level: 1 }).waitFor()
    await dialog(page).waitFor({ state: "detached" })

    await page.getByRole("button", { name: "Navigation" }).click()
    await dialog(page).getByRole("link", { name: "Runs" }).last().click()
    await dialog(page).waitFor({ state: "detached" })
  })

  await t.test("on a phone a question is answered without scrolling, by buttons as large as a thumb", async () => {
    const page = await browser.open("approvals")
    await page.setViewportSize(phone)
    await page.getByRole("row").filter({ hasText: "amount: 30" }).getByText("refund").click()
    await page.getByText("The customer asks for 30 euros back.").waitFor()
    const approve = page.getByRole("region", { name: "refund" }).first().getByRole("button", { name: "Approve" })
    const box = await approve.boundingBox()
    assert.ok(box !== null && box.height >= 44 && box.width >= 44, JSON.stringify(box))
    assert.ok(box.y + box.height <= phone.height, JSON.stringify(box))

    await approve.click()
    await page.getByRole("row").filter({ hasText: "amount: 30" }).waitFor({ state: "detached" })
  })

  await t.test("the palette leads to pages, deployments and threads, by keyboard alone", async () => {
    const page = await browser.open("settings")
    await untilLoaded(page)
    const go = async (typed: string, choice: RegExp) => {
      await page.keyboard.press("Control+k")
      await dialog(page).getByRole("searchbox").waitFor()
      await page.keyboard.insertText(typed)
      await dialog(page).getByRole("menuitem", { name: choice }).first().waitFor()
    }
    await go("help-d", /^help-desk/)
    assert.deepEqual(await accessibilityProblems(page), [])
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "help-desk", level: 1 }).waitFor()

    await go("desk queue", /^Queue of help-desk/)
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Queue", level: 1 }).waitFor()

    await go(desk.threadId, /^Thread .* help-desk/)
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: /^Thread / }).waitFor()
    assert.match(page.url(), new RegExp(desk.threadId))

    await page.keyboard.press("Control+k")
    await page.keyboard.insertText(desk.deploymentId)
    await page.getByText("No agent that runs has this thread").waitFor()
    await page.keyboard.press("Escape")
    await leave(page)
  })

  await t.test("keys lead to pages, search, and show their list, which turns them off and on", async () => {
    const page = await browser.open(`${agent}threads`)
    await untilLoaded(page)
    await page.keyboard.press("/")
    assert.equal(await page.locator(":focus").getAttribute("aria-label"), "Text in values")
    // In a field keys are letters.
    await page.keyboard.type("g?")
    assert.equal(await page.getByRole("searchbox", { name: "Text in values" }).inputValue(), "g?")
    assert.equal(await dialog(page).count(), 0)
    await page.getByRole("heading", { level: 1 }).click()

    await page.keyboard.type("gr")
    await page.getByRole("heading", { name: "Runs", level: 1 }).waitFor()
    await page.keyboard.type("gd")
    await page.getByRole("heading", { name: "Deployments", level: 1 }).waitFor()
    await page.keyboard.type("?")
    await dialog(page).getByRole("heading", { name: "Keyboard" }).waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])
    await dialog(page).getByRole("switch").press("Space")
    await leave(page)
    await page.keyboard.type("gs")
    await page.keyboard.press("Control+k")
    await dialog(page).getByRole("searchbox").waitFor()
    assert.equal(await page.getByRole("heading", { name: "Deployments", level: 1, includeHidden: true }).count(), 1)

    await page.keyboard.type("keyboard")
    await dialog(page).getByRole("menuitem", { name: "Keyboard" }).click()
    await dialog(page).getByRole("switch").press("Space")
    await leave(page)
    await page.keyboard.type("gs")
    await page.getByRole("heading", { name: "Settings", level: 1 }).waitFor()
  })

  await t.test("in a list letters go to its entries, and g is forgotten when the window loses the focus", async () => {
    const page = await browser.open("approvals")
    const isHere = async () => assert.match(page.url(), /\/approvals/)
    await page.getByRole("row").first().focus()
    await page.keyboard.type("gd")
    await isHere()
    await page.getByRole("heading", { level: 1 }).click()
    await page.keyboard.press("g")
    await page.evaluate(`window.dispatchEvent(new Event("blur"))`)
    await page.keyboard.press("d")
    await isHere()
    await page.keyboard.type("gd")
    await page.getByRole("heading", { name: "Deployments", level: 1 }).waitFor()
  })

  await t.test("the colours are the system's until a person chooses, and the choice is kept", async () => {
    const page = await browser.open("")
    await page.emulateMedia({ colorScheme: "light" })
    await page.setViewportSize(wideWindow)
    const light = await page.evaluate(colours)
    await page.getByRole("radio", { name: "Dark" }).check({ force: true })
    const dark = await page.evaluate(colours)
    assert.notEqual(dark, light)
    assert.deepEqual(await accessibilityProblems(page), [])
    await page.reload()
    await page.getByRole("radio", { name: "Dark", checked: true }).waitFor({ state: "attached" })
    assert.equal(await page.evaluate(colours), dark)
    await page.getByRole("radio", { name: "As the system" }).check({ force: true })
    assert.equal(await page.evaluate(colours), light)
    await page.emulateMedia({ colorScheme: "dark" })
    assert.equal(await page.evaluate(colours), dark)
  })

  await t.test("the focus stays where it was: after a dialog, and when the row that had it is gone", async () => {
    for (const name of ["one", "two"]) await platform.api("POST", "/v2/api-keys", { name, scopes: ["read"] })
    const page = await browser.open("settings")
    const row = (name: string) => page.getByRole("row").filter({ has: page.getByRole("cell", { name, exact: true }) })
    const revoke = row("one").getByRole("button", { name: /^Revoke/ })
    await revoke.press("Enter")
    await dialog(page).waitFor()
    await leave(page)
    assert.equal(await page.evaluate(`document.activeElement.textContent.includes("Revoke")`), true)

    await revoke.press("Enter")
    await dialog(page)
      .getByRole("button", { name: /^Revoke/ })
      .press("Enter")
    await revoke.waitFor({ state: "detached" })
    await page.waitForFunction(`document.activeElement !== document.body`)

    assert.equal(await page.evaluate(`document.activeElement.closest("table") !== null`), true)
  })

  await t.test("a reply that comes when its dialog was left closes no other one, and leads nowhere", async () => {
    const page = await browser.open(`${agent}store`)
    const release = await holdRequests(page, "**/store/items")
    const fill = async (key: string) => {
      await page.getByRole("button", { name: "New item" }).first().click()
      await dialog(page).getByRole("textbox", { name: "Namespace" }).fill("left")
      await dialog(page).getByRole("textbox", { name: "Key" }).fill(key)
    }
    await fill("first")
    const replied = page.waitForResponse(/store\/items$/)
    await dialog(page).getByRole("button", { name: "Put" }).click()
    await dialog(page).getByRole("button", { name: "Cancel" }).click()
    await fill("second")
    const address = page.url()

    release()
    await (await replied).finished()
    await page.getByRole("button", { name: /^first/, includeHidden: true }).waitFor({ state: "attached" })

    assert.equal(await dialog(page).getByRole("textbox", { name: "Key" }).inputValue(), "second")
    assert.equal(page.url(), address)
  })

  await t.test("a key opens nothing while another dialog is about to open", async () => {
    const page = await browser.open("")
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    const copy = page.getByRole("button", { name: "Copy as curl" })
    await copy.waitFor()
    // The code of the dialog comes late.
    const bring = await holdRequests(page, "**/*.js")

    await copy.press("Enter")
    await page.locator("[data-dialog-waits]").waitFor({ state: "attached" })
    await page.keyboard.press("?")
    bring()

    await page.getByRole("textbox", { name: "Text to copy" }).waitFor()
    assert.equal(await dialog(page).count(), 1)
    await leave(page)
  })

  // The palette has asked for a thread that no agent has.
  const problems = browser.problems.filter((problem) => !/status of 404/.test(problem))
  assert.deepEqual(problems, [])
})
