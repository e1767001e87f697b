import assert from "node:assert/strict"
import test from "node:test"
import { licencesOf } from "./licences.mjs"
import { withRelativeNames, wrongDependencies } from "./stage-package.mjs"

test("the name of a program of another package of ours becomes a path inside the tarball", () => {
  const names = ["@superstep/worker-js/main", "@superstep/edge/main", "superstep/main"]
  const text = names.map((name) => `import.meta.resolve("${name}")`).join(" ")

  assert.equal(
    withRelativeNames(text, "server/programs/main.js"),
    [
      'import.meta.resolve("../../workers/js/programs/main.js")',
      'import.meta.resolve("../../edge/programs/main.js")',
      'import.meta.resolve("../../cli/programs/main.js")',
    ].join(" "),
  )
})

test("a name of ours that would lead nowhere in the tarball is refused", () => {
  assert.throws(() => withRelativeNames('start("@superstep/server/main")', "control/programs/main.js"), {
    message: /control\/programs\/main\.js contains the name "@superstep\/server\/main"/,
  })
})

test("the published package names everything that is not in its programs, and nothing else", () => {
  assert.deepEqual(wrongDependencies(), [])
})

test("the licence of each package in the programs goes along, once", () => {
  const text = licencesOf(["node_modules/pg/lib/index.js", "node_modules/pg/lib/client.js", "server/dist/main.js"])

  assert.equal(text.match(/Permission is hereby granted/g)?.length, 1)
  assert.match(text, /^pg \d+\.\d+\.\d+\n/)
})
