import assert from "node:assert/strict"
import { test } from "node:test"
import type { WantedRevision } from "@superstep/protocol/listener/messages"
import { Secret } from "@superstep/toolkit/config/settings"
import { emptySourceConfig, emptySourceRevisionConfig } from "../../deployments/deployment.js"
import { toAdd } from "./next-revisions.js"
import { centralOf, listenerSettingsProblem } from "./settings.js"

const revision = (revision_id: string, is: Partial<WantedRevision> = {}): WantedRevision => ({
  revision_id,
  trigger: "patch",
  source: "github",
  source_config: emptySourceConfig,
  source_revision_config: emptySourceRevisionConfig,
  secrets_version: 0,
  actor: null,
  repeats_revision_id: null,
  message: null,
  is_unfinished: false,
  is_active: false,
  is_interrupted: false,
  archive: null,
  ...is,
})
const idsOf = (revisions: readonly WantedRevision[]) => revisions.map(({ revision_id }) => revision_id)

test("revisions with work are added once, in their order", () => {
  const wanted = [
    revision("active", { is_active: true }),
    revision("here", { is_unfinished: true }),
    revision("next", { is_unfinished: true }),
  ]

  assert.deepEqual(idsOf(toAdd(wanted, new Set(["active", "here"]))), ["next"])
})

test("the settings of a listener come together, and secrets cross no network in plain text", () => {
  const listenerToken = new Secret("ssl_x")
  const problemWith = (listenerUrl: string) => listenerSettingsProblem({ listenerUrl, listenerToken })

  assert.equal(listenerSettingsProblem({}), undefined)
  assert.match(listenerSettingsProblem({ listenerUrl: "https://a.test" }) ?? "", /set SUPERSTEP_LISTENER_TOKEN too/)
  assert.match(listenerSettingsProblem({ listenerToken }) ?? "", /set SUPERSTEP_LISTENER_URL too/)
  assert.match(problemWith("http://a.test") ?? "", /use https/)
  assert.match(problemWith("http://127.evil.test") ?? "", /use https/)
  for (const url of ["https://a.test", "http://127.0.0.1:8900", "http://localhost:1", "http://[::1]:1"])
    assert.equal(problemWith(url), undefined, url)
  assert.equal(centralOf({ listenerUrl: "https://a.test/base/", listenerToken })?.url, "https://a.test/base")
})
