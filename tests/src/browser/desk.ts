/** The help desk of `tests/graphs/src/desk.ts`, and what tests of the console's pages of runs do with it. */
import assert from "node:assert/strict"
import { fileURLToPath } from "node:url"
import type { Client } from "@langchain/langgraph-sdk"
import { until } from "@superstep/toolkit/testing/until"
import type { Page } from "playwright-core"
import { type GraphServer, startGraphServer } from "../testing/graph-server.js"

const config = fileURLToPath(new URL("../../graphs/desk.json", import.meta.url))

export interface DeskRun {
  readonly threadId: string
  readonly runId: string
}

export interface DeskWish {
  readonly wish: "refund" | "damage" | "wait"
  readonly amount?: number
  /** For `wait`: a file for which the run waits. */
  readonly gate?: string
  readonly threadId?: string
}

/** A server of `superstep dev` with the help desk. */
export const startDesk = (): Promise<GraphServer> =>
  startGraphServer({ SUPERSTEP_CONFIG: config, SUPERSTEP_DEV: "1" }, { hasUnitToken: false })

/** Creates a run, and does not wait for it. */
export async function ask(client: Client, { wish, amount = 12, gate, threadId }: DeskWish): Promise<DeskRun> {
  const thread = threadId ?? (await client.threads.create()).thread_id
  const run = await client.runs.create(thread, "desk", {
    input: { wish, amount },
    streamResumable: true,
    streamMode: ["updates", "tasks", "messages-tuple"],
    ...(gate !== undefined && { config: { configurable: { gate } } }),
  })
  return { threadId: thread, runId: run.run_id }
}

/** Creates a run that asks for a refund, and waits until its question is open. @returns the thread */
export async function askForRefund(client: Client, amount: number): Promise<string> {
  const { threadId, runId } = await ask(client, { wish: "refund", amount })
  await client.runs.join(threadId, runId)
  return threadId
}

/** Waits until the desk has decided, and returns how much it has refunded. */
export async function refundOf(client: Client, threadId: string): Promise<number> {
  const thread = await until(
    async () => {
      const found = await client.threads.get<{ refunded: number }>(threadId)
      return found.status === "idle" && found
    },
    { what: "the decision" },
  )
  return (thread.values as { refunded: number }).refunded
}

/** Replaces the text of a JSON editor. */
export async function replaceJson(page: Page, label: string, value: unknown): Promise<void> {
  const editor = page.getByRole("textbox", { name: label, exact: true })
  await editor.click()
  await page.keyboard.press("Control+A")
  await page.keyboard.insertText(JSON.stringify(value))
  const text = await editor.textContent()
  assert.deepEqual(JSON.parse(text ?? ""), value)
}
