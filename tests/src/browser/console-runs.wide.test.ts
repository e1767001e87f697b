/**
 * The console's pages of runs in a real browser, on an agent server of `superstep dev`. Long on purpose: all tests use the one server and
 * browser that the file starts.
 */

import assert from "node:assert/strict"
import { test } from "node:test"
import { withClient } from "@superstep/toolkit/db/with-client"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { childrenOf, killAll, skip as noProc } from "@superstep/toolkit/testing/processes"
import { until } from "@superstep/toolkit/testing/until"
import { newGate } from "./chat-page.js"
import { accessibilityProblems, keepScreenshot, noChromium, openConsole } from "./console-page.js"
import { copiedResults } from "./curl-commands.js"
import { ask, askForRefund, refundOf, replaceJson, startDesk } from "./desk.js"

const skip = noChromium || noProc

test("the console's pages of runs", { skip }, async (t) => {
  await using server = await startDesk()
  const { client } = server
  await using browser = await openConsole(`${server.url}/studio/`)
  t.afterEach(() => browser.closePages())
  await browser.context.grantPermissions(["clipboard-read", "clipboard-write"])

  await t.test("a question is approved as it is, with changes, and rejected with a reason", async () => {
    const threads = [await askForRefund(client, 25), await askForRefund(client, 80), await askForRefund(client, 310)]
    const page = await browser.open("approvals")
    const question = (amount: number) => page.getByRole("row").filter({ hasText: `amount: ${amount} ·` })
    const panel = page.getByRole("region", { name: "refund", exact: true }).first()
    const choose = async (amount: number) => {
      await question(amount).getByText("refund").click()
      await panel.getByText(`The customer asks for ${amount} euros back.`).waitFor()
    }
    await choose(25)
    assert.deepEqual(await accessibilityProblems(page), [])
    const [found] = (await copiedResults(page)) as { thread_id: string }[][]
    assert.deepEqual(found?.map(({ thread_id }) => thread_id).sort(), [...threads].sort())

    await panel.getByRole("button", { name: "Approve" }).click()
    await question(25).waitFor({ state: "detached" })
    await choose(80)
    await panel.getByRole("button", { name: "Edit" }).click()
    await replaceJson(page, "Arguments", { amount: 60 })
    assert.deepEqual(await accessibilityProblems(page), [])
    await panel.getByRole("button", { name: "Approve with these" }).click()
    await question(80).waitFor({ state: "detached" })
    await choose(310)
    await panel.getByRole("button", { name: "Reject" }).click()
    await panel.getByRole("textbox", { name: "Reason, for the model" }).fill("too much")
    await panel.getByRole("button", { name: "Reject" }).click()
    await page.getByText("Nothing waits for an answer").waitFor()

    assert.deepEqual(await Promise.all(threads.map((id) => refundOf(client, id))), [25, 60, 0])
  })

  await t.test("many questions are approved at once, by keyboard alone", async () => {
    const threads = [await askForRefund(client, 1), await askForRefund(client, 2), await askForRefund(client, 3)]
    const page = await browser.open("approvals")
    await page.getByRole("row").nth(2).waitFor()

    await page.getByRole("row").first().focus()
    for (const key of ["Space", "ArrowDown", "Space"]) await page.keyboard.press(key)
    await page.getByText("2 marked").waitFor()
    await page.keyboard.press("Control+A")
    await page.getByText("3 marked").waitFor()
    await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Shift+Tab")
    assert.equal(await page.locator(":focus").textContent(), " Approve")
    await page.keyboard.press("Enter")

    await page.getByText("3 threads got their answers.").waitFor()
    assert.deepEqual(await Promise.all(threads.map((id) => refundOf(client, id))), [1, 2, 3])
  })

  await t.test("of many answers the refused ones are named, and their questions stay marked", async () => {
    const [taken = "", kept = ""] = [await askForRefund(client, 4), await askForRefund(client, 5)]
    const page = await browser.open("approvals")
    await page.getByRole("row").nth(1).waitFor()
    const json = { detail: "the thread is busy", code: "conflict" }
    await page.route(new RegExp(`${kept}/runs$`), (route) => route.fulfill({ status: 409, json }))
    const approve = page.getByRole("button", { name: "Approve" }).first()
    await page.getByRole("row").first().focus()
    await page.keyboard.press("Control+A")
    await approve.click()

    await page.getByRole("alert").getByText("1 of 2 threads did not take their answer.").waitFor()
    await page.getByText(`thread ${kept.slice(-8)}: the thread is busy`).waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])
    await page.getByText("1 marked").waitFor()
    await page.unrouteAll()
    await approve.click()
    assert.deepEqual([await refundOf(client, taken), await refundOf(client, kept)], [4, 5])
  })

  await t.test("a question that arrives takes neither the place of the open one nor a mark", async () => {
    const first = await askForRefund(client, 25)
    const page = await browser.open("approvals")
    const panel = page.getByRole("region", { name: "refund", exact: true })
    await panel.getByText("The customer asks for 25 euros back.").waitFor()
    await page.getByRole("row").first().focus()
    await page.keyboard.press("Control+A")
    await page.getByText("1 marked").waitFor()
    await panel.getByRole("button", { name: "Reject" }).click()
    const reason = panel.getByRole("textbox", { name: "Reason, for the model" })
    await reason.fill("too mu")

    const second = await askForRefund(client, 80)
    await page.getByRole("row").nth(1).waitFor()
    await reason.pressSequentially("ch")

    assert.equal(await reason.inputValue(), "too much")
    await page.getByText("1 marked").waitFor()
    await panel.getByRole("button", { name: "Reject" }).click()
    await page.getByText("No question is open").waitFor()
    assert.equal(await panel.count(), 0)
    assert.equal(await refundOf(client, first), 0)
    assert.equal((await client.threads.get(second)).status, "interrupted")
    await page.getByRole("button", { name: "Show the first one" }).click()
    await panel.getByText("The customer asks for 80 euros back.").waitFor()
    await panel.getByRole("button", { name: "Approve" }).click()
    assert.equal(await refundOf(client, second), 80)
  })

  await t.test("a question of no known shape is answered with a text, yes or no, or JSON", async () => {
    const thread = await client.threads.create()
    await client.runs.wait(thread.thread_id, "hitl", { input: { x: 1 } })
    const page = await browser.open("approvals")
    await page.getByRole("region", { name: "continue?" }).waitFor()

    await page.getByText("JSON", { exact: true }).click()
    await replaceJson(page, "Your answer as JSON", false)
    await page.getByRole("button", { name: "Answer", exact: true }).click()

    await page.getByText("The answer was sent.").waitFor()
    await until(
      async () => ((await client.threads.get<{ y: string }>(thread.thread_id)).values as { y: string }).y === "false",
      { what: "the answer in the state" },
    )
    await page.getByRole("link", { name: "Show the run" }).click()
    await page.getByRole("heading", { name: /^Run / }).waitFor()
  })

  await t.test("a run whose worker was killed has two attempts, each with its reason and its steps", async () => {
    const gate = newGate()
    const { threadId, runId } = await ask(client, { wish: "wait", gate: gate.path })
    const page = await browser.open(`threads/${threadId}/runs/${runId}`)
    const row = (name: string | RegExp) => page.getByRole("button", { name })
    await row(/^look_up .*executing/).waitFor()

    await killAll(childrenOf(server.pid))
    await row(/^Attempt 1 its worker process died/).waitFor()
    await row(/^Attempt 2 executing/).waitFor()
    gate.open()
    await page.getByText("success", { exact: true }).waitFor()

    await row(/^Attempt 2 finished/).waitFor()
    await row(/^reply .*done/).waitFor()
    const names = await page.locator(".waterfall-row .waterfall-name").allTextContents()
    const lanes = names.map((name) => /^(Attempt \d|plan|look_up|reply)/.exec(name)?.[0]).filter(Boolean)
    assert.deepEqual(lanes, ["Attempt 1", "plan", "look_up", "Attempt 2", "look_up", "reply"])
    await page.getByText("80 in, 21 out").first().waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])
    await keepScreenshot(page, "run")
    const [run, attempts, events, trace, history] = (await copiedResults(page)).map(Object)
    assert.deepEqual([run.run_id, attempts.attempts.length], [runId, 2])
    assert.ok(events.length > 5 && trace.length > 5 && history.length > 4)
    assert.ok(!(await page.locator(".waterfall-rows").innerText()).includes("≤"))
    await row(/^reply .*done/).click()
    await page.getByRole("region", { name: "Node reply" }).getByRole("heading", { name: "Output" }).waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])
  })

  await t.test("the first error of a run is in view, and it is run again from there", async () => {
    const { threadId, runId } = await ask(client, { wish: "damage" })
    await assert.rejects(client.runs.join(threadId, runId).then(throwError))
    const page = await browser.open("queue")
    await page.setViewportSize({ width: 1200, height: 620 })
    await page.goto(new URL(`threads/${threadId}/runs/${runId}`, `${server.url}/studio/`).href)
    const failed = page.getByRole("button", { name: /^look_up .*failed/ })
    await failed.waitFor()

    await page.getByRole("alert").getByText("RangeError: the ledger has no such order").waitFor()
    await page.getByText("The node look_up failed first.").waitFor()
    assert.equal(await failed.getAttribute("aria-current"), "true")
    const box = await failed.boundingBox()
    assert.ok(box && box.y >= 0 && box.y + box.height <= 620)
    assert.deepEqual(await accessibilityProblems(page), [])

    await failed.focus()
    for (const key of ["ArrowUp", "ArrowUp", "ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key)
    await page.getByRole("region", { name: "Node look_up" }).waitFor()
    await page.getByRole("button", { name: "Run again from here" }).click()

    await page.waitForURL((url) => !url.pathname.endsWith(runId))
    await page.getByText("The node look_up failed first.").waitFor()
    assert.equal((await client.runs.list(threadId)).length, 2)
  })

  await t.test("the raw events and the request of a run are shown", async () => {
    const { threadId, runId } = await ask(client, { wish: "damage", amount: 4711 })
    await assert.rejects(client.runs.join(threadId, runId).then(throwError))
    const page = await browser.open(`threads/${threadId}/runs/${runId}?view=events`)

    await page.getByRole("button", { name: /updates .*plan/ }).click()
    await page
      .getByRole("region", { name: /^Event/ })
      .getByText("Please refund 4711 euros.")
      .waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])
    await page.getByRole("link", { name: "Request" }).click()

    await page.getByRole("region", { name: "input" }).getByText("4711").waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])
  })

  await t.test("the queue says why a run waits, and cancels it", async () => {
    const gate = newGate()
    const running = await ask(client, { wish: "wait", gate: gate.path })
    const waiting = await ask(client, { wish: "wait", threadId: running.threadId })
    const page = await browser.open("queue")
    await page.getByText(`Another run executes on its thread, and a thread has one running run:`).waitFor()
    await page.getByRole("heading", { name: "1 waiting" }).waitFor()
    await page.getByRole("heading", { name: "1 executing" }).waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])
    const [waits, executes] = (await copiedResults(page)) as { run_id: string }[][]
    assert.deepEqual(fieldsOf(waits ?? [], "run_id"), [waiting.runId])
    assert.deepEqual(fieldsOf(executes ?? [], "run_id"), [running.runId])

    const stale = page.getByText(/^Not up to date since \d{4}-.*: Superstep does not answer\./)
    await page.route("**/queue?*", (route) => route.abort())
    await stale.waitFor()
    await page.getByRole("heading", { name: "1 waiting" }).waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])
    await page.unroute("**/queue?*")
    await stale.waitFor({ state: "detached" })
    await page.getByRole("button", { name: `Cancel run ${waiting.runId.slice(-8)}` }).click()
    await page.getByRole("heading", { name: "1 waiting" }).waitFor({ state: "detached" })
    gate.open()

    await page.getByText("Nothing waits and nothing executes").waitFor()
    assert.equal((await client.runs.get(waiting.threadId, waiting.runId)).status, "interrupted")
  })

  await t.test("a stop that the server refuses says so", async () => {
    const gate = newGate()
    const { threadId, runId } = await ask(client, { wish: "wait", gate: gate.path })
    const page = await browser.open(`threads/${threadId}/runs/${runId}`)
    const json = { detail: "the run is held", code: "conflict" }
    await page.route(/\/cancel/, (route) => route.fulfill({ status: 409, json }))

    await page.getByRole("button", { name: "Stop" }).click()

    await page.getByRole("alert").getByText("the run is held").waitFor()
    gate.open()
    await page.getByText("success", { exact: true }).waitFor()
  })

  await t.test("a cron is created, run now, switched off and deleted", async () => {
    const page = await browser.open("crons")
    await page.getByRole("button", { name: "New cron" }).first().click()
    await page.getByRole("combobox", { name: "Assistant" }).selectOption("hitl")
    await page.getByRole("textbox", { name: "Schedule" }).fill("0 0 1 1 *")
    await page.getByRole("textbox", { name: "Time zone" }).fill("Europe/Berlin")
    await page.getByText(/^Next: .*-01-01 00:00/).waitFor()
    await replaceJson(page, "Input of each run", { x: 7 })
    assert.deepEqual(await accessibilityProblems(page), [])
    await page.getByRole("button", { name: "Create", exact: true }).click()
    await page.getByRole("cell", { name: /-01-01 00:00/ }).waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])
    const [crons] = (await copiedResults(page)) as { cron_id: string; schedule: string }[][]
    assert.deepEqual(fieldsOf(crons ?? [], "schedule"), ["0 0 1 1 *"])

    await page.getByRole("button", { name: "Run now: 0 0 1 1 *" }).click()
    await page.getByText("The run was created.").waitFor()
    const [thread] = await client.threads.search({ metadata: { cron_id: crons?.[0]?.cron_id } })
    await page.getByRole("switch", { name: "Cron 0 0 1 1 *" }).press("Space")
    await page.getByText("switched off").waitFor()
    await page.getByRole("button", { name: "Delete 0 0 1 1 *" }).click()
    const question = page.getByRole("dialog", { name: "Delete the cron 0 0 1 1 * of hitl?" })
    await question.getByRole("button", { name: "Delete", exact: true }).click()

    await page.getByText("No crons").waitFor()
    assert.ok(thread)
  })

  await t.test("versions of an assistant are compared, edited and made the latest", async () => {
    const careful = { graphId: "desk", name: "Careful", context: { tone: "dry" } }
    const { assistant_id: id } = await client.assistants.create(careful)
    await client.assistants.update(id, { context: { tone: "warm", limit: 80 } })
    const page = await browser.open(`assistants?assistant=${id}`)

    await page.getByRole("combobox", { name: "Compare with" }).selectOption("1")
    const cells = (name: RegExp) => page.getByRole("row", { name }).getByRole("cell").allTextContents()
    assert.deepEqual(await cells(/context\.tone/), ["dry", "warm"])
    assert.deepEqual(await cells(/context\.limit/), ["none", "80"])
    assert.deepEqual(await accessibilityProblems(page), [])
    const [assistants, versions] = (await copiedResults(page)) as { name: string; version: number }[][]
    assert.ok(assistants?.some(({ name }) => name === "Careful"))
    assert.deepEqual(fieldsOf(versions ?? [], "version"), [2, 1])

    await page.getByRole("combobox", { name: "Version" }).first().selectOption("1")
    await page.getByRole("button", { name: "Make version 1 the latest" }).click()
    await page.getByText("latest", { exact: true }).waitFor()
    assert.equal((await client.assistants.get(id)).version, 1)
    await page.getByRole("button", { name: "Edit" }).click()
    await replaceJson(page, "Context", { tone: "kind" })
    assert.deepEqual(await accessibilityProblems(page), [])
    await page.getByRole("button", { name: "Save as a new version" }).click()
    await page.getByText("desk · version 3").waitFor()

    const { version, context } = await client.assistants.get(id)
    assert.deepEqual([version, context], [3, { tone: "kind" }])
    const deleted = await browser.open("assistants?assistant=00000000-0000-0000-0000-000000000000")
    await deleted.getByText("This assistant does not exist").waitFor()
  })

  await t.test("an assistant is not saved while a part of its context is no JSON", async () => {
    const { assistant_id: id } = await client.assistants.create({ graphId: "desk", context: { limits: { a: 1 } } })
    const page = await browser.open(`assistants?assistant=${id}`)
    const json = { context_schema: { properties: { limits: { type: "object" } } } }
    await page.route(/\/schemas$/, (route) => route.fulfill({ json }))
    await page.getByRole("button", { name: "Edit" }).click()

    await page.getByRole("textbox", { name: "limits" }).click()
    await page.keyboard.insertText("{")
    await page.getByRole("button", { name: "Save as a new version" }).focus()

    await page.getByRole("tooltip", { name: "Correct the JSON first." }).waitFor()
  })

  await t.test("an item of the store is found, edited and deleted", async () => {
    await client.store.putItem(["users", "u1"], "profile", { name: "Ada", likes: ["tea"] })
    await client.store.putItem(["policies"], "refunds", { limit: 50 })
    const page = await browser.open("store")
    await page.getByRole("searchbox", { name: "Search" }).fill("ADA")
    await page.getByRole("button", { name: /^refunds/ }).waitFor({ state: "detached" })
    await page.getByRole("region", { name: "Item profile" }).waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])

    await page.getByRole("button", { name: "Edit" }).click()
    await replaceJson(page, "Value", { name: "Ada", likes: ["maps"] })
    assert.deepEqual(await accessibilityProblems(page), [])
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("region", { name: "Value" }).getByText('"maps"').waitFor()
    const item = await client.store.getItem(["users", "u1"], "profile")
    assert.deepEqual(item?.value, { name: "Ada", likes: ["maps"] })

    await page.getByRole("searchbox", { name: "Search" }).fill("")
    await page.getByRole("link", { name: "policies" }).click()
    await page.getByRole("region", { name: "Item refunds" }).waitFor()
    const [found, all] = (await copiedResults(page)).map(Object)
    assert.equal(found.items.map(({ key }: { key: string }) => key).join(), "refunds")
    assert.equal(all.namespaces.length, 2)
    await page.getByRole("button", { name: "Delete refunds" }).click()
    await page.getByRole("button", { name: "Delete", exact: true }).click()

    await page.getByText("Nothing here matches.").waitFor()
    assert.equal(await client.store.getItem(["policies"], "refunds"), null)
  })

  await t.test(
    "what an agent writes while a person edits is not overwritten, and does not take the editor away",
    async () => {
      const { store } = client
      const at = ["policies"]
      await store.putItem(at, "refunds", { limit: 50 })
      const page = await browser.open("store")
      await page.getByRole("button", { name: "Edit" }).click()
      await replaceJson(page, "Value", { limit: 70 })
      await store.putItem(at, "other", {})
      await page.getByRole("button", { name: /^other/ }).waitFor()

      await store.putItem(at, "refunds", { limit: 60 })
      await page.getByRole("button", { name: "Save" }).click()
      await page.getByText("The item was changed while you edit.").waitFor()
      assert.deepEqual(await accessibilityProblems(page), [])
      assert.deepEqual((await store.getItem(at, "refunds"))?.value, { limit: 60 })
      await page.getByRole("button", { name: "Keep my text" }).click()
      await page.getByRole("button", { name: "Save" }).click()
      await page.getByRole("region", { name: "Value" }).getByText("70").waitFor()
      assert.deepEqual((await store.getItem(at, "refunds"))?.value, { limit: 70 })

      await page.getByRole("button", { name: "New item" }).click()
      await page.getByRole("textbox", { name: "Namespace" }).fill("policies")
      await page.getByRole("textbox", { name: "Key" }).fill("refunds")
      await page.getByRole("button", { name: "Put" }).click()
      await page.getByText("there is an item with this namespace and key").waitFor()
    },
  )

  await t.test("a link to an item shows no other one, and a long list of items is read on", async () => {
    await withClient(server.db.uri, (db) =>
      db.query(`insert into store (prefix, key, value, updated_at)
        select 'many', 'item ' || n, '{}', now() - make_interval(secs => n) from generate_series(0, 500) as n`),
    )
    const page = await browser.open(`store?namespace=["many"]&item=["many","none"]`)
    await page.getByText("This item does not exist").waitFor()
    const last = page.getByRole("button", { name: /^item 500/ })
    await page.getByText("The 500 items that changed last.").waitFor()
    assert.deepEqual(await page.locator(".store-namespace[aria-current]").allTextContents(), ["many"])
    assert.equal(await last.count(), 0)
    assert.deepEqual(await accessibilityProblems(page), [])

    await page.getByRole("button", { name: "Show more" }).click()
    await last.click()

    await page.getByRole("region", { name: "Item item 500" }).getByRole("button", { name: "Edit" }).waitFor()
  })

  // A browser notes as errors the 503 of the server while a killed worker is replaced, the refused stop, and the queue that cannot be read.
  const problems = browser.problems.filter((problem) => !/status of (503|409)|ERR_FAILED/.test(problem))
  assert.deepEqual(problems, [])
})

/** The result of a failed run says so. */
function throwError(result: unknown): void {
  const { __error__: error } = result as { __error__?: { message: string } }
  if (error) throw new Error(error.message)
}
