import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "../testing/fields-of.js"
import { brokenRules, must, onBrokenRule, RuleBroken } from "./must.js"

test("a rule that holds costs nothing; one that is broken throws, is counted and told once", () => {
  const told: RuleBroken[] = []
  const stop = onBrokenRule((broken) => told.push(broken))
  must(true, "T1", "all is well")

  assert.throws(() => must(false, "T2", "one is one", { one: 2 }), { name: "RuleBroken", message: /T2.*one is one/ })
  stop()
  assert.throws(() => must(undefined, "T2", "one is one"), RuleBroken)

  assert.deepEqual([...brokenRules], [["T2", 2]])
  assert.deepEqual(fieldsOf(told, "rule", "facts"), [["T2", { one: 2 }]])
})
