import assert from "node:assert/strict"
import { test } from "node:test"
import { type Asked, fakePlatform } from "../testing/fake-platform.js"

const id = "00000000-0000-4000-8000-000000000001"

/** A control plane with one deployment. */
function platform(canary: { weight: number } | null, status = "DEPLOYED") {
  const revision = (name: string, traffic: object | null, status = "DEPLOYED") => ({
    id: name,
    status,
    pinned_threads: 0,
    error_code: null,
    status_message: null,
    traffic,
    created_at: "2026-01-01T00:00:00Z",
    trigger: "patch",
    repeats_revision_id: null,
    message: null,
    commit: null,
    upload: null,
    source_revision_config: {},
  })
  const revisions = [revision("r2", canary, status), revision("r1", { weight: 90 })]
  return fakePlatform(({ method, path }: Asked) => {
    if (method === "POST") return revisions[0]
    const resources = path.endsWith("/revisions") ? revisions : [{ id, name: "shop", active_revision_id: "r1" }]
    return { resources, offset: 10 }
  })
}

test("a canary is found, and its traffic changed, promoted or aborted", async () => {
  await using it = await platform({ weight: 10 })

  const shown = await it.run("revisions", "shop")
  const more = await it.run("traffic", "shop", "50")
  const ends = [await it.run("promote", "shop"), await it.run("abort", "shop", "--revision", "r9")]
  const wrong = await it.run("traffic", "shop", "100")

  assert.match(shown.stdout, /r2 +DEPLOYED \(canary: 10 % of the threads\)/)
  assert.match(more.stdout, /r2 gets 50 % of the threads of shop/)
  assert.deepEqual([ends.map(({ code }) => code), wrong.code], [[0, 0], 1])
  assert.match(wrong.stderr, /100 is no percentage from 1 to 99/)
  const path = (name: string, action: string) => `/v2/deployments/${id}/revisions/${name}/${action}`
  const changes = it.asked.filter(({ method }) => method === "POST").map(({ path, body }) => ({ path, body }))
  assert.deepEqual(changes, [
    { path: path("r2", "traffic"), body: { weight: 50 } },
    { path: path("r2", "promote"), body: undefined },
    { path: path("r9", "abort"), body: undefined },
  ])
})

test("without a canary the sentence says how to make one", async () => {
  await using it = await platform(null)

  const { code, stderr } = await it.run("promote", "shop")

  assert.equal(code, 1)
  assert.match(stderr, /shop has no canary: superstep deploy --canary 10/)
})

test("a revision that is being rolled out has a share of the threads, and is no canary", async () => {
  await using it = await platform({ weight: 100 }, "DEPLOYING")

  const shown = await it.run("revisions", "shop")
  const { code, stderr } = await it.run("promote", "shop")

  assert.match(shown.stdout, /r2 +DEPLOYING +2026/)
  assert.equal(code, 1)
  assert.match(stderr, /shop has no canary/)
})
