/** Finds a graph in its source, and the graphs that are nodes of it. */
import ts from "typescript-api"
import type { SourceProgram } from "./source-program.js"

export interface GraphType {
  /** Names of nodes, outermost first, joined by `|`; empty for the graph itself. */
  readonly namespace: string
  readonly type: ts.Type
}

// A graph inside itself would go on for ever; no honest one is this deep.
const mostLevels = 8

/** @returns  the types of the exported graph and of all graphs below it; none when the export is no graph */
export function graphTypes(program: SourceProgram, name: string): GraphType[] {
  const { source, checker } = program
  const module = checker.getSymbolAtLocation(source)
  const exported = module && checker.getExportsOfModule(module).find((each) => each.name === name)
  const type = exported && graphOf(program, checker.getTypeOfSymbolAtLocation(exported, source))
  if (type === undefined || exported === undefined) return []
  return [{ namespace: "", type }, ...graphsBelow(program, origin(program, exported), [])]
}

/** What an export is after it was called, awaited, unwrapped and compiled (protocol-v2 §3.6). */
function graphOf({ source, checker }: SourceProgram, exported: ts.Type): ts.Type | undefined {
  const memberOf = (type: ts.Type, name: string) => {
    const member = checker.getPropertyOfType(type, name)
    return member && checker.getTypeOfSymbolAtLocation(member, source)
  }
  const returned = (type: ts.Type | undefined) => type && checker.getSignaturesOfType(type, ts.SignatureKind.Call)[0]
  let type: ts.Type | undefined = exported
  for (let step = 0; type !== undefined && step < mostLevels; step++) {
    type = checker.getAwaitedType(type) ?? type
    const inner = memberOf(type, "graph")
    if (inner && isGraph(checker, inner)) return inner
    if (isGraph(checker, type)) return type
    type = (returned(type) ?? returned(memberOf(type, "compile")))?.getReturnType()
  }
  return undefined
}

const isGraph = (checker: ts.TypeChecker, type: ts.Type): boolean =>
  checker.getPropertyOfType(type, "~OutputType") !== undefined

/** The graphs that an expression adds as nodes, with those below them. */
function graphsBelow(program: SourceProgram, made: readonly ts.Node[], above: readonly string[]): GraphType[] {
  if (above.length >= mostLevels) return []
  return made
    .flatMap((node) => addedNodes(program, node))
    .flatMap(({ name, value }) => {
      const path = [...above, name]
      const type = graphOf(program, program.checker.getTypeAtLocation(value))
      if (type === undefined) return []
      return [{ namespace: path.join("|"), type }, ...graphsBelow(program, originOf(program, value), path)]
    })
}

interface AddedNode {
  readonly name: string
  readonly value: ts.Expression
}

/** The calls of `addNode` in a piece of source; those on a builder that has a name of its own are anywhere in its file. */
function addedNodes({ checker }: SourceProgram, made: ts.Node): AddedNode[] {
  const found: AddedNode[] = []
  const builders = new Set<ts.Symbol>()
  const visit = (node: ts.Node, only?: ReadonlySet<ts.Symbol>): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const root = rootOf(node.expression)
      const builder = ts.isIdentifier(root) ? checker.getSymbolAtLocation(root) : undefined
      if (builder && !only) builders.add(builder)
      const counts = only === undefined || (builder !== undefined && only.has(builder))
      if (counts && node.expression.name.text === "addNode") found.push(...nodesOf(node))
    }
    ts.forEachChild(node, (child) => visit(child, only))
  }
  visit(made)
  if (builders.size > 0) {
    const inside = new Set(found.map(({ value }) => value))
    const before = found.length
    visit(made.getSourceFile(), builders)
    const more = found.splice(before).filter(({ value }) => !inside.has(value))
    found.push(...more)
  }
  for (const builder of builders) {
    const initializer = initializerOf(builder)
    if (initializer) visit(initializer)
  }
  return found
}

/** Where a chain of calls begins: `builder` in `builder.addNode(…).compile()`. */
function rootOf(expression: ts.Expression): ts.Expression {
  if (ts.isCallExpression(expression) || ts.isPropertyAccessExpression(expression)) return rootOf(expression.expression)
  return plain(expression)
}

/** `addNode("name", value, {subgraphs})` or `addNode({name: value})`. */
function nodesOf({ arguments: [first, second, options] }: ts.CallExpression): AddedNode[] {
  if (first && ts.isObjectLiteralExpression(first)) return first.properties.flatMap(entryOf)
  if (!first || !second || !ts.isStringLiteralLike(first)) return []
  const declared = options && ts.isObjectLiteralExpression(options) ? options.properties.flatMap(entryOf) : []
  const list = declared.find(({ name }) => name === "subgraphs")?.value
  const inside = list && ts.isArrayLiteralExpression(list) ? [...list.elements] : []
  return [second, ...inside].map((value) => ({ name: first.text, value: plain(value) }))
}

function entryOf(property: ts.ObjectLiteralElementLike): AddedNode[] {
  if (ts.isShorthandPropertyAssignment(property)) return [{ name: property.name.text, value: property.name }]
  if (!ts.isPropertyAssignment(property)) return []
  const { name, initializer } = property
  const isPlain = ts.isIdentifier(name) || ts.isStringLiteralLike(name)
  return isPlain ? [{ name: name.text, value: plain(initializer) }] : []
}

/** Without what only the type checker sees: `graph as never` is still `graph`. */
function plain(expression: ts.Expression): ts.Expression {
  const isWrapped =
    ts.isAsExpression(expression) ||
    ts.isParenthesizedExpression(expression) ||
    ts.isSatisfiesExpression(expression) ||
    ts.isNonNullExpression(expression) ||
    ts.isAwaitExpression(expression)
  return isWrapped ? plain(expression.expression) : expression
}

/** The source that made a value. */
function originOf(program: SourceProgram, value: ts.Expression): ts.Node[] {
  if (!ts.isIdentifier(value)) return [value]
  const { parent } = value
  const symbol = ts.isShorthandPropertyAssignment(parent)
    ? program.checker.getShorthandAssignmentValueSymbol(parent)
    : program.checker.getSymbolAtLocation(value)
  return symbol ? origin(program, symbol) : []
}

function origin({ checker }: SourceProgram, symbol: ts.Symbol): ts.Node[] {
  const real = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  const initializer = initializerOf(real)
  const functions = (real.declarations ?? []).filter(ts.isFunctionDeclaration)
  return initializer ? [initializer] : functions
}

function initializerOf({ valueDeclaration }: ts.Symbol): ts.Expression | undefined {
  if (valueDeclaration === undefined) return undefined
  const isValue = ts.isVariableDeclaration(valueDeclaration) || ts.isExportAssignment(valueDeclaration)
  if (!isValue) return undefined
  return ts.isVariableDeclaration(valueDeclaration) ? valueDeclaration.initializer : valueDeclaration.expression
}
