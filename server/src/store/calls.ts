/** Answers a worker's `store.batch` calls (protocol/worker, "Calls of a worker: store"). */
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { checkExact } from "@superstep/toolkit/http/exact-number"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import { scanJson } from "@superstep/toolkit/text/scan-json"
import { z } from "zod"
import { type CallHandlers, fenceOf } from "../workers/calls.js"
import { requireHeld } from "../workers/held-numbers.js"
import { executeBatch } from "./batch.js"
import { type StoreOperation, storeOperation } from "./schema.js"
import type { Store } from "./store-settings.js"

export const storeCalls = (store: Store): CallHandlers => ({
  "store.batch": async (fields, [operations], language) => {
    const batch = operationsOf(operations)
    // Reading a thread's state outside a run may read from the store without a claim.
    const fence = batch.some(({ op }) => op === "put") ? fenceOf(fields) : undefined
    const results = await executeBatch(store, fence, batch)
    const data = toJsonText(results)
    if (scanJson(data).found.length > 0) requireHeld(language, [{ path: ["results"], value: parseJson(data) }])
    return { payload: [{ name: "results", data }] }
  },
})

const operationList = z.array(storeOperation)

/** @throws InvalidInput  naming each field that is missing or wrong */
function operationsOf(line: Buffer | undefined): StoreOperation[] {
  if (!line) throw new InvalidInput("the line of operations is missing")
  const { result } = checkExact(operationList, parseJson(line.toString("utf8")))
  if (result.success) return result.data
  throw new InvalidInput(
    result.error.issues.map(({ path, message }) => ({
      path: ["operations", ...path.map((part) => (typeof part === "number" ? part : String(part)))],
      message,
      type: "value_error",
    })),
  )
}
