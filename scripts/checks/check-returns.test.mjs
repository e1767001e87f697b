import assert from "node:assert/strict"
import { test } from "node:test"
import { checkReturns } from "./check-returns.mjs"

test("a promise is not returned from a scope that holds something, unless it is awaited", () => {
  const text = [
    "async function one() {",
    "  if (isFree) return work()",
    "  await using lock = await take()",
    "  if (isShort) return work<Short>(lock)",
    "  const later = () => {",
    "    return work()",
    "  }",
    "  return rows.map(read)",
    "  return await work(lock)",
    "  return db.row(statement)",
    "}",
    "async function two() {",
    "  return work()",
    "}",
  ].join("\n")

  const problems = checkReturns([
    { path: "a.ts", text },
    { path: "a.md", text },
  ])

  assert.deepEqual(
    problems.map(({ path, line, message }) => [path, line, message.split(" ")[0]]),
    [
      ["a.ts", 4, "work"],
      ["a.ts", 10, "db.row"],
    ],
  )
})
