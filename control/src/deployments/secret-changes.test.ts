import assert from "node:assert/strict"
import { test } from "node:test"
import { secretsOfRevision } from "../secrets/operations.js"
import { secretMask } from "../secrets/secret.js"
import { exampleDeployment, shared, startApi } from "../testing/api.js"
import type { SecretsMode } from "./secret-changes.js"

const api = shared(() => startApi())
const set = (name: string, value: string | null) => ({ name, value })

test("a list replaces the set, a null removes a name, a mask keeps one, an empty list changes nothing; each revision pins its set (CP-D6, S2)", async () => {
  const secrets = [set("A", "1"), set("B", "2")]
  const { body: made } = await api.call("POST", "/v2/deployments", { body: { ...exampleDeployment(), secrets } })
  const patch = (body: object) => api.call("PATCH", `/v2/deployments/${made.id}`, { body })
  const environment = (revisionId: string) => secretsOfRevision(api.db, api.key, { revision_id: revisionId })
  const steps: [secrets: object[] | undefined, mode: SecretsMode | undefined, result: Record<string, string>][] = [
    [[set("A", null)], undefined, { B: "2" }],
    [[set("C", "3")], "merge", { B: "2", C: "3" }],
    [[set("B", secretMask), set("D", "4")], undefined, { B: "2", D: "4" }],
    [[set("B", "5")], "merge", { B: "5", D: "4" }],
    [[set("E", "6"), set("B", null)], undefined, { D: "4", E: "6" }],
    [[set("F", "7"), set("E", null)], "replace", { F: "7" }],
    [[], undefined, { F: "7" }],
    [[], "merge", { F: "7" }],
    [undefined, "replace", { F: "7" }],
    [[], "replace", {}],
    [[set("G", "8")], undefined, { G: "8" }],
  ]
  for (const [n, [given, mode, result]] of steps.entries()) {
    const repo_ref = `branch-${n}`
    const reply = await patch({ secrets: given, secrets_mode: mode, source_revision_config: { repo_ref } })

    assert.equal(reply.status, 200, reply.text)
    assert.deepEqual(await environment(reply.body.latest_revision_id), result, `step ${n}`)
    assert.deepEqual(
      reply.body.secrets,
      Object.keys(result).map((name) => set(name, secretMask)),
      `step ${n}`,
    )
  }
  assert.deepEqual(await environment(made.latest_revision_id), { A: "1", B: "2" })
  assert.equal((await patch({ secrets: [set("D", null), set("D", "5")] })).status, 422)
})

test("fields that null does not clear are listed in unset (CP-D7)", async () => {
  const { id, latest_revision_id } = await api.deploy("named")
  const patch = (body: object) => api.call("PATCH", `/v2/deployments/${id}`, { body })
  await patch({ display_name: "Shop" })

  const kept = await patch({ display_name: null })
  const both = await patch({ display_name: "x", unset: ["display_name"] })
  const odd = await patch({ unset: ["name"] })
  const unset = await patch({ unset: ["display_name"] })

  assert.deepEqual([kept.body.display_name, unset.body.display_name], ["Shop", null])
  assert.deepEqual([both.status, odd.status], [422, 422])
  assert.equal(unset.body.latest_revision_id, latest_revision_id, "no revision comes of it")
})
