import assert from "node:assert/strict"
import { test } from "node:test"
import { z } from "zod"
import { checkForeign } from "./check-foreign.js"
import { plainText } from "./storable.js"

test("of many wrong items only the first is a problem, and what is right passes whole", () => {
  const many = (item: unknown) => Array.from({ length: 20_000 }, () => item)
  assert.deepEqual(checkForeign(z.object({ a: z.array(z.int()) }), { a: [1, 2] }).data, { a: [1, 2] })
  const cases: [z.ZodType, unknown][] = [
    [z.array(z.string()), many(1)],
    [z.array(plainText), many("\0")],
    [z.array(z.object({ id: z.string() })), many({})],
    [z.union([z.literal("all"), z.array(z.string())]), many(1)],
    [z.array(z.guid().transform((id) => id.toLowerCase())), many("no")],
  ]

  for (const [schema, value] of cases) {
    const { error } = checkForeign(z.object({ list: schema }), { list: value })
    assert.deepEqual(
      error?.issues.map(({ path }) => path[0]),
      ["list"],
    )
  }
})
