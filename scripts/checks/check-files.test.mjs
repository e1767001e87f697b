import assert from "node:assert/strict"
import test from "node:test"
import { checkFiles } from "./check-files.mjs"

const messages = (...files) =>
  checkFiles(files.map(([path, text]) => ({ path, text }))).map(
    ({ path, line, message }) => `${path}:${line} ${message}`,
  )

test("a file of more than 400 lines needs a reason at its top", () => {
  const lines = "x\n".repeat(401)

  assert.match(messages(["server/src/a.ts", lines]).join(), /401 lines/)
  assert.deepEqual(messages(["server/src/a.ts", `// Long on purpose: one table\n${lines}`]), [])
  assert.deepEqual(messages(["docs/a.md", lines]), [])
})

test("values of users are not parsed and printed by what changes their numbers", () => {
  const text = "// Not `JSON.parse`.\nconst a = JSON.parse(text)\nconst b = [1].map(JSON.stringify)\nreturn c.json(b)\n"

  const found = messages(["server/src/runs/a.ts", text])

  assert.deepEqual(
    found.map((each) => each.replace(/ changes.*/, "")),
    ["server/src/runs/a.ts:2 JSON.parse", "server/src/runs/a.ts:3 JSON.stringify", "server/src/runs/a.ts:4 c.json"],
  )
  assert.deepEqual(
    messages(["server/src/runs/a.test.ts", text], ["server/src/config.ts", text], ["cli/src/a.ts", text]),
    [],
  )
})

test("migrations are numbered without a hole and open with their reason", () => {
  const found = messages(
    ["server/src/migrations/000001_create_runs.sql", "-- The queue.\n"],
    ["server/src/migrations/000003_add.sql", "-- More.\n"],
    ["control/src/migrations/000001_create.sql", "create table a ();\n"],
    ["control/src/migrations/add.sql", "-- Less.\n"],
  )

  assert.equal(found.length, 3)
  assert.match(found.join("\n"), /000003 and should have 000002/)
  assert.match(found.join("\n"), /must start with its reason/)
  assert.match(found.join("\n"), /add\.sql:1 the name of a migration/)
})

test("a registry's host and a path of one machine are found in any file", () => {
  const host = ["registry", "example", "org"].join(".")
  const path = ["", "root", "project"].join("/")

  const found = messages([".npmrc", `a=1\nb=https://${host}/\n`], ["docs/a.md", `cd ${path}\n`])

  assert.equal(found.length, 2)
  assert.match(found[0], /^\.npmrc:2 .*registry/)
  assert.match(found[1], /^docs\/a\.md:1 .*one machine/)
})

test("numbers in SQL have no underscores, which Postgres 15 does not know", () => {
  const found = messages(
    ["control/src/a.ts", `const ms = 1_000\nsql\`\n  select \${1_000} * 86_400 as ms, a_1 from t1_2\`\n`],
    ["control/src/b.ts", `sql\`select \${1_000}, a1_2 from t_1\`\n`],
    ["control/src/migrations/000001_add.sql", "-- Why.\nselect 1_000;\n"],
  )

  assert.equal(found.length, 2)
  assert.match(found[0], /^control\/src\/a\.ts:3 "86_400"/)
  assert.match(found[1], /000001_add\.sql:2 "1_000"/)
})

test("what is left of a merge is refused", () => {
  assert.deepEqual(messages(["CHANGELOG.md", "- a\n<<<<<<< HEAD\n- b\n=======\n>>>>>>> 1a2b3c4 (c)"]), [
    'CHANGELOG.md:2 "<<<<<<< " is left of a merge: choose one side',
    'CHANGELOG.md:5 ">>>>>>> " is left of a merge: choose one side',
  ])
})

test("paths inside a container, of a URL or below a variable are fine", () => {
  const fine = ["http://localhost/root/a", "$HOME/root/x", "./home/a/b", "/home/node/app", "~/root/x"].join("\n")

  assert.deepEqual(messages(["docs/a.md", fine]), [])
})

test("a page links to what is there, and names source files that are there", () => {
  const readme = [
    "[all](runs/README.md#rules), [here](#top), [folder](runs), [web](https://example.org/a.ts), `retry.ts`, `.ts`",
    "[gone](runs/gone.md), `runs/gone.ts`, `other/retry.ts`, `../runs/retry.ts`",
  ]

  const found = messages(["src/README.md", readme.join("\n")], ["src/runs/README.md", ""], ["src/runs/retry.ts", ""])

  assert.deepEqual(found, [
    "src/README.md:2 links to runs/gone.md, which does not exist",
    "src/README.md:2 refers to runs/gone.ts, which does not exist",
    "src/README.md:2 refers to other/retry.ts, which does not exist",
  ])
  assert.deepEqual(messages(["CHANGELOG.md", readme.join("\n")]), [])
})
