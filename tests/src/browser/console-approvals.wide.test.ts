/** Deployed agents on a platform in a real browser, all through the edge: their questions are answered, and a conversation is followed. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { clientOf, deploy } from "../testing/deployments.js"
import { startPlatform } from "../testing/platform.js"
import { newGate } from "./chat-page.js"
import { accessibilityProblems, noChromium } from "./console-page.js"
import { deskRepository, signedIn } from "./deployed-desk.js"
import { askForRefund, refundOf } from "./desk.js"
import { checkpoints, composer, openThread, untilConversation, untilNode } from "./thread-page.js"

test("the console's pages of deployed agents", { skip: noChromium }, async (t) => {
  await using platform = await startPlatform()
  const deployment = await deploy(platform, "help-desk", (await deskRepository()).url)
  const client = clientOf(platform, deployment)
  // An agent that has just started computes them, which takes long on a busy machine; the pages wait for them.
  await client.assistants.getSchemas("talk")
  const { body: reader } = await platform.api<{ key: string }>("POST", "/v2/api-keys", { name: "r", scopes: ["read"] })
  await using reading = await signedIn(platform, reader.key)
  await using browser = await signedIn(platform, platform.credentials.api_key)
  const pages = `deployments/${deployment.id}/agent/`
  const newThread = () => client.threads.create({ graphId: "talk" })

  await t.test("questions of all agents are on one page, and a key that only reads cannot answer them", async () => {
    const threads = [await askForRefund(client, 20), await askForRefund(client, 30)]
    const looked = await reading.open("approvals")
    await looked.getByRole("row").filter({ hasText: "amount: 20" }).waitFor()
    const approve = looked.getByRole("region", { name: "refund" }).first().getByRole("button", { name: "Approve" })
    assert.equal(await approve.getAttribute("aria-disabled"), "true")
    await approve.press("Enter")

    const page = await browser.open("approvals")
    await page.getByRole("heading", { name: "help-desk" }).waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])
    const tokens: string[] = []
    page.on("request", (request) => request.url().endsWith("/agent-token") && tokens.push(request.url()))
    const readAgain = page.waitForRequest(/threads\/search/)
    // As when a person comes back to the tab: another token would start all streams of the page anew.
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await readAgain
    assert.deepEqual(tokens, [])
    for (const amount of [20, 30]) {
      const row = page.getByRole("row").filter({ hasText: `amount: ${amount}` })
      await row.getByText("refund").click()
      await page.getByText(`The customer asks for ${amount} euros back.`).waitFor()
      await page.getByRole("region", { name: "refund" }).first().getByRole("button", { name: "Approve" }).click()
      await row.waitFor({ state: "detached" })
    }

    await page.getByText("Nothing waits for an answer.").waitFor()
    assert.deepEqual(await Promise.all(threads.map((id) => refundOf(client, id))), [20, 30])
  })

  await t.test("a key that only reads sees each run as it happens, and cannot send a message", async () => {
    const thread = await newThread()
    const page = await openThread(reading, thread.thread_id, pages)
    assert.equal(await composer(page).isDisabled(), true)
    const shown: string[] = []
    for (const content of ["one", "two"]) {
      const gate = newGate()
      const input = { messages: [{ role: "user", content }] }
      const config = { configurable: { gate: gate.path } }
      await client.runs.create(thread.thread_id, "talk", { input, config })

      await untilConversation(page, [...shown, `You: ${content}`, "Agent: You said"])
      await untilNode(page, "answer", "running")
      gate.open()

      shown.push(`You: ${content}`, `Agent: You said ${content}.`)
      await untilConversation(page, shown)
      await untilNode(page, "answer", "done")
    }
    await checkpoints(page).nth(5).waitFor()
    // A switch that is disabled takes no focus, so the page says why.
    await (await reading.open(`${pages}crons`)).getByText("You may only read here.").waitFor()
  })

  assert.deepEqual([...reading.problems, ...browser.problems], [])
})
