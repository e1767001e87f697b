import assert from "node:assert/strict"
import { test } from "node:test"
import { secretsOfRevision } from "../secrets/operations.js"
import { secretMask } from "../secrets/secret.js"
import { exampleDeployment, shared, startApi } from "../testing/api.js"
import { nextSecrets, type SecretChange, type SecretsMode } from "./secret-changes.js"

const next = (secrets: SecretChange[] | undefined, mode?: SecretsMode) =>
  nextSecrets(["A", "B"], { secrets, mode })?.map(({ name, value }) => `${name}=${value}`)

const kept = (name: string) => `${name}=${secretMask}`

test("a list replaces the set, a null removes a name, an empty list changes nothing (CP-D6)", () => {
  const one = { name: "C", value: "1" }
  const none = { name: "A", value: null }

  assert.equal(next(undefined), undefined)
  assert.equal(next(undefined, "replace"), undefined)
  assert.equal(next([]), undefined)
  assert.equal(next([], "merge"), undefined)
  assert.deepEqual(next([], "replace"), [])
  assert.deepEqual(next([one]), ["C=1"])
  assert.deepEqual(next([one], "merge"), ["C=1", kept("A"), kept("B")])
  assert.deepEqual(next([none]), [kept("B")])
  assert.deepEqual(next([one, none]), ["C=1", kept("B")])
  assert.deepEqual(next([one, none], "replace"), ["C=1"])
  assert.deepEqual(next([{ name: "A", value: "2" }], "merge"), ["A=2", kept("B")])
})

const api = shared(() => startApi())

test("each change of secrets is pinned by the revision that it creates", async () => {
  const { body: deployment } = await api.call("POST", "/v2/deployments", {
    body: {
      ...exampleDeployment(),
      secrets: [
        { name: "A", value: "1" },
        { name: "B", value: "2" },
      ],
    },
  })
  const path = `/v2/deployments/${deployment.id}`
  const afterPatch = async (body: object) => {
    const reply = await api.call("PATCH", path, { body })
    assert.equal(reply.status, 200, reply.text)
    return secretsOfRevision(api.db, api.key, { revision_id: reply.body.latest_revision_id })
  }

  assert.deepEqual(await afterPatch({ secrets: [{ name: "A", value: null }] }), { B: "2" })
  assert.deepEqual(await afterPatch({ secrets: [{ name: "C", value: "3" }], secrets_mode: "merge" }), {
    B: "2",
    C: "3",
  })
  assert.deepEqual(await afterPatch({ secrets: [], secrets_mode: "replace" }), {})
  assert.deepEqual(await afterPatch({ secrets: [{ name: "D", value: "4" }] }), { D: "4" })
  const twice = [
    { name: "D", value: null },
    { name: "D", value: "5" },
  ]
  assert.equal((await api.call("PATCH", path, { body: { secrets: twice } })).status, 422)
})

test("fields that null does not clear are listed in unset (CP-D7)", async () => {
  const { body: image } = await api.call("POST", "/v2/deployments", {
    body: {
      name: "image",
      source: "external_docker",
      source_config: { resource_spec: {}, custom_url: "https://agent.acme.test" },
      source_revision_config: { image_uri: "registry.test/a:1" },
    },
  })
  const patch = (body: object) => api.call("PATCH", `/v2/deployments/${image.id}`, { body })
  await patch({ display_name: "Shop" })

  const nulls = await patch({ display_name: null, source_config: { custom_url: null } })
  const both = await patch({ display_name: "x", unset: ["display_name"] })
  const odd = await patch({ unset: ["name"] })
  const unset = await patch({ unset: ["display_name", "source_config.custom_url"] })

  assert.deepEqual([nulls.body.display_name, nulls.body.source_config.custom_url], ["Shop", "https://agent.acme.test"])
  assert.deepEqual([both.status, odd.status], [422, 422])
  assert.deepEqual(
    [unset.body.display_name, unset.body.source_config.custom_url],
    [null, "http://agents.test:8901/d/image"],
  )
  assert.equal(unset.body.latest_revision_id, image.latest_revision_id, "no revision comes of it")
})
