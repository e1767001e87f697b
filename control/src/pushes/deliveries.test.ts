/** Webhooks through the API: who may send them, the effect of each host's pushes, and what is ignored. */
import assert from "node:assert/strict"
import { beforeEach, test } from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import { sql } from "@superstep/toolkit/db/sql"
import { exampleDeployment, shared, startApi } from "../testing/api.js"
import { type Provider, providers } from "./push.js"
import { noCommit, pushBody, pushEvents, type SentDelivery, shaOf, signed, signedPush } from "./testing/deliveries.js"

const secret = "the installation's secret"

// One database for all tests, emptied before each: creating one takes longer than most of these tests.
const api = shared(() => startApi({ webhookSecrets: [new Secret(secret)] }))
beforeEach(async () => {
  await api.db.run(sql`delete from deployments`)
  await api.db.run(sql`delete from integrations`)
  await api.db.run(sql`delete from git_deliveries`)
})

const send = ({ path, headers, text }: SentDelivery, query = "") =>
  api.call("POST", `${path}${query}`, { text, headers: { ...headers, "x-api-key": "" } })

async function addDeployment(change: { name?: string; config?: object; ref?: string; asOther?: boolean } = {}) {
  const example = exampleDeployment(change.name, { build_on_push: true, ...change.config })
  const source_revision_config = { ...example.source_revision_config, repo_ref: change.ref ?? "main" }
  const body = { ...example, source_revision_config }
  const reply = await (change.asOther ? api.callAsOther : api.call)("POST", "/v2/deployments", { body })
  assert.equal(reply.status, 201, reply.text)
  return reply.body
}

async function addIntegration(asOther = false): Promise<string> {
  const body = { name: "hub", host: "github.com", token: "ghp_x" }
  return (await (asOther ? api.callAsOther : api.call)("POST", "/v2/integrations/git", { body })).body.id
}

const revisionsOf = async (deploymentId: string) =>
  api.db.rows<{ trigger: string; sha: string | null }>(sql`
    select trigger, source_revision_config ->> 'repo_commit_sha' as sha from revisions
    where deployment_id = ${deploymentId} order by seq`)
const pushesOf = async (deploymentId: string) =>
  (await revisionsOf(deploymentId)).filter(({ trigger }) => trigger === "push").map(({ sha }) => sha)

for (const provider of providers) {
  test(`a push reported by ${provider} becomes a revision of exactly its commit`, async () => {
    const { id, name } = await addDeployment()

    const reply = await send(signedPush(provider, secret))

    const [outcome] = reply.body.deployments
    assert.equal(reply.status, 202, reply.text)
    assert.equal(reply.body.result, "accepted")
    assert.deepEqual(await pushesOf(id), [shaOf("b")])
    const { body: deployment } = await api.call("GET", `/v2/deployments/${id}`)
    assert.equal(outcome.revision_id, deployment.latest_revision_id)
    assert.equal(outcome.name, name)
    assert.match(outcome.detail, new RegExp(`building ${shaOf("b")} of refs/heads/main`))
  })

  test(`a delivery of ${provider} without a valid signature is 401 and changes nothing`, async () => {
    const { id } = await addDeployment()
    const good = signedPush(provider, secret)
    const unsigned = Object.fromEntries(Object.entries(good.headers).filter(([name]) => !/signature|token/.test(name)))
    const wrong: SentDelivery[] = [
      signedPush(provider, "another installation's"),
      { ...good, headers: unsigned },
      ...(provider === "gitlab" ? [] : [{ ...good, text: `${good.text} ` }]),
    ]
    for (const delivery of wrong) {
      const reply = await send(delivery)

      assert.equal(reply.status, 401, reply.text)
      assert.equal(reply.body.code, "unauthenticated")
      assert.ok(!reply.text.includes(secret))
    }
    assert.deepEqual(await pushesOf(id), [])
    assert.equal((await api.db.rows(sql`select 1 from git_deliveries`)).length, 0)
  })

  test(`deletions, tags and other branches of ${provider} are 200 with the reason`, async () => {
    const { id } = await addDeployment()
    const rows: [fields: object, why: RegExp][] = [
      [{ after: noCommit }, /deleted/],
      [{ ref: "refs/tags/v1" }, /the push is to refs\/tags\/v1/],
      [{ ref: "refs/heads/other/main" }, /the push is to refs\/heads\/other\/main/],
      [{ before: noCommit, files: [] }, /without a commit/],
      [{ message: "x [skip ci]" }, /\[skip ci\]/],
    ]
    for (const [fields, why] of rows) {
      const reply = await send(signedPush(provider, secret, fields))

      assert.equal(reply.status, 200, reply.text)
      assert.equal(reply.body.result, "ignored")
      assert.match(reply.body.deployments[0].detail, why)
    }
    const elsewhere = await send(signedPush(provider, secret, { repoUrl: "https://github.com/acme/other" }))
    assert.match(elsewhere.body.detail, /no deployment is built from this repository/)
    assert.deepEqual(await pushesOf(id), [])
  })
}

test("an irrelevant event is 200 with a reason; signed nonsense is 422", async () => {
  const ping = await send(signed("github", { secret, event: "ping", body: { zen: "Design for failure." } }))
  const noJson = await send(signed("github", { secret, event: "push", body: "{" }))
  const noPush = await send(signed("github", { secret, event: "push", body: { ref: 7 } }))
  const badSha = await send(signedPush("github", secret, { after: "--upload-pack=x" }))

  assert.deepEqual([ping.status, ping.body.detail], [200, "ping has no effect here"])
  assert.deepEqual([noJson.status, noPush.status, badSha.status], [422, 422, 422])
  assert.deepEqual(noPush.body.detail[0].loc, ["body", "ref"])
})

test("a push whose texts the database refuses ends nothing", async () => {
  const { id } = await addDeployment()

  const named = await send(signedPush("github", secret, { ref: "refs/heads/ma\0in" }))
  const written = await send(signedPush("github", secret, { message: "\0 \ud800" }))

  assert.deepEqual([named.status, named.body.result], [200, "ignored"])
  assert.deepEqual([written.status, written.body.result], [202, "accepted"])
  assert.deepEqual(await pushesOf(id), [shaOf("b")])
})

test("GitHub's form content type is accepted too", async () => {
  const { id } = await addDeployment()
  const form = new URLSearchParams({ payload: JSON.stringify(pushBody("github")) }).toString()
  const delivery = signed("github", { secret, event: "push", body: form })

  const reply = await send({
    ...delivery,
    headers: { ...delivery.headers, "content-type": "application/x-www-form-urlencoded" },
  })

  assert.equal(reply.status, 202, reply.text)
  assert.deepEqual(await pushesOf(id), [shaOf("b")])
})

test("a repeated delivery, also a concurrent one, has one effect and the same answer (H3)", async () => {
  const { id } = await addDeployment()
  const delivery = signedPush("github", secret, {}, "72d3162e-cc78-11e3-81ab-4c9367dc0958")

  const replies = await Promise.all([1, 2, 3, 4].map(() => send(delivery)))
  const later = await send(signedPush("github", secret, { after: shaOf("c") }))
  const again = await send(delivery)

  const firsts = replies.filter(({ body }) => !body.is_repeated)
  assert.equal(firsts.length, 1)
  assert.equal(firsts[0]?.status, 202)
  for (const { status, body } of [...replies.filter(({ body }) => body.is_repeated), again]) {
    assert.equal(status, 200)
    assert.deepEqual({ ...body, is_repeated: false }, firsts[0]?.body)
  }
  assert.equal(later.status, 202)
  assert.deepEqual(await pushesOf(id), [shaOf("b"), shaOf("c")])
})

test("one commit is built once, whatever the number of deliveries, and again when it is pushed again later (H5)", async () => {
  const { id } = await addDeployment()

  for (const after of ["b", "b", "c", "c", "b"]) await send(signedPush("github", secret, { after: shaOf(after) }))

  assert.deepEqual(await pushesOf(id), [shaOf("b"), shaOf("c"), shaOf("b")])
})

test("watch paths apply to the files of the push; unknown files count as touched", async () => {
  const { id } = await addDeployment({ config: { watch_paths: ["agents/shop", "package.json"] } })

  const docs = await send(signedPush("github", secret, { after: shaOf("1"), files: ["docs/a.md"] }))
  const forced = await send(signedPush("github", secret, { after: shaOf("2"), files: ["docs/a.md"], forced: true }))
  const touched = await send(signedPush("gitlab", secret, { after: shaOf("3"), files: ["agents/shop/x.ts"] }))
  const unknown = await send(signedPush("bitbucket", secret, { after: shaOf("4"), files: ["docs/a.md"] }))

  assert.match(docs.body.deployments[0].detail, /none of its 1 changed files/)
  assert.deepEqual([forced.status, touched.status, unknown.status], [202, 202, 202])
  assert.deepEqual(await pushesOf(id), [shaOf("2"), shaOf("3"), shaOf("4")])
  const read = await api.call("GET", `/v2/deployments/${id}`)
  assert.deepEqual(read.body.source_config.watch_paths, ["agents/shop", "package.json"])
  const odd = await api.call("PATCH", `/v2/deployments/${id}`, { body: { source_config: { watch_paths: ["../x"] } } })
  assert.equal(odd.status, 422)
})

test("an integration's secret is valid only in its workspace, and replaces the installation's", async () => {
  const [ours, theirs] = [await addIntegration(), await addIntegration(true)]
  const one = await addDeployment({ config: { integration_id: ours } })
  const bare = await addDeployment({ name: "bare" })
  const other = await addDeployment({ config: { integration_id: theirs }, asOther: true })
  const settings = { provider: "github", secrets: ["a secret of one workspace"] }
  const put = await api.call("PUT", `/v2/integrations/git/${ours}/webhook`, { body: settings })
  assert.equal(put.status, 200, put.text)

  const byIntegration = await send(signedPush("github", "a secret of one workspace"))
  const byInstallation = await send(signedPush("github", secret, { after: shaOf("c") }))

  const idsOf = (reply: { body: { deployments: { deployment_id: string }[] } }) =>
    reply.body.deployments.map(({ deployment_id }) => deployment_id).sort()
  assert.deepEqual(idsOf(byIntegration), [one.id, bare.id].sort())
  assert.deepEqual(idsOf(byInstallation), [bare.id, other.id].sort())
  assert.deepEqual(await pushesOf(other.id), [shaOf("c")])
})

test("two secrets are valid during a change, and the address may name the integration", async () => {
  const [ours, theirs] = [await addIntegration(), await addIntegration(true)]
  await addDeployment({ config: { integration_id: ours } })
  const put = (secrets: string[]) =>
    api.call("PUT", `/v2/integrations/git/${ours}/webhook`, { body: { provider: "github", secrets } })
  const statusOf = async (with_: string, after: string, query = "") =>
    (await send(signedPush("github", with_, { after: shaOf(after) }), query)).status

  const settings = await put(["the old secret 123", "the new secret 123"])
  const both = [await statusOf("the old secret 123", "1"), await statusOf("the new secret 123", "2")]
  await put(["the new secret 123"])
  const after = [await statusOf("the old secret 123", "3"), await statusOf("the new secret 123", "4")]
  const named = await statusOf("the new secret 123", "5", `?integration_id=${ours}`)
  const misnamed = await statusOf("the new secret 123", "6", `?integration_id=${theirs}`)

  assert.equal(settings.body.secrets, 2)
  assert.equal(settings.body.path, `/v1/integrations/github/webhook?integration_id=${ours}`)
  assert.ok(!settings.text.includes("secret 123"))
  assert.deepEqual([...both, ...after, named, misnamed], [202, 202, 401, 202, 202, 401])
  const stored = await api.db.rows(sql`select secrets_sealed from integration_webhooks`)
  assert.ok(!JSON.stringify(stored).includes("secret 123"))
})

test("webhook settings are hidden from other workspaces, can be deleted, and require a provider for unknown hosts", async () => {
  const id = await addIntegration()
  const path = `/v2/integrations/git/${id}/webhook`
  const own = await api.integrate("own", "t", "git.acme.example")

  const missing = await api.call("GET", path)
  const known = await api.call("PUT", path, { body: { secrets: ["sixteen characters"] } })
  const foreign = await api.callAsOther("PUT", path, { body: { secrets: ["sixteen characters"] } })
  const foreignRead = await api.callAsOther("GET", path)
  const foreignDelete = await api.callAsOther("DELETE", path)
  const unknown = await api.call("PUT", `/v2/integrations/git/${own.id}/webhook`, { body: {} })
  const short = await api.call("PUT", path, { body: { secrets: ["short"] } })
  const deleted = await api.call("DELETE", path)
  const gone = await api.call("GET", path)

  assert.deepEqual([missing.status, known.status, known.body.provider], [404, 200, "github"])
  assert.deepEqual([foreign.status, foreignRead.status, foreignDelete.status], [404, 404, 404])
  assert.equal(unknown.status, 422)
  assert.deepEqual(unknown.body.detail[0].loc, ["body", "provider"])
  assert.equal(short.status, 422)
  assert.deepEqual([deleted.status, gone.status], [204, 404])
})

test("a body of 25 MB is accepted, a larger one is 413; /api-host has the same routes", async () => {
  const { id } = await addDeployment()
  const large = { ...pushBody("github"), padding: "x".repeat(24 * 1024 * 1024) }
  const delivery = signed("github", { secret, event: pushEvents.github, body: large })

  const taken = await send({ ...delivery, path: `/api-host${delivery.path}` })
  const refused = await send(signed("github", { secret, event: "push", body: "x".repeat(26 * 1024 * 1024) }))

  assert.equal(taken.status, 202, taken.text)
  assert.equal(refused.status, 413)
  assert.deepEqual(await pushesOf(id), [shaOf("b")])
})

test("a push to a deployment that is being deleted creates no revision", async () => {
  const { id } = await addDeployment()
  await api.call("DELETE", `/v2/deployments/${id}`)

  const reply = await send(signedPush("github", secret))

  assert.equal(reply.body.result, "ignored")
  assert.deepEqual(await pushesOf(id), [])
})

test("a push creates a revision for each deployment of the repository that builds it", async () => {
  const rows: [name: string, change: object][] = [
    ["one", {}],
    ["two", { config: { repo_url: "git@GITHUB.com:acme/shop.git" } }],
    ["off", { config: { build_on_push: false } }],
    ["branch", { ref: "staging" }],
  ]
  for (const [name, change] of rows) await addDeployment({ name, ...change })

  const reply = await send(signedPush("github", secret))

  const results = Object.fromEntries(
    reply.body.deployments.map((it: { name: string; result: string }) => [it.name, it.result]),
  )
  assert.deepEqual(results, { one: "accepted", two: "accepted", off: "ignored", branch: "ignored" })
})

test("each ref of a Bitbucket delivery counts", async () => {
  const main = await addDeployment()
  const staging = await addDeployment({ name: "staging", ref: "staging" })
  const [one, two] = ["main", "staging"].map(
    (branch, index) =>
      pushBody("bitbucket", { ref: `refs/heads/${branch}`, after: shaOf(String(index + 1)) }) as {
        push: { changes: object[] }
      },
  )
  const body = { ...one, push: { changes: [...(one?.push.changes ?? []), ...(two?.push.changes ?? [])] } }

  await send(signed("bitbucket" satisfies Provider, { secret, event: "repo:push", body }))

  assert.deepEqual(await pushesOf(main.id), [shaOf("1")])
  assert.deepEqual(await pushesOf(staging.id), [shaOf("2")])
})
