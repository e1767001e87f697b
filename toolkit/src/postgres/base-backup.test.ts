import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { openDatabase } from "../db/database.js"
import { sql } from "../db/sql.js"
import { preparedCluster } from "../testing/prepared-cluster.js"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { silent as log } from "../testing/test-cluster.js"
import { copyCluster, placeCluster } from "./base-backup.js"
import { startPostgres } from "./start-postgres.js"

test("a copy made under load contains every row committed before, and starts", async () => {
  const [folder, to, placed] = ["postgres", "copy", "placed"].map((name) => join(temporaryFolder(), name))
  if (!folder || !to || !placed) throw new Error("three folders")
  const original = await startPostgres({ folder: await preparedCluster(folder), log, stopWithParent: true })
  const db = openDatabase({ uri: original.superuserUri, log })
  await db.run(sql`create table written (n integer primary key, filler text not null)`)
  let [last, isOver] = [0, false]
  const write = async () => {
    for (let n = 1; !isOver; n++) {
      await db.run(sql`insert into written values (${n}, ${"x".repeat(2000)})`)
      // Tables come and go while the files are copied.
      if (n % 5 === 0) await db.run(sql`create table gone as select 1 as one`)
      if (n % 5 === 1 && n > 1) await db.run(sql`drop table gone`)
      last = n
    }
  }
  const writing = write()
  while (last < 50) await new Promise((resolve) => setImmediate(resolve))

  const before = last
  await copyCluster({ folder, superuserUri: original.superuserUri, to })
  isOver = true
  await writing
  const slots = await db.rows(sql`select slot_name from pg_replication_slots`)
  await db.close()
  await original.stop()
  await placeCluster(to, placed)
  const copy = await startPostgres({ folder: placed, log, stopWithParent: true })
  const copied = openDatabase({ uri: copy.superuserUri, log })
  const found = await copied.rows<{ n: number }>(sql`select n from written order by n`)
  await copied.run(sql`insert into written values (0, 'it can be written')`)
  await copied.close()
  await copy.stop()

  assert.ok(found.length >= before, `${found.length} of ${before} rows`)
  const all = found.map((_, index) => index + 1)
  assert.deepEqual(
    found.map(({ n }) => n),
    all,
  )
  assert.deepEqual(slots, [])
})
