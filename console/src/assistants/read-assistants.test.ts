import assert from "node:assert/strict"
import { test } from "node:test"
import type { Agent } from "../agent/use-agent.js"
import { readAssistants, readVersions } from "./read-assistants.js"

interface Page {
  readonly limit: number
  readonly offset: number
}

test("all assistants and all versions are read, however many there are", async () => {
  const pageOf = ({ limit, offset }: Page) =>
    Array.from({ length: 2500 }, (_, n) => ({ assistant_id: `a${n}`, version: 2500 - n })).slice(offset, offset + limit)
  const assistants = {
    search: async (page: Page) => pageOf(page),
    getVersions: async (_id: string, page: Page) => pageOf(page),
  }
  const agent = { client: { assistants } } as unknown as Agent
  const { signal } = new AbortController()

  assert.equal((await readAssistants(agent, signal)).length, 2500)
  assert.equal((await readVersions(agent, "a1", signal)).length, 2500)
})
