import assert from "node:assert/strict"
import { test } from "node:test"
import { z } from "zod"
import { problemsOf } from "./problems.js"

function problems(schema: z.ZodType, value: unknown) {
  const { error } = schema.safeParse(value)
  return problemsOf(error?.issues ?? [], value, ["body"]).map(({ path, type }) => `${path.join(".")} ${type}`)
}

test("an invalid item in a comma-separated list is a wrong value", () => {
  const list = z
    .string()
    .transform((text) => text.split(","))
    .pipe(z.array(z.uuid()))

  assert.deepEqual(problems(z.object({ ids: list }), { ids: "a,b" }), [
    "body.ids.0 value_error",
    "body.ids.1 value_error",
  ])
})

test("a custom rule about an absent field keeps its message", () => {
  const needsOne = z.object({ a: z.string().optional(), b: z.string().optional() }).refine(({ a, b }) => a ?? b, {
    path: ["a"],
    error: "give a or b",
  })

  const { error } = needsOne.safeParse({})

  assert.deepEqual(problemsOf(error?.issues ?? [], {}, ["body"]), [
    { path: ["body", "a"], message: "give a or b", type: "value_error" },
  ])
})

test("a number far outside its range has one problem: the bound of its own field", () => {
  const error = z
    .object({ limit: z.int().max(1000), least: z.int().min(0) })
    .safeParse({ limit: 1e30, least: -1e30 }).error

  const found = problemsOf(error?.issues ?? [], { limit: 1e30, least: -1e30 }, ["body"])

  assert.deepEqual(
    found.map(({ path, message }) => [path.at(-1), /[<>]=-?\d+$/.exec(message)?.[0]]),
    [
      ["limit", "<=1000"],
      ["least", ">=0"],
    ],
  )
})
