import assert from "node:assert/strict"
import { test } from "node:test"
import { copyFor, emptyOf } from "./field.js"
import { type SourceConfig, sourceConfigFields } from "./source-config.js"

const config: SourceConfig = {
  ...emptyOf(sourceConfigFields),
  integration_id: "i",
  repo_url: "https://git.test/a",
  deployment_type: "prod",
  build_on_push: true,
  custom_url: "https://a.test",
  resource_spec: { cpu: 2 },
  listener_id: "l",
  listener_config: { k8s_namespace: "n" },
  install_command: "npm ci",
  build_command: "npm run build",
  watch_paths: ["src"],
  thread_pinning: "always",
  max_pin_age_days: 3,
  on_orphaned_threads: "pin",
  canary_weight: 10,
  rollback_on: { min_runs: 10 },
}

test("a preview has the settings of its parent without its address, its pushes and its canaries", () => {
  const expected = { ...config, custom_url: null, build_on_push: false, canary_weight: null }

  assert.deepEqual(copyFor("preview", sourceConfigFields, config, {}), expected)
})

test("a listener has the settings without those of the control plane: it carries the deployment out, and follows no pushes", () => {
  const expected = { ...config, listener_id: null, listener_config: null, build_on_push: false, canary_weight: null }

  assert.deepEqual(copyFor("listener", sourceConfigFields, config, {}), expected)
  const unset = { ...config, build_on_push: null }
  assert.equal(
    copyFor("listener", sourceConfigFields, unset, {}).build_on_push,
    null,
    "only what is on is switched off",
  )
})
