import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { namesWhere } from "../revisions/field.js"
import { type SourceConfig, sourceConfigFields } from "../revisions/source-config.js"
import { exampleDeployment, exampleImage, startApi, type TestApi } from "../testing/api.js"

/** Two values of each setting; those that refer to something get its id from the API. */
const samples: Readonly<Record<keyof SourceConfig, readonly [unknown, unknown]>> = {
  integration_id: ["integration", "00000000-0000-4000-8000-000000000001"],
  repo_url: ["https://git.test/a", "https://git.test/b"],
  deployment_type: ["dev", "prod"],
  build_on_push: [true, false],
  custom_url: ["https://a.test/", "https://b.test/"],
  resource_spec: [{ cpu: 1 }, { cpu: 2 }],
  listener_id: ["listener", "00000000-0000-4000-8000-000000000001"],
  listener_config: [{ k8s_namespace: "a" }, { k8s_namespace: "b" }],
  install_command: ["npm ci", "npm install"],
  build_command: ["npm run a", "npm run b"],
  template_id: ["a", "b"],
  watch_paths: [["a"], ["b"]],
  thread_pinning: ["none", "always"],
  max_pin_age_days: [1, 2],
  on_orphaned_threads: ["pin", "fail"],
  canary_weight: [10, 20],
  rollback_on: [{ min_runs: 10 }, { min_runs: 20 }],
}

const storedIn = async ({ db }: TestApi, id: string, field: string) =>
  (
    await db.row<{ value: unknown }>(sql`
    select source_config -> ${field}::text as value from deployments where deployment_id = ${id}`)
  )?.value

test("each setting is stored, shown, kept by null, and changed or cleared as its table says (CP-D7)", async () => {
  await using api = await startApi()
  const made: Readonly<Record<string, string>> = {
    integration: (await api.integrate("i", "t", "git.test")).id,
    listener: (
      await api.call("POST", "/v2/listeners", {
        body: { compute_type: "k8s", compute_id: "c", compute_config: { k8s_namespaces: null } },
      })
    ).body.id,
  }
  for (const field of namesWhere(sourceConfigFields, () => true)) {
    const { patch } = sourceConfigFields[field]
    const [sample, other] = samples[field]
    const value = made[String(sample)] ?? sample
    const name = `a-${field.replaceAll("_", "-")}`
    // Only an image has an address of its own.
    const body = field === "custom_url" ? exampleImage(name) : exampleDeployment(name)
    const { body: created, text } = await api.call("POST", "/v2/deployments", {
      body: { ...body, source_config: { ...body.source_config, [field]: value } },
    })
    assert.deepEqual(created.source_config?.[field], value, text)
    const change = (body: object) => api.call("PATCH", `/v2/deployments/${created.id}`, { body })

    const kept = await change({ source_config: { [field]: null } })
    assert.deepEqual(kept.body.source_config?.[field], value, kept.text)
    const changed = await change({ source_config: { [field]: other } })
    assert.equal(changed.status, patch === "fixed" ? 400 : 200, changed.text)
    assert.deepEqual(await storedIn(api, created.id, field), patch === "fixed" ? value : other, field)
    const cleared = await change({ unset: [`source_config.${field}`] })
    assert.equal(cleared.status, patch === "unset" ? 200 : 422, cleared.text)
    if (patch === "unset") assert.equal(await storedIn(api, created.id, field), null, field)
  }
})
