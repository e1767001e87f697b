/** Metrics of runs by revision, from units as real processes over a real control plane. */
import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { writeFakeReport } from "@superstep/machines/testing/fake-report"
import { runLatencyBoundsMs } from "@superstep/protocol/unit/run-latency"
import { sql } from "@superstep/toolkit/db/sql"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { platformWithRepository } from "../pipeline/testing/platform-with-repository.js"

test("runs that a unit reports appear by revision, once, also after a restart of the control plane", {
  skip: unlessWide("samples are ten seconds apart"),
}, async () => {
  await using platform = await platformWithRepository()
  const file = join(temporaryFolder(), "status.json")
  const report = (ended: number, failed: number) => {
    const counts = [0, ...runLatencyBoundsMs.map(() => 0)]
    counts[3] = ended
    writeFakeReport(file, { runs: { ended, failed }, run_latency: { sum_ms: ended * 400, counts } })
  }
  report(0, 0)
  const { deploymentId, revisionId } = await platform.serveRepository({ secrets: { FAKE_LOAD: file } })
  const read = async () =>
    (await platform.call("GET", `/v2/deployments/${deploymentId}/metrics?window=1h`)).body.revisions
  const samples = async () => (await platform.db.rows(sql`select distinct at from unit_samples`)).length

  const first = await samples()
  await until(async () => (await samples()) > first, { what: "the unit is sampled", timeoutMs: 30_000 })
  report(8, 2)
  const found = await until(async () => (await read())[0], { what: "its runs are counted", timeoutMs: 30_000 })
  await platform.kill()
  await platform.start()
  const later = await samples()
  await until(async () => (await samples()) > later + 1, { what: "it is sampled twice more", timeoutMs: 60_000 })

  assert.deepEqual(found, {
    revision_id: revisionId,
    ended: 8,
    failed: 2,
    error_rate: 0.25,
    latency_ms: { average: 400, p50: 500, p95: 500 },
  })
  assert.deepEqual(await read(), [found], "nothing is counted twice (S1)")
})
