/** A person walks through the console's pages of the platform, in a real browser with a real installation. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { tarGz } from "@superstep/control/sources/testing/tar-gz"
import { until } from "@superstep/toolkit/testing/until"
import type { Page } from "playwright-core"
import type { Deployment, Revision } from "../testing/deployments.js"
import type { Platform } from "../testing/installation.js"
import { testPython } from "../testing/languages.js"
import { startPlatform } from "../testing/platform.js"
import { accessibilityProblems, holdRequests, keepScreenshot, openConsole, noChromium as skip } from "./console-page.js"
import { copiedCommands, executed } from "./curl-commands.js"
import { startDesk } from "./desk.js"
import { openPrintedAddresses } from "./printed-addresses.js"

// A build installs packages, and the machine may be busy.
const buildMs = 300_000

const revisionsOf = async (platform: Platform, id: string) =>
  (await platform.api<{ resources: Revision[] }>("GET", `/v2/deployments/${id}/revisions`)).body.resources

const exampleOf = async (platform: Platform): Promise<Deployment> => {
  const { body } = await platform.api<{ resources: Deployment[] }>("GET", "/v2/deployments?name=chat")
  assert.ok(body.resources[0], "the example is not there")
  return body.resources[0]
}

const run = promisify(execFile)
const root = fileURLToPath(new URL("../../..", import.meta.url))

/** An uploaded project with one file. */
const archiveOf = (word: string) => new Uint8Array(tarGz([{ path: "agent.ts", content: `// first\nsay ${word}\n` }]))

/** What a program prints that is called with the key. */
async function printed([program = "", ...args]: readonly string[], key: string): Promise<string> {
  const { stdout } = await run(program, args, { cwd: root, env: { KEY: key } })
  return stdout
}

const untilServing = (page: Page) => page.getByText("Serving", { exact: true }).first().waitFor({ timeout: buildMs })

test("the pages of the platform", { skip }, async (t) => {
  await using platform = await startPlatform()
  // As `superstep up` does it: the session has the rights of the installation's key.
  const { org_api_key: key } = platform.credentials
  await using browser = await openConsole(`${platform.credentials.url}/`)
  await browser.context.grantPermissions(["clipboard-read", "clipboard-write"])
  const code = await platform.api<{ url: string }>("POST", "/v2/console/codes", {}, { "x-api-key": key })
  const page = await browser.open(code.body.url)
  const button = (name: string | RegExp) => page.getByRole("button", { name })
  const field = (name: string) => page.getByRole("textbox", { name, exact: true })
  const go = async (name: string) => {
    await page.getByRole("navigation").getByRole("link", { name, exact: true }).last().click()
  }
  /** Looks at a page: nothing serious for axe-core, and its requests can be repeated. */
  const look = async (name: string) => {
    await page.locator(".loading").waitFor({ state: "detached" })
    await keepScreenshot(page, `console-${name}`)
    assert.deepEqual(await accessibilityProblems(page), [], name)
    const commands = await copiedCommands(page)
    assert.ok(commands.length > 0)
    for (const command of commands) await executed(command, key)
  }

  await t.test("the address of the terminal signs in, and an empty workspace offers the example", async () => {
    await page.getByText("Nothing is deployed yet").waitFor()

    assert.equal(new URL(page.url()).hash, "")
    assert.deepEqual(await accessibilityProblems(page), [])
  })

  await t.test("the example is deployed, and its build is watched, also after a reload", async () => {
    await button("Deploy the example").click()
    const log = page.getByRole("log")
    await log.getByText("install: npm").waitFor({ timeout: buildMs })
    await page.reload()
    await log.getByText("install: npm").waitFor()
    await untilServing(page)
    await log.getByText("build finished").waitFor()

    await page.getByLabel("Search in the log").fill("verify")
    await page.getByText(/^\d+ lines found$/).waitFor()
    assert.equal(new URL(page.url()).searchParams.get("q"), "verify")
    await page.getByLabel("Search in the log").fill("")
    await look("build-log")
  })

  await t.test("the overview says what an agent did, and how a program calls it", async () => {
    await go("Deployments")
    await page.getByRole("link", { name: "chat", exact: true }).click()
    await page.getByRole("heading", { name: "Call it" }).waitFor()
    const copied = async (name: string) => {
      await page.getByRole("tab", { name, exact: true }).click()
      await button(`Copy the ${name}`).click()
      return page.evaluate<string>("navigator.clipboard.readText()")
    }
    const { api_key: apiKey } = platform.credentials
    const calls = [
      String(await executed(await copied("curl"), apiKey)),
      await printed([process.execPath, "--input-type=module", "-e", await copied("JavaScript")], apiKey),
      ...(testPython ? [await printed([testPython, "-c", await copied("Python")], apiKey)] : []),
    ]
    for (const call of calls) assert.match(call, /messages/)

    const part = (name: string) => page.getByRole("region", { name })
    const requests = part("Requests")
    await requests.getByText(/^[1-9]\d* requests?, 0 errors$/).waitFor({ timeout: 60_000 })
    await part("Runs")
      .getByText(/^[1-9]\d* runs?, 0 failed$/)
      .waitFor({ timeout: 60_000 })
    await part("Time to the first token")
      .getByText(/half within .+/)
      .waitFor()
    // The example's model says what it streams, and no tokens.
    await part("Tokens").getByText("no model reported tokens in this time").waitFor()
    await page.getByText("nothing", { exact: true }).waitFor()
    await page.getByRole("radio", { name: "last hour" }).focus()
    await page.keyboard.press("ArrowRight")
    await page.waitForURL(/window=24h/)
    await requests.getByText(/^[1-9]/).waitFor()
    await look("overview")
    await button("Pause").click()
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click()
    await page.getByText("not asked while it is paused").waitFor({ timeout: 60_000 })
    await page.getByRole("heading", { name: "Call it" }).waitFor()
    await look("overview-paused")
    await button("Resume").click()
    await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click()
    await page.getByText("nothing", { exact: true }).waitFor({ timeout: 60_000 })
    await page.getByRole("link", { name: "See them" }).click()
    await page.waitForURL(/\/agent\/runs\?.*since=24h/)
    await go("Deployments")
  })

  await t.test("a revision that fails says why, and what to do next", async () => {
    await button("New deployment").click()
    await field("Repository").fill("file:///nowhere/agent.git")
    await field("Name").fill("broken")
    await page.getByRole("dialog").getByRole("button", { name: "Deploy" }).click()

    await page.getByText("Build failed").first().waitFor({ timeout: buildMs })
    await page.getByText(/Check repo_url/).waitFor()
    await page.locator(".page-above").getByRole("link", { name: "broken" }).click()
    await page.getByText(/Check repo_url/).waitFor()
    const entry = page.locator("a.error-code")
    const address = await entry.getAttribute("href")
    assert.equal(address, `${platform.credentials.url}/docs/errors#${await entry.textContent()}`)
    await look("failed-revision")
  })

  await t.test("a secret starts a revision; a comparison names it", async () => {
    const { id } = await exampleOf(platform)
    await go("Deployments")
    await page.getByRole("link", { name: "chat", exact: true }).click()
    await page.getByRole("heading", { name: "chat", level: 1 }).waitFor()
    await go("Settings")
    await button("Set a secret").click()
    await field("Name").fill("MODEL_KEY")
    await page.getByLabel("Value", { exact: true }).fill("very\nsecret\n")
    await page.getByRole("dialog").getByRole("button", { name: "Set" }).click()
    await page.getByText("MODEL_KEY").first().waitFor()
    await page.getByRole("dialog").waitFor({ state: "detached" })

    assert.equal(await page.getByText("very secret").count(), 0)
    await button("Show").click()
    assert.equal(await page.locator("pre", { hasText: "very" }).textContent(), "very\nsecret")
    await button("Hide").click()
    await look("deployment-settings")
    const newest = async () => (await revisionsOf(platform, id))[0]
    await until(async () => (await newest())?.status === "DEPLOYED", { what: "the secret serves", timeoutMs: buildMs })
    await go("Revisions")
    await page.getByRole("checkbox").nth(1).waitFor({ state: "attached" })
    for (const box of await page.getByRole("checkbox").all()) await box.check({ force: true })
    await page
      .getByRole("row", { name: /Names of the secrets/ })
      .getByText("MODEL_KEY")
      .waitFor()
    await look("revisions")
    await button("Close the comparison").click()
  })

  await t.test("a rollback by keyboard alone", async () => {
    await button("Roll back to it").focus()
    await page.keyboard.press("Enter")
    await page.getByRole("dialog").waitFor()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")

    await page.getByText("rolled back").waitFor({ timeout: buildMs })
    await page
      .getByRole("listitem")
      .filter({ hasText: "rolled back" })
      .getByText("Serving")
      .waitFor({ timeout: buildMs })
    const [newest, , first] = await revisionsOf(platform, (await exampleOf(platform)).id)
    assert.equal((await exampleOf(platform)).active_revision_id, newest?.id)
    await page
      .getByRole("listitem")
      .filter({ hasText: "rolled back to" })
      .getByRole("link", { name: first?.id.slice(-8) ?? "" })
      .waitFor()
  })

  await t.test(
    "uploads are told apart by message and commit, in the list, on their pages and in a comparison",
    async () => {
      const { id } = (
        await platform.api<Deployment>("POST", "/v2/deployments", { name: "uploaded", source: "internal_source" })
      ).body
      const commit = { sha: "0123456789abcdef", message: "fix: the greeting", author: "Ada", branch: "main" }
      const upload = async (content: string, change: object, of: object) => {
        const { body } = await platform.api<{ upload_url: string; object_path: string }>(
          "POST",
          `/v2/deployments/${id}/upload-url`,
        )
        assert.equal((await fetch(body.upload_url, { method: "PUT", body: archiveOf(content) })).status, 200)
        const source_revision_config = { source_tarball_path: body.object_path, ...of }
        await platform.api("PATCH", `/v2/deployments/${id}`, { source_revision_config, ...change })
      }
      // None has a langgraph.json, so all fail at once.
      await upload("one", { message: "a calmer bot" }, { commit })
      await upload("two", {}, { commit: { ...commit, is_dirty: true } })
      await upload("three", {}, {})
      await go("Deployments")
      await page.getByRole("link", { name: "uploaded", exact: true }).click()
      await go("Revisions")

      const rows = page.locator(".timeline-item")
      await rows.nth(2).getByRole("link", { name: "a calmer bot" }).waitFor()
      await rows.nth(2).getByText("0123456 main Ada · “fix: the greeting”").waitFor()
      await rows.nth(1).getByRole("link", { name: "fix: the greeting" }).waitFor()
      await rows.nth(1).getByText("main with changes Ada").waitFor()
      for (const row of await rows.all()) await row.getByText("· uploaded").waitFor()
      assert.equal(await page.getByText("settings changed").count(), 0)
      for (const box of (await page.getByRole("checkbox").all()).slice(1)) await box.check({ force: true })
      const code = page.getByRole("row", { name: /^Code archive [0-9a-f]{7}, .* archive [0-9a-f]{7}, / })
      await code.waitFor()
      await page.getByRole("row", { name: /^Commit 0123456 .*\(Ada\), with changes/ }).waitFor()
      await look("uploaded-revisions")
      await rows.nth(1).getByRole("link", { name: "fix: the greeting" }).click()
      await page.getByText(/^What changed in the code since/).click()
      const files = page.getByRole("list", { name: "Files that changed" })
      await files.locator(".code-line-removed", { hasText: "say one" }).waitFor({ timeout: buildMs })
      await files.locator(".code-line-added", { hasText: "say two" }).waitFor()
      await look("code-changes")
      await page.goBack()
      await rows.nth(2).getByRole("link", { name: "a calmer bot" }).click()
      await page.getByRole("heading", { name: "a calmer bot", level: 1 }).waitFor()
      await page.locator(".timeline-facts").getByText("0123456 main Ada").waitFor()
      await page.locator(".page-above").getByRole("link", { name: "Deployments" }).click()
      await page.getByRole("link", { name: "chat", exact: true }).click()
    },
  )

  await t.test("a line of the log leads to its run, and filters are in the address", async () => {
    const { source_config } = await exampleOf(platform)
    const headers = { "content-type": "application/json", "x-api-key": platform.credentials.api_key }
    const body = JSON.stringify({ assistant_id: "chat", input: { messages: [{ role: "user", content: "hello" }] } })
    const reply = await fetch(`${source_config.custom_url}/runs/wait`, { method: "POST", headers, body })
    assert.equal(reply.status, 200, await reply.text())
    await go("Logs")

    await page.getByText("What Superstep itself writes is hidden").waitFor()
    await page.getByText("Platform lines", { exact: true }).click()
    await page.waitForURL(/platform=shown/)
    await page.getByRole("log").getByText("run ended").first().waitFor({ timeout: 60_000 })
    await page.getByLabel("Search in the log").fill("run_end no such text")
    await page.getByText("0 lines found").waitFor()
    await page.getByLabel("Search in the log").fill("run ended")
    await page.getByRole("log").locator("mark", { hasText: "run ended" }).first().waitFor()
    await page.getByLabel("Search in the log").fill("")
    const run = page.getByRole("log").getByRole("link", { name: /^run / }).first()
    assert.match((await run.getAttribute("href")) ?? "", /agent\/threads\/[\w-]+\/runs\/[\w-]+$/)
    await page
      .getByRole("button", { name: /^Show only the lines of run/ })
      .first()
      .click()
    await page.waitForURL(/run=/)
    await page.getByRole("log").getByText("server ready").waitFor({ state: "detached" })
    await page.getByLabel("Level").selectOption("ERROR")
    await page.waitForURL(/level=ERROR/)
    await page.reload()
    await page.getByText("No line matches").waitFor()
    await page.getByLabel("Level").selectOption("")
    await page.getByRole("log").getByText("run ended").waitFor()
    await look("logs")

    const older = page.getByText("Older lines are not shown.")
    assert.equal(await older.count(), 0)
    const timestamp = new Date().toISOString()
    const line = { timestamp, level: "INFO", message: "one", revision_id: "r", run_id: null, thread_id: null }
    const lines = Array.from({ length: 1000 }, (_, id) => `id: ${id}\ndata: ${JSON.stringify({ ...line, id })}\n\n`)
    const stream = { "content-type": "text/event-stream", date: new Date().toUTCString() }
    await page.route(/\/logs\/stream/, (route) => route.fulfill({ headers: stream, body: lines.join("") }))
    await page.reload()
    await older.waitFor()
    await page.unroute(/\/logs\/stream/)
  })

  /** What closes a dialog that has nothing to lose. */
  const leave = async () => {
    await page.keyboard.press("Escape")
    await page.mouse.click(2, 2)
  }
  let readKey = ""
  await t.test("a key is shown once; the audit log tells who made it", async () => {
    await page.getByRole("navigation").getByRole("link", { name: "Settings" }).first().click()
    await button("New key").click()
    await field("Name").fill("a reader")
    await page.getByRole("checkbox", { name: /^run/ }).uncheck({ force: true })
    const release = await holdRequests(page, "**/v2/api-keys")
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click()
    await leave()
    release()
    readKey = (await page.getByRole("dialog").locator("code").textContent()) ?? ""
    await leave()
    await button("Done").click()
    await page.getByRole("row", { name: /^a reader/ }).waitFor()
    await page.reload()

    await page.getByRole("row", { name: /^a reader/ }).waitFor()
    assert.match(readKey, /^ssk_[\w-]{20,}$/)
    assert.equal(await page.getByText(readKey).count(), 0)
    await page.getByRole("cell", { name: "POST /v2/api-keys" }).waitFor()
    await button("Verify the chain").click()
    await page.getByText(/entries are unchanged/).waitFor()
    await look("settings")
  })

  await t.test("the system page says how the platform is", async () => {
    await go("System")
    await page.getByText("All is well").waitFor()
    await page.getByText("The control plane answers").waitFor()
    await page.getByRole("meter", { name: "Database connections" }).waitFor()
    await page.getByRole("meter", { name: "Deployments" }).waitFor()
    await look("system")

    await page.route(/\/health$/, (route) => route.abort())
    await page.reload()
    await page.getByText("No answer", { exact: true }).waitFor()
    assert.equal(await page.getByText(/All is well|The control plane answers/).count(), 0)
    await page.unroute(/\/health$/)
  })

  await t.test("every address that we print opens a page", async (t) => {
    await using dev = await startDesk()
    const opened = await openPrintedAddresses(browser, platform, await exampleOf(platform), dev.url)
    for (const address of opened) t.diagnostic(address)
  })

  await t.test("after signing out, a key that may only read sees and cannot press", async () => {
    const signOut = async () => {
      await button(/^Account and workspace/).click()
      await page.getByRole("menuitem", { name: "Sign out" }).click()
      await page.getByLabel("API key").waitFor()
    }
    await signOut()
    assert.deepEqual(await accessibilityProblems(page), [])
    await page.getByLabel("API key").fill("not a key")
    await button("Sign in").click()
    await page.getByRole("alert").waitFor()
    await page.getByLabel("API key").fill(readKey)
    await page.keyboard.press("Enter")

    await page.getByRole("link", { name: "chat", exact: true }).waitFor()
    await button("New deployment").focus()
    await page.getByRole("tooltip", { name: /may only read/ }).waitFor()
    await page.keyboard.press("Enter")
    assert.equal(await page.getByRole("dialog").count(), 0)
    await signOut()
    await page.goto(platform.credentials.url)
    await page.getByLabel("API key").waitFor()
  })

  // Refused sign-ins, and the unanswered health, are written to the browser's console as failed requests.
  const problems = browser.problems.filter((problem) => !/status of 401|ERR_FAILED/.test(problem))
  assert.deepEqual(problems, [])
})
