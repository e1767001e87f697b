/** The project's own `BaseStore`, backed by the server's store. */
import type { CallFields, Reply } from "../connection/connection.js"
import type { BaseStore, LangGraphModule } from "../loading/langgraph.js"
import { serialise } from "../values/serialise.js"

export interface StoreOptions {
  readonly call: (fields: CallFields, payload: readonly (readonly [string, string])[]) => Promise<Reply>
  readonly claim?: { readonly run_id: string; readonly claim_id: string }
}

export function createStore(library: LangGraphModule, { call, claim }: StoreOptions): object {
  class Store extends library.BaseStore implements BaseStore {
    async batch(operations: readonly object[]): Promise<unknown[]> {
      const wire = operations.map(wireOperation)
      const { payload } = await call({ method: "store.batch", ...claim }, [["operations", serialise(wire)]])
      const results: unknown = JSON.parse(payload[0]?.toString("utf8") ?? "[]")
      if (!Array.isArray(results)) throw new Error("the server answered store.batch without a list of results")
      return results.map((result, index) => (wire[index]?.op === "put" ? undefined : fromWire(result)))
    }
  }
  return new Store()
}

type WireOperation = Readonly<Record<string, unknown>> & { readonly op: string }

/** LangGraph identifies its operations by their fields; on the wire each contains its name. */
function wireOperation(operation: object): WireOperation {
  if ("namespacePrefix" in operation) {
    const { namespacePrefix, ...rest } = operation
    return { op: "search", namespace_prefix: namespacePrefix, limit: 10, offset: 0, ...defined(rest) }
  }
  if ("value" in operation) return { op: "put", ...defined(operation) }
  if ("key" in operation) return { op: "get", ...defined(operation) }
  return listOperation({ ...operation })
}

function listOperation(operation: Readonly<Record<string, unknown>>): WireOperation {
  const { matchConditions, maxDepth, limit = 100, offset = 0 } = operation
  const conditions = Array.isArray(matchConditions)
    ? { match_conditions: matchConditions.map(({ matchType, path }) => ({ match_type: matchType, path })) }
    : {}
  return { op: "list_namespaces", ...conditions, ...defined({ max_depth: maxDepth }), limit, offset }
}

function defined(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** Converts items to LangGraph's field names and dates; a list of namespaces and null stay unchanged. */
function fromWire(result: unknown): unknown {
  if (Array.isArray(result)) return result.map((each) => (Array.isArray(each) ? each : fromWire(each)))
  if (typeof result !== "object" || result === null || !("created_at" in result) || !("updated_at" in result)) {
    return result
  }
  const { created_at, updated_at, ...item } = result
  return { ...item, createdAt: new Date(String(created_at)), updatedAt: new Date(String(updated_at)) }
}
