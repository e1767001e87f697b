/**
 * The JSON Schemas that a graph provides at runtime (protocol-v2 §3.7): those of the `StateSchema` or zod object that it was
 * built with. LangGraph's registry adds what zod does not know: reducers' input types, and extras such as `langgraph_type`. A
 * graph of annotations has only types, which exist only in its source.
 */
import type { CompiledGraph, MetaRegistry } from "../loading/langgraph.js"
import type { Library } from "../loading/library.js"

/** Null: the graph does not provide the schema. */
export interface GraphSchemas {
  readonly input_schema: unknown
  readonly output_schema: unknown
  readonly state_schema: unknown
  readonly config_schema: unknown
  readonly context_schema: unknown
}

type ToJsonSchema = (schema: unknown, options: object) => unknown

export async function runtimeSchemas(graph: CompiledGraph, library: Library): Promise<GraphSchemas> {
  const { builder, _metaRegistry: registry } = graph
  const core = await library.core("utils/json_schema")
  const toJsonSchema = core?.toJsonSchema as ToJsonSchema | undefined
  const tell = (definition: unknown, view: View) =>
    attempt(() => {
      if (isStateSchema(definition))
        return view === update ? definition.getInputJsonSchema() : definition.getJsonSchema()
      if (!isZod(definition) || !toJsonSchema) return null
      return zodSchema(definition, view, { registry, toJsonSchema })
    })
  const state = builder?._schemaRuntimeDefinition
  const input = builder?._inputRuntimeDefinition
  // JavaScript's graphs have one schema for both (agent-server API §4.8).
  const config = tell(builder?._configRuntimeSchema, value)
  return {
    // A symbol means "part of the state".
    input_schema: tell(typeof input === "symbol" ? state : input, update),
    output_schema: tell(builder?._outputRuntimeDefinition, value),
    // The schema of an update of the state, as in the recording `assistant-schemas-factory.txt`.
    state_schema: tell(state, update),
    config_schema: config,
    context_schema: config,
  }
}

/** The use of a schema, as LangGraph's own options. */
type View = { readonly withReducerSchema?: boolean; readonly asPartial?: boolean }
const value: View = {}
const update: View = { withReducerSchema: true, asPartial: true }

interface StateSchema {
  getJsonSchema(): unknown
  getInputJsonSchema(): unknown
}

const isStateSchema = (definition: unknown): definition is StateSchema =>
  typeof definition === "object" && definition !== null && "getInputJsonSchema" in definition

/** A zod object of any version. */
const isZod = (definition: unknown): definition is object =>
  typeof definition === "object" && definition !== null && ("_def" in definition || "_zod" in definition)

/** A type that JSON Schema does not support, such as `z.custom()`, accepts any value. */
function zodSchema(
  definition: object,
  view: View,
  { registry, toJsonSchema }: { registry: MetaRegistry | undefined; toJsonSchema: ToJsonSchema },
): unknown {
  const options = { ...view, withJsonSchemaExtrasAsDescription: true }
  const extended = registry?.getExtendedChannelSchemas?.(definition, options) ?? definition
  return withExtras(toJsonSchema(extended, { unrepresentable: "any" }))
}

/** Restores extras, which the registry puts into the description, since zod would drop them anywhere else. */
function withExtras(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withExtras)
  if (typeof schema !== "object" || schema === null) return schema
  const fields = Object.fromEntries(Object.entries(schema).map(([key, each]) => [key, withExtras(each)]))
  const { description, ...others } = fields
  if (typeof description !== "string" || !description.startsWith("lg:")) return fields
  return { ...others, ...JSON.parse(description.slice("lg:".length)) }
}

function attempt(work: () => unknown): unknown {
  try {
    return work()
  } catch {
    // A schema that its library cannot convert counts as not provided.
    return null
  }
}
