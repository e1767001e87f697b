import assert from "node:assert/strict"
import { test } from "node:test"
import { projectEnv } from "./worker-env.js"

test("LangChain's callbacks are awaited unless the project says otherwise", () => {
  const given = (own: Readonly<Record<string, string>>) => projectEnv({}, own).LANGCHAIN_CALLBACKS_BACKGROUND

  assert.deepEqual([given({}), given({ LANGCHAIN_CALLBACKS_BACKGROUND: "true" })], ["false", "true"])
})
