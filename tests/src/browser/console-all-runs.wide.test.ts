/** The runs of several agents in a real browser: one list that reads on, and the runs of a revision. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Client } from "@langchain/langgraph-sdk"
import { until } from "@superstep/toolkit/testing/until"
import type { Route } from "playwright-core"
import { clientOf, type Deployment, deploy, deploymentOf, untilDeployed } from "../testing/deployments.js"
import type { Platform } from "../testing/installation.js"
import { startPlatform } from "../testing/platform.js"
import { accessibilityProblems, noChromium } from "./console-page.js"
import { deployDesk, deskRepository, signedIn } from "./deployed-desk.js"

// More than two pages of an agent.
const runsOfEach = 80

/** Runs on one thread. @returns the thread */
async function talk(client: Client): Promise<string> {
  const { thread_id: threadId } = await client.threads.create({ graphId: "talk" })
  const input = { messages: [{ role: "user", content: "hi" }] }
  const all = await Promise.all(
    Array.from({ length: runsOfEach }, () =>
      client.runs.create(threadId, "talk", { input, multitaskStrategy: "enqueue" }),
    ),
  )
  for (const { run_id } of all) await client.runs.join(threadId, run_id)
  return threadId
}

/** A deployment that sleeps when it has nothing to do. */
async function deploySleeper(platform: Platform, repoUrl: string): Promise<Deployment> {
  const { source_config, ...rest } = deploymentOf("sleeper", repoUrl)
  const asked = { ...rest, source_config: { ...source_config, deployment_type: "dev_free" } }
  const { body } = await platform.api<Deployment>("POST", "/v2/deployments", asked)
  await untilDeployed(platform, body.id, body.latest_revision_id)
  return body
}

test("the runs of several agents", { skip: noChromium }, async (t) => {
  // A second without a request: the deployment that may sleep does.
  await using platform = await startPlatform({ env: { SUPERSTEP_IDLE_MINUTES: "0.02" } })
  const { org_api_key: key } = platform.credentials
  const desk = await deployDesk(platform)
  const repository = await deskRepository()
  const talker = await deploy(platform, "talker", repository.url)
  const sleeper = await deploySleeper(platform, repository.url)
  const stateOf = async (id: string) =>
    (await platform.api<{ run_state: string }>("GET", `/v2/deployments/${id}`)).body.run_state
  const talkClient = clientOf(platform, talker)
  const threads = await Promise.all([talk(desk.client), talk(talkClient)])
  await until(async () => (await stateOf(sleeper.id)) === "asleep", { what: "one sleeps", timeoutMs: 120_000 })
  const inAll = async () => {
    const body = JSON.stringify({ limit: 1000, select: ["run_id"] })
    const headers = { "content-type": "application/json", "x-api-key": platform.credentials.api_key }
    const found = await Promise.all(
      [desk.deployment, talker].map(async ({ source_config: { custom_url: url } }) => {
        const reply = await fetch(`${url}/runs/search`, { method: "POST", headers, body })
        return ((await reply.json()) as { runs: unknown[] }).runs.length
      }),
    )
    return found.reduce((sum, count) => sum + count, 0)
  }
  await using browser = await signedIn(platform, key)
  const page = await browser.open("runs")
  const found = page.locator(".filters-found")
  const rows = page.getByRole("list", { name: "Runs" }).getByRole("listitem")
  const scroll = () => page.evaluate("document.querySelector('.long-list')?.scrollTo(0, 1e9)")
  /** Scrolls until the list ends. */
  const readAll = async (text: string) => {
    const isRead = async () => {
      await scroll()
      return (await found.textContent()) === text
    }
    await until(isRead, { what: `the list says ${text}` })
    // The last rows may have come after the scrolling.
    await scroll()
  }

  await t.test("the list reads on as it is scrolled, until it has all runs of all agents", async () => {
    await found.filter({ hasText: /^\d+\+ runs of 2 agents$/ }).waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])

    await readAll(`${await inAll()} runs of 2 agents`)
  })

  await t.test("an agent that sleeps is named, not asked, and goes on sleeping", async () => {
    await page.getByText("Not asked, since it sleeps or is paused: sleeper").waitFor()
    const { run_id: newest } = await talkClient.runs.create(threads[1] ?? "", "talk", { input: { messages: [] } })
    await page.evaluate("document.querySelector('.long-list').scrollTo(0, 0)")
    await rows.first().getByText(newest.slice(-8)).waitFor()

    assert.equal(await stateOf(sleeper.id), "asleep")
  })

  await t.test("an agent that does not answer for older runs is named, and is asked again", async () => {
    const search = `${talker.source_config.custom_url}/runs/search`
    const { length } = browser.problems
    await page.route(search, (route: Route) =>
      route.request().postData()?.includes('"cursor"') ? route.abort() : route.continue(),
    )
    await page.reload()
    const refusal = page.getByRole("region", { name: "Agents that do not answer" })
    const isNamed = async () => {
      await scroll()
      return (await refusal.count()) > 0
    }
    await until(isNamed, { what: "the refusal is named" })
    await refusal.getByText("1 of 2 agents does not answer.").waitFor()
    await refusal.getByRole("listitem").filter({ hasText: "talker, runs before" }).waitFor()
    assert.deepEqual(await accessibilityProblems(page), [])
    await page.unroute(search)
    await refusal.getByRole("button", { name: "Ask again" }).click()

    await refusal.waitFor({ state: "detached" })
    await readAll(`${await inAll()} runs of 2 agents`)
    // The browser reports each request that was broken.
    browser.problems.splice(length)
  })

  await t.test("a revision leads to the runs that it executed", async () => {
    await page.goto(new URL(`/deployments/${talker.id}/revisions`, page.url()).href)
    await page.getByRole("link", { name: "Its runs" }).first().click()
    await page.waitForURL(new RegExp(`/deployments/${talker.id}/agent/runs\\?revision=`))

    assert.equal(new URL(page.url()).searchParams.get("revision"), talker.latest_revision_id)
    await readAll(`${runsOfEach + 1} runs`)
  })

  await t.test("signing out removes what the tab keeps of the conversation", async () => {
    const thread = `deployments/${talker.id}/agent/threads/${threads[1]}`
    await page.goto(new URL(thread, platform.credentials.url).href)
    await page.locator("summary", { hasText: "Configuration" }).click()
    const config = page.getByRole("textbox", { name: "Config, as JSON" })
    await config.click()
    await page.keyboard.press("ControlOrMeta+a")
    await page.keyboard.insertText('{"recursion_limit": 7}')
    await page.getByText("changed", { exact: true }).waitFor()
    const kept = () => page.evaluate<string>("JSON.stringify(Object.entries(sessionStorage))")
    assert.match(await kept(), /recursion_limit/)

    await page.getByRole("button", { name: /^Account and workspace/ }).click()
    await page.getByRole("menuitem", { name: "Sign out" }).click()
    await page.getByLabel("API key").waitFor()

    assert.doesNotMatch(await kept(), /recursion_limit/)
    await page.getByLabel("API key").fill(key)
    await page.keyboard.press("Enter")
    await page.getByRole("link", { name: "talker", exact: true }).waitFor()
    await page.goto(new URL(thread, platform.credentials.url).href)
    await page.locator("summary", { hasText: "Configuration" }).waitFor()
    assert.equal(await page.getByText("changed", { exact: true }).count(), 0)
  })

  assert.deepEqual(browser.problems, [])
})
