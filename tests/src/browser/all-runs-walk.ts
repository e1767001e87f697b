/** A part of the walk through the platform: the page with the runs of all agents. */
import assert from "node:assert/strict"
import type { Page } from "playwright-core"
import type { Deployment } from "../testing/deployments.js"
import type { Platform } from "../testing/installation.js"
import type { ConsoleBrowser } from "./console-page.js"

export const allRuns =
  "the runs of all agents are in one list, and an agent that is not asked or does not answer is named"

interface Walk {
  readonly platform: Platform
  readonly browser: ConsoleBrowser
  readonly page: Page
  /** One that serves, and has a run. */
  readonly deployment: Deployment
  readonly look: (name: string) => Promise<void>
}

// The machine may be busy.
const resumeMs = 300_000

export async function walkAllRuns({ platform, browser, page, deployment, look }: Walk): Promise<void> {
  const { id, name, source_config } = deployment
  await page.getByRole("link", { name: "Runs", exact: true }).first().click()
  await page.waitForURL(/\/runs$/)
  const rows = page.getByRole("list", { name: "Runs" }).getByRole("link")
  await rows.filter({ hasText: name }).first().waitFor()
  assert.match(
    (await rows.first().getAttribute("href")) ?? "",
    new RegExp(`/deployments/${id}/agent/threads/.+/runs/.+`),
  )
  await page.getByLabel("Status").selectOption("failed")
  await page.getByText("No run matches").waitFor()
  await page.getByRole("button", { name: "Clear" }).click()
  await rows.first().waitFor()
  await look("all-runs")

  const { length } = browser.problems
  const search = `${source_config.custom_url}/runs/search`
  await page.route(search, (route) => route.abort())
  await page.reload()
  const refusal = page.getByRole("region", { name: "Agents that do not answer" })
  await refusal.getByRole("listitem").filter({ hasText: name }).waitFor()
  await page.unroute(search)
  await rows.first().waitFor()
  // The browser reports each request that this walk has broken.
  browser.problems.splice(length)
  await platform.api("POST", `/v2/deployments/${id}/pause`, {})
  await page.getByText("Not asked, since it sleeps or is paused").waitFor()
  await platform.api("POST", `/v2/deployments/${id}/resume`, {})
  await rows.first().waitFor({ timeout: resumeMs })
}
