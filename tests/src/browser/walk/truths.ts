/** What pages show that the API must also say. */
import type { Client } from "@langchain/langgraph-sdk"
import type { Page } from "playwright-core"
import type { Platform } from "../../testing/installation.js"

export interface Truth {
  /** Of the path and the search of an address. */
  readonly on: RegExp
  /** What the page shows and what the API says: must be the same soon. */
  readonly compare: (page: Page, ids: readonly string[]) => Promise<readonly [shown: string, said: string]>
}

const sorted = (texts: readonly string[]) => [...texts].sort().join(", ")
const textOf = async (page: Page, selector: string) =>
  (
    await page
      .locator(selector)
      .first()
      .innerText({ timeout: 1000 })
      .catch(() => "nothing")
  ).trim()

export function truthsOf(platform: Platform, client: Client): readonly Truth[] {
  const named = async (path: string) =>
    (await platform.api<{ resources: { name: string }[] }>("GET", path)).body.resources.map(({ name }) => name)
  return [
    {
      on: /^\/$/,
      compare: async (page) => [
        sorted(await page.locator(".deployments-name").allTextContents()),
        sorted(await named("/v2/deployments?limit=100")),
      ],
    },
    {
      on: /^\/deployments\/([\w-]+)$/,
      compare: async (page, [id]) => [
        (await page.getByRole("button", { name: "Resume", includeHidden: true }).count()) > 0 ? "paused" : "not paused",
        (await platform.api<{ run_state: string }>("GET", `/v2/deployments/${id}`)).body.run_state === "paused"
          ? "paused"
          : "not paused",
      ],
    },
    {
      on: /\/agent\/threads$/,
      compare: async (page) => {
        const count = await client.threads.count()
        return [await textOf(page, ".filters-found"), `${count} ${count === 1 ? "thread" : "threads"}`]
      },
    },
    {
      on: /\/agent\/threads\/([\w-]+)$/,
      compare: async (page, [id = ""]) => [
        (await textOf(page, ".page-head .thread-status")).replace(/[^a-z]/g, ""),
        (await client.threads.get(id)).status,
      ],
    },
    {
      on: /\/agent\/threads\/([\w-]+)\/runs\/([\w-]+)$/,
      compare: async (page, [thread = "", run = ""]) => [
        await textOf(page, ".run-facts .badge"),
        (await client.runs.get(thread, run)).status,
      ],
    },
    {
      on: /\/agent\/approvals$/,
      compare: async (page) => {
        const waiting = await client.threads.search({ status: "interrupted", limit: 100 })
        const questions = waiting.flatMap(({ interrupts }) => Object.values(interrupts).flat())
        return [String(await page.locator(".approvals-row").count()), String(questions.length)]
      },
    },
    {
      on: /\/agent\/crons$/,
      compare: async (page) => [
        String(await page.locator("main tbody tr").count()),
        String((await client.crons.search({ limit: 100 })).length),
      ],
    },
  ]
}
