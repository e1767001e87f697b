/** The console's list of runs in a real browser, on an agent server of `superstep dev`. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { skip as noProc } from "@superstep/toolkit/testing/processes"
import { until } from "@superstep/toolkit/testing/until"
import { newGate } from "./chat-page.js"
import { accessibilityProblems, noChromium, openConsole } from "./console-page.js"
import { copiedResults } from "./curl-commands.js"
import { ask, askForRefund, startDesk } from "./desk.js"

const skip = noChromium || noProc
test("the console's list of runs", { skip }, async (t) => {
  await using server = await startDesk()
  const { client } = server
  await using browser = await openConsole(`${server.url}/studio/`)
  t.afterEach(() => browser.closePages())
  await browser.context.grantPermissions(["clipboard-read", "clipboard-write"])
  const failed = [await ask(client, { wish: "damage" }), await ask(client, { wish: "damage" })]
  for (const { threadId, runId } of failed) await client.runs.join(threadId, runId)
  await askForRefund(client, 5)
  const rows = (page: Awaited<ReturnType<typeof browser.open>>) =>
    page.getByRole("list", { name: "Runs" }).getByRole("listitem")

  await t.test("what failed is found by its status and its error, and the address keeps that", async () => {
    const page = await browser.open("runs")
    await rows(page).nth(2).waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])

    await page.getByRole("combobox", { name: "Status" }).selectOption("failed")
    await page.getByRole("searchbox", { name: "Text in errors" }).fill("no such order")
    await page.getByText("2 runs", { exact: true }).waitFor()

    await page.waitForURL(/status=failed/)
    const again = await browser.open(`runs${new URL(page.url()).search}`)
    await again.getByText("RangeError: the ledger has no such order").nth(1).waitFor()
    assert.equal(await rows(again).count(), 2)
    const [found] = (await copiedResults(again)) as { runs: { run_id: string }[] }[]
    assert.deepEqual(found?.runs.map(({ run_id }) => run_id).sort(), failed.map(({ runId }) => runId).sort())
  })

  await t.test("runs are chosen by keyboard, run again and cancelled, several at once", async () => {
    const page = await browser.open("runs?status=failed")
    await rows(page).nth(1).waitFor()
    await page.getByRole("checkbox").first().focus()
    await page.keyboard.press("Space")
    await page.getByRole("checkbox").nth(1).click()
    await page.getByText("2 chosen").waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])

    await page.getByRole("button", { name: "Run 2 again" }).click()
    await page.getByText("4 runs", { exact: true }).waitFor()
    for (const { threadId } of failed) assert.equal((await client.runs.list(threadId)).length, 2)

    const gates = [newGate(), newGate()]
    const waiting = await Promise.all(gates.map((gate) => ask(client, { wish: "wait", gate: gate.path })))
    await page.getByRole("combobox", { name: "Status" }).selectOption("in flight")
    await rows(page).nth(1).waitFor()
    for (const box of await page.getByRole("checkbox").all()) await box.click()
    await page.getByRole("button", { name: "Cancel 2" }).click()
    await page.getByText("No run matches").waitFor()
    for (const { threadId, runId } of waiting)
      assert.equal((await client.runs.get(threadId, runId)).status, "interrupted")
  })

  await t.test("a run whose thread has gone on is not run again", async () => {
    const page = await browser.open("runs?status=failed")
    const [{ threadId, runId }] = failed as [(typeof failed)[0]]
    await page.getByRole("checkbox", { name: `Choose run ${runId.slice(-8)}` }).click()

    await page.getByRole("button", { name: "Run 1 again" }).click()

    await page
      .getByRole("alert")
      .getByText(/^run .{8}: Run .* is not the last one/)
      .waitFor()
    assert.equal((await client.runs.list(threadId)).length, 2)
  })

  await t.test("a run is replayed from one of its checkpoints, by keyboard; a stateless run has none", async () => {
    const [{ threadId, runId }] = failed as [(typeof failed)[0]]
    const gate = newGate()
    const { run_id: stateless } = await client.runs.create(null, "desk", {
      input: { wish: "wait", amount: 1 },
      config: { configurable: { gate: gate.path } },
    })
    const page = await browser.open("runs")
    const replay = (id: string) => page.getByRole("button", { name: `Replay run ${id.slice(-8)} from a checkpoint` })
    await replay(stateless).focus()
    await page.getByRole("tooltip", { name: /keeps no checkpoint/ }).waitFor()
    await page.keyboard.press("Enter")
    assert.equal(await page.getByRole("dialog").count(), 0)
    gate.open()

    await replay(runId).focus()
    await page.keyboard.press("Enter")
    const dialog = page.getByRole("dialog", { name: `Replay run ${runId.slice(-8)}` })
    const newest = dialog.getByRole("option").first()
    await newest.waitFor()
    assert.match((await newest.textContent()) ?? "", /^plannext: .*look_up/)
    assert.deepEqual(await accessibilityProblems(page), [])
    await dialog.getByRole("button", { name: "Replay from it" }).focus()
    await page.keyboard.press("Enter")

    await page.waitForURL(new RegExp(`threads/${threadId}/runs/`))
    assert.equal((await client.runs.list(threadId)).length, 3)
    await until(async () => (await client.runs.list(threadId))[0]?.status === "error", { what: "it has failed again" })
  })

  assert.deepEqual(browser.problems, [])
})
