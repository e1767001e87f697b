/** The approvals of a platform in a real browser: questions of deployed agents, answered through the edge. */
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { clientOf, deploy } from "../testing/deployments.js"
import { startPlatform } from "../testing/platform.js"
import { createRepository } from "../testing/repository.js"
import { accessibilityProblems, noChromium, openConsole } from "./console-page.js"
import { askForRefund, refundOf } from "./desk.js"

const desk = readFileSync(fileURLToPath(new URL("../../graphs/src/desk.ts", import.meta.url)), "utf8")
const project = { node_version: "20", graphs: { desk: "./src/desk.ts:graph" }, env: {} }
const skip = noChromium || unlessWide("deploys an agent and drives a browser")

test("questions of deployed agents are on one page, and a key that only reads cannot answer them", {
  skip,
}, async () => {
  await using platform = await startPlatform()
  const repository = await createRepository()
  await repository.push({ "langgraph.json": JSON.stringify(project), "src/desk.ts": desk })
  const deployment = await deploy(platform, "help-desk", repository.url)
  const client = clientOf(platform, deployment)
  const threads = [await askForRefund(client, 20), await askForRefund(client, 30)]
  const { url, api_key: apiKey } = platform.credentials
  const { body: reader } = await platform.api<{ key: string }>("POST", "/v2/api-keys", { name: "r", scopes: ["read"] })
  const signedIn = async (key: string) => {
    const browser = await openConsole(`${url}/`)
    const data = { api_key: key }
    const reply = await browser.context.request.post(`${url}/v2/console/sessions`, { data, headers: { origin: url } })
    assert.equal(reply.status(), 201)
    return browser
  }

  await using reading = await signedIn(reader.key)
  const looked = await reading.open("approvals")
  await looked.getByRole("row").filter({ hasText: "amount: 20" }).waitFor()
  const approve = looked.getByRole("region", { name: "refund" }).first().getByRole("button", { name: "Approve" })
  assert.equal(await approve.getAttribute("aria-disabled"), "true")
  await approve.press("Enter")

  await using browser = await signedIn(apiKey)
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
  assert.deepEqual([...reading.problems, ...browser.problems], [])
})
