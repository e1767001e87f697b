/** The schemas of a graph from its types: input, output, state and context. */
import type { GraphSchemas } from "./graph-schemas.js"
import type { SourceProgram } from "./source-program.js"
import { TypeSchemas } from "./type-schemas.js"

import ts = require("typescript-api")

export function schemasOf(program: SourceProgram, graph: ts.Type): GraphSchemas {
  const { checker, source } = program
  const member = (name: string): ts.Type | undefined => {
    const symbol = checker.getPropertyOfType(graph, name)
    return symbol && checker.getTypeOfSymbolAtLocation(symbol, source)
  }
  const schema = (type: ts.Type | undefined) => (type ? new TypeSchemas(program).schema(type) : null)
  const output = schema(member("~OutputType"))
  const context = schema(contextOf(program, graph))
  return {
    input_schema: schema(member("~InputType")),
    output_schema: output,
    // A functional entrypoint has no state besides its output.
    state_schema: schema(member("~RunOutput")) ?? output,
    config_schema: context,
    context_schema: context,
  }
}

/** The option `context` of `invoke`. */
function contextOf({ checker, source }: SourceProgram, graph: ts.Type): ts.Type | undefined {
  const invoke = checker.getPropertyOfType(graph, "invoke")
  if (invoke === undefined) return undefined
  const [signature] = checker.getSignaturesOfType(
    checker.getTypeOfSymbolAtLocation(invoke, source),
    ts.SignatureKind.Call,
  )
  const options = signature?.getParameters()[1]
  if (options === undefined) return undefined
  const type = checker.getNonNullableType(checker.getTypeOfSymbolAtLocation(options, source))
  const context = checker.getPropertyOfType(type, "context")
  return context && checker.getNonNullableType(checker.getTypeOfSymbolAtLocation(context, source))
}
