import assert from "node:assert/strict"
import { test } from "node:test"
import { QueryClient } from "@tanstack/react-query"
import type { PlatformRequest } from "./api.js"
import { deploymentsQuery, integrationsQuery, membersQuery } from "./queries.js"

/** A control plane whose lists have so many items. */
const platformWith = (total: number) => ({
  workspaceId: "w1",
  call: async <Reply>(path: string, _request?: PlatformRequest) => {
    const { searchParams } = new URL(path, "http://control")
    const [limit, offset] = [Number(searchParams.get("limit") ?? 20), Number(searchParams.get("offset") ?? 0)]
    const all = Array.from({ length: total }, (_, n) => ({ id: `i${n}`, person_id: `i${n}` }))
    const resources = all.slice(offset, offset + limit)
    return { resources, offset: offset + resources.length } as Reply
  },
})

test("the lists that pages share are read to their end", async () => {
  const platform = platformWith(250)
  const client = new QueryClient({ defaultOptions: { queries: { gcTime: 0 } } })

  const deployments = await client.fetchQuery(deploymentsQuery(platform))
  const members = await client.fetchQuery(membersQuery(platform))
  const integrations = await client.fetchQuery(integrationsQuery(platform))

  assert.deepEqual(
    [deployments, members, integrations].map(({ resources }) => resources.length),
    [250, 250, 250],
  )
})
