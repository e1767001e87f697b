import assert from "node:assert/strict"
import test from "node:test"
import { checkTables } from "./table-owners.mjs"

const problems = (files, allowed = { control: {} }) =>
  checkTables(
    Object.entries(files).map(([path, text]) => ({ path, text })),
    allowed,
  ).map(({ path, line, message }) => `${path}:${line} ${message}`)

const insertion = {
  "control/src/units/queries.ts": "const a = sql`\n  insert into units (unit_id) values (1)`\n",
  "control/src/units/more-queries.ts": "sql`delete from units`\n",
}

test("a table that two folders write is named with both places", () => {
  const found = problems({ ...insertion, "control/src/roles/queries.ts": "sql`update units u\n  set crashes = 0`\n" })

  assert.equal(found.length, 2)
  assert.match(found[0], /^control\/src\/units\/queries\.ts:2 units and roles write the table units/)
  assert.match(found[1], /^control\/src\/roles\/queries\.ts:1 /)
})

test("reading, locking and what is written by tests make no owner", () => {
  const found = problems({
    ...insertion,
    "control/src/roles/queries.ts": "sql`select 1 from units for update`",
    "control/src/roles/roles.test.ts": "sql`delete from units`",
    "control/src/roles/testing/rows.ts": "sql`delete from units`",
    "control/src/roles/claims.ts": "sql`insert into runs as r (a) values (1) on conflict (a) do update set a = 2`",
  })

  assert.deepEqual(found, [])
})

test("a listed folder may write the table of another one, and leaves the list when it does no more", () => {
  const allowed = { control: { units: ["roles"] } }

  assert.deepEqual(problems({ ...insertion, "control/src/roles/queries.ts": "sql`delete from units`" }, allowed), [])
  assert.deepEqual(problems(insertion, allowed), [
    "scripts/checks/table-owners.mjs:1 roles writes units no more: remove it from alsoWritten",
  ])
})
