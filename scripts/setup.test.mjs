import assert from "node:assert/strict"
import test from "node:test"
import { missingPackages, nodeProblem } from "./setup.mjs"

test("an old Node is told which one is needed, and how to get it", () => {
  assert.equal(nodeProblem("20.19.0", ">=20.19"), undefined)
  assert.equal(nodeProblem("22.1.0", ">=20.19"), undefined)
  assert.match(nodeProblem("20.18.3", ">=20.19") ?? "", /requires Node 20\.19 or newer, and this is 20\.18\.3: run npx/)
  assert.match(nodeProblem("18.20.4", ">=20.19") ?? "", /20\.19/)
})

test("a package is missing when it is absent or of another version, and not when it is for another platform", () => {
  const lock = {
    packages: {
      "": { version: "1.0.0" },
      server: { version: "1.0.0" },
      "node_modules/a": { version: "1.0.0" },
      "node_modules/b": { version: "2.0.0" },
      "node_modules/c": { version: "1.0.0" },
      "node_modules/other-platform": { version: "1.0.0", optional: true },
    },
  }
  const installed = { packages: { "node_modules/a": { version: "1.0.0" }, "node_modules/b": { version: "1.0.0" } } }

  assert.deepEqual(missingPackages(lock, installed), ["node_modules/b", "node_modules/c"])
  assert.equal(missingPackages(lock, undefined).length, 3)
})
