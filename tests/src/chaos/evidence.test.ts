import assert from "node:assert/strict"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { serverDatabase } from "@superstep/server/testing/test-server"
import { sql } from "@superstep/toolkit/db/sql"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import type { KillableServer } from "superstep/prove/killable-server"
import { keepEvidence } from "./evidence.js"

test("evidence has the logs, and what runs of a thread saved, wherever it is", async (t) => {
  await using db = await serverDatabase()
  const folder = temporaryFolder()
  const [thread, other, run] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()]
  await db.run(sql`insert into threads (thread_id) values (${thread}), (${other})`)
  await db.run(sql`insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy)
    values (${run}, ${thread}, ${run}, 'steps', 'success', '{}', '{}', 'enqueue')`)
  const saved = [
    [thread, "", "c1", run],
    [thread, "sub:1", "c2", run],
    [other, "", "c3", run],
    [other, "", "c4", "another run"],
  ]
  for (const [on, ns, id, by] of saved) {
    await db.run(sql`insert into checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
      values (${on}, ${ns}, ${id}, '{}', jsonb_build_object('run_id', ${by}::text))`)
  }
  await db.run(sql`insert into run_events (run_id, seq, event, data) values (${run}, 7, 'metadata', '{}')`)
  const [logFile, effectsFile] = [join(folder, "server-1.log"), join(folder, "effects.jsonl")]
  writeFileSync(logFile, "a log")
  const servers = [{ logFile } as KillableServer]

  const kept = await keepEvidence({ servers, effectsFile, db }, [thread])
  t.after(() => rmSync(kept, { recursive: true }))

  const read = (name: string) => readFileSync(join(kept, name), "utf8")
  const rowsOf = (table: string) =>
    read(`${table}.jsonl`)
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  assert.equal(read("server-1.log"), "a log")
  assert.deepEqual(
    rowsOf("runs").map((row) => row.run_id),
    [run],
  )
  assert.deepEqual(
    rowsOf("checkpoints").map((row) => row.checkpoint_id),
    ["c1", "c2", "c3"],
  )
  assert.ok(rowsOf("checkpoints")[0].xmin)
  assert.deepEqual(
    rowsOf("run_events").map((row) => row.seq),
    [7],
  )
  assert.deepEqual(rowsOf("checkpoint_writes"), [])
})
