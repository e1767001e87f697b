import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { exampleDeployment, startApi, type TestApi } from "../testing/api.js"

const image = (n: number) => ({ image_uri: `registry.test/agent@sha256:${String(n).repeat(64)}` })
const commit = { sha: "0123456789abcdef", message: "fix: the greeting", author: "Ada", branch: "main", is_dirty: true }

/** A deployment of images that its client builds: like uploads, they have no history that the platform could read. */
async function start() {
  const api = await startApi()
  const body = { name: "shop-bot", source: "internal_docker", source_revision_config: {} }
  const { id } = (await api.call("POST", "/v2/deployments", { body })).body
  const path = `/v2/deployments/${id}`
  return {
    api,
    path,
    patch: (change: object) => api.call("PATCH", path, { body: change }),
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  }
}

const revisionsOf = async (api: TestApi, path: string) => (await api.call("GET", `${path}/revisions`)).body.resources
const factsOf = (revisions: { message: unknown; commit: unknown }[]) =>
  revisions.map((it) => ({ message: it.message, commit: it.commit }))

test("the message is of one revision, the commit of its code, until other code comes, as events say", async () => {
  await using it = await start()

  await it.patch({ source_revision_config: { ...image(1), commit }, message: "a calmer bot" })
  await it.patch({ secrets: [{ name: "MODEL_KEY", value: "1" }] })
  await it.patch({ source_revision_config: image(2) })

  const revisions = await revisionsOf(it.api, it.path)
  assert.deepEqual(factsOf(revisions), [
    { message: null, commit: null },
    { message: null, commit },
    { message: "a calmer bot", commit },
  ])
  assert.equal("commit" in revisions[1].source_revision_config, false)
  assert.equal(revisions[1].source_revision_config.repo_commit_sha, null)
  const { resources } = (await it.api.call("GET", `${it.path}/events?order=asc`)).body
  const told = resources.filter(({ type }: { type: string }) => type === "revision.status_changed")
  assert.deepEqual(
    factsOf(told.map(({ data }: { data: { message: unknown; commit: unknown } }) => data)),
    factsOf(revisions).toReversed(),
  )
})

test("a redeploy and a rollback have the message and the commit of what they repeat, or a message of their own", async () => {
  await using it = await start()
  await it.patch({ source_revision_config: { ...image(1), commit }, message: "a calmer bot" })
  const [first] = await revisionsOf(it.api, it.path)
  await it.patch({ source_revision_config: image(2), message: "bolder" })
  await it.api.db.run(sql`update revisions set status = 'DEPLOYED', stage = null`)

  await it.api.call("POST", `${it.path}/revisions/${first.id}/redeploy`)
  await it.api.call("POST", `${it.path}/rollback`, { body: { revision_id: first.id, message: "bolder was rude" } })
  await it.api.call("POST", `${it.path}/revisions?on_conflict=queue`, { body: { message: "try again" } })

  const revisions = await revisionsOf(it.api, it.path)
  assert.deepEqual(factsOf(revisions.slice(0, 3)), [
    { message: "try again", commit },
    { message: "bolder was rude", commit },
    { message: "a calmer bot", commit },
  ])
  assert.deepEqual(
    revisions.slice(0, 3).map((one: { repeats_revision_id: unknown }) => one.repeats_revision_id),
    [null, first.id, first.id],
  )
})

test("the texts of strangers are cleaned and cut, and no deploy fails for them", async () => {
  await using it = await start()
  const hostile = { ...commit, message: "x".repeat(1_000_000), author: "Ada\u0000\u001b[31m", branch: "\ud800a\u202eb" }

  const changed = await it.patch({
    source_revision_config: { ...image(1), commit: { ...hostile, is_dirty: null } },
    message: "one\n\ntwo\u0000\u202ethree",
  })

  assert.equal(changed.status, 200, changed.text)
  const [revision] = await revisionsOf(it.api, it.path)
  assert.equal(revision.message, "one two three")
  assert.equal(revision.commit.message.length, 500)
  assert.deepEqual(
    [revision.commit.author, revision.commit.branch, revision.commit.is_dirty],
    ["Ada [31m", "\ufffdab", false],
  )
})

test("a commit without code, or with a wrong id, is refused, and nothing is created", async () => {
  await using it = await start()

  const alone = await it.patch({ source_revision_config: { commit } })
  const wrong = await it.patch({ source_revision_config: { ...image(1), commit: { ...commit, sha: "HEAD" } } })
  const ofRepository = await it.api.call("POST", "/v2/deployments", {
    body: {
      ...exampleDeployment("other"),
      source_revision_config: { ...exampleDeployment().source_revision_config, commit },
    },
  })

  assert.deepEqual([alone.status, wrong.status, ofRepository.status], [422, 422, 422])
  assert.match(alone.text, /describes source_tarball_path or image_uri: send it with one of them/)
  assert.match(wrong.text, /expected the hexadecimal id of a commit/)
  assert.deepEqual(await revisionsOf(it.api, it.path), [])
})
