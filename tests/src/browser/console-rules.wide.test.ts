/** The console with a project that has access rules, on agent servers of `superstep dev`. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { startGraphServer } from "../testing/graph-server.js"
import { makeGuarded } from "../testing/guarded-project.js"
import { accessibilityProblems, noChromium, openConsole } from "./console-page.js"

const pages = ["threads", "approvals", "queue", "crons", "assistants", "store"]

const rules = `
import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth"

export const auth = new Auth().authenticate((request) => {
  const name = request.headers.get("authorization")
  if (name === null) throw new HTTPException(401, { message: "Send a token." })
  return name
})
`

/** @param handlers  calls of `auth.on`, which decide what each user may do */
function serverWith(change: object, handlers = "") {
  const auth = { path: "./src/auth.ts:auth", ...change }
  const { config } = makeGuarded("guarded", { auth }, { "src/auth.ts": rules + handlers })
  return startGraphServer({ SUPERSTEP_CONFIG: config, SUPERSTEP_DEV: "1" }, { hasUnitToken: false })
}

test("the console of superstep dev opens a project with access rules", { skip: noChromium }, async () => {
  await using server = await serverWith({})
  await using browser = await openConsole(`${server.url}/studio/`)

  for (const path of pages) {
    const page = await browser.open(path)
    await page.getByRole("heading", { level: 1 }).waitFor()
    await page.locator(".loading").waitFor({ state: "detached" })
    assert.equal(await page.locator(".problem").count(), 0, path)
  }
  const page = await browser.open("threads")
  await page.getByRole("button", { name: "New thread" }).first().click()
  await page.getByRole("menuitem").first().click()
  await page.getByRole("heading", { name: /^Thread / }).waitFor()
  // The stream of a thread is a WebSocket, which needs the same right.
  await page.locator(".graph-node").first().waitFor()
  assert.equal(await page.locator(".problem").count(), 0)
})

test("where the project refuses the console, its pages say that, and not to sign in", {
  skip: noChromium,
}, async () => {
  await using server = await serverWith({ disable_studio_auth: true })
  await using browser = await openConsole(`${server.url}/studio/`)

  for (const path of pages) {
    const page = await browser.open(path)
    await page.getByText("Send a token.").waitFor()
    await page.getByText(/asks for its own login .*disable_studio_auth is set/).waitFor()
    assert.equal(await page.getByText(/sign in/i).count(), 0, path)
    assert.equal(await page.locator(".problem").count(), 1, path)
  }
})

test("what a rule refuses is shown where it was asked for, with what to do", {
  skip: noChromium,
}, async () => {
  const handlers = `auth.on("threads:create_run", () => false).on("threads:update", () => false)`
  await using server = await serverWith({}, handlers)
  await using browser = await openConsole(`${server.url}/studio/`)
  const page = await browser.open("threads")
  await page.getByRole("button", { name: "New thread" }).first().click()
  await page.getByRole("menuitem").first().click()
  await page.getByRole("heading", { name: /^Thread / }).waitFor()

  await page.getByRole("form", { name: "Input" }).getByRole("button", { name: "Run" }).click()

  const problem = page.locator(".composer .problem")
  await problem.getByText(/access rules .* do not allow this to the console's user, langgraph-studio-user/).waitFor()
  assert.deepEqual(await accessibilityProblems(page), [])
})
