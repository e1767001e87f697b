/** Finds a graph in its source, and the graphs that are its nodes. */
import type { SourceProgram } from "./source-program.js"

import ts = require("typescript-api")

export interface GraphType {
  /** Names of nodes, outermost first, joined by `|`; empty for the graph itself. */
  readonly namespace: string
  readonly type: ts.Type
}

// Stops at a graph that contains itself; no real graph is this deep.
const maxLevels = 8

/** @returns  the types of the exported graph and of all graphs below it; an empty list when the export is not a graph */
export function graphTypes(program: SourceProgram, name: string): GraphType[] {
  const { source, checker } = program
  const module = checker.getSymbolAtLocation(source)
  const exported = module && checker.getExportsOfModule(module).find((each) => each.name === name)
  const type = exported && graphOf(program, checker.getTypeOfSymbolAtLocation(exported, source))
  if (type === undefined || exported === undefined) return []
  return [{ namespace: "", type }, ...graphsBelow(program, declared(checker, exported), [])]
}

/** The type of an export after it is called, awaited, unwrapped and compiled (protocol-v2 §3.6). */
function graphOf({ source, checker }: SourceProgram, exported: ts.Type): ts.Type | undefined {
  const memberOf = (type: ts.Type, name: string) => {
    const member = checker.getPropertyOfType(type, name)
    return member && checker.getTypeOfSymbolAtLocation(member, source)
  }
  const returned = (type: ts.Type | undefined) => type && checker.getSignaturesOfType(type, ts.SignatureKind.Call)[0]
  let type: ts.Type | undefined = exported
  for (let step = 0; type !== undefined && step < maxLevels; step++) {
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

/** The graphs that are nodes of the graph that a piece of source makes, with all graphs below them. */
function graphsBelow(program: SourceProgram, origin: ts.Symbol | ts.Node, above: readonly string[]): GraphType[] {
  if (above.length >= maxLevels) return []
  return addedNodes(program, origin).flatMap(({ name, value }) => {
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

/** The nodes that are added to the builders of a value, in the order of its source. */
function addedNodes({ checker }: SourceProgram, origin: ts.Symbol | ts.Node): AddedNode[] {
  const calls = new Set<MethodCall>()
  const seen = new Set<ts.Symbol>()
  const isBuilder = (node: ts.Node) =>
    checker.getPropertyOfType(checker.getTypeAtLocation(node), "addNode") !== undefined
  const fromPiece = (piece: ts.Node) =>
    visitCalls(piece, (call) => {
      if (call.expression.name.text === "addNode") calls.add(call)
      const root = rootOf(call)
      if (ts.isIdentifier(root) && isBuilder(root)) fromName(root)
    })
  const fromName = (name: ts.Identifier) => {
    const symbol = checker.getSymbolAtLocation(name)
    if (symbol) fromSymbol(declared(checker, symbol))
  }
  const fromSymbol = (symbol: ts.Symbol) => {
    if (seen.has(symbol)) return
    seen.add(symbol)
    for (const piece of piecesOf(symbol)) {
      if (ts.isIdentifier(piece)) fromName(piece)
      else fromPiece(piece)
    }
    // Nodes may be added to a named builder anywhere in its file.
    const file = symbol.valueDeclaration?.getSourceFile()
    if (file === undefined) return
    visitCalls(file, (call) => {
      const root = rootOf(call)
      const isItsOwn = ts.isIdentifier(root) && checker.getSymbolAtLocation(root) === symbol
      if (isItsOwn && call.expression.name.text === "addNode") calls.add(call)
    })
  }
  if ("kind" in origin) fromPiece(origin)
  else fromSymbol(origin)
  return [...calls].sort((a, b) => a.end - b.end).flatMap(nodesOf)
}

type MethodCall = ts.CallExpression & { readonly expression: ts.PropertyAccessExpression }

const isMethodCall = (node: ts.Node): node is MethodCall =>
  ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)

/** Visits every method call, except those inside an added node: they make another graph. */
function visitCalls(node: ts.Node, onCall: (call: MethodCall) => void): void {
  const isAddition = isMethodCall(node) && node.expression.name.text === "addNode"
  if (isMethodCall(node)) onCall(node)
  if (isAddition) visitCalls(node.expression, onCall)
  else ts.forEachChild(node, (child) => visitCalls(child, onCall))
}

/** The start of a chain of calls: `builder` in `builder.addNode(…).compile()`. */
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

/** Removes wrappers that only the type checker sees: `graph as never` is still `graph`. */
function plain(expression: ts.Expression): ts.Expression {
  const isWrapped =
    ts.isAsExpression(expression) ||
    ts.isParenthesizedExpression(expression) ||
    ts.isSatisfiesExpression(expression) ||
    ts.isNonNullExpression(expression) ||
    ts.isAwaitExpression(expression)
  return isWrapped ? plain(expression.expression) : expression
}

/** The origin of a value: its variable, or the expression itself. */
function originOf({ checker }: SourceProgram, value: ts.Expression): ts.Symbol | ts.Node {
  if (!ts.isIdentifier(value)) return value
  const symbol = ts.isShorthandPropertyAssignment(value.parent)
    ? checker.getShorthandAssignmentValueSymbol(value.parent)
    : checker.getSymbolAtLocation(value)
  return symbol ? declared(checker, symbol) : value
}

/** The original symbol, whatever name it was exported or imported under. */
const declared = (checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol

/** The pieces of source that make a symbol's value. */
function piecesOf({ declarations = [] }: ts.Symbol): ts.Node[] {
  return declarations.flatMap((each): ts.Node[] => {
    if (ts.isVariableDeclaration(each)) return each.initializer ? [plain(each.initializer)] : []
    if (ts.isExportAssignment(each)) return [each.expression]
    return ts.isFunctionDeclaration(each) ? [each] : []
  })
}
