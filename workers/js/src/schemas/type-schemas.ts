/**
 * A TypeScript type as JSON Schema, draft 7. It is for forms and readers, not for validation: a type that JSON Schema does not
 * support, such as a function, accepts any value, and no field of the outermost object is required, since a graph's input is
 * a part of its state.
 */
import type { SourceProgram } from "./source-program.js"

import ts = require("typescript-api")

type Schema = Record<string, unknown>

// A type may be as large as a library; beyond these limits its parts accept any value.
const maxLevels = 12
const maxDefinitions = 200

export class TypeSchemas {
  readonly #program: SourceProgram
  readonly #names = new Map<ts.Type, string>()
  readonly #definitions: Record<string, Schema> = {}

  constructor(program: SourceProgram) {
    this.#program = program
  }

  /** @returns a complete document, with the named types that it uses */
  schema(type: ts.Type): Schema {
    const { required, ...root } = isObject(type) && !this.#isSpecial(type) ? this.#object(type, 0) : this.#of(type, 0)
    const definitions = Object.keys(this.#definitions).length === 0 ? {} : { definitions: this.#definitions }
    return { $schema: "http://json-schema.org/draft-07/schema#", ...root, ...definitions }
  }

  #of(type: ts.Type, level: number): Schema {
    if (level > maxLevels) return {}
    if (type.isUnion()) return this.#union(type, level)
    const simple = simpleSchema(type)
    if (simple) return simple
    if (this.#isMessage(type)) return this.#message()
    const { checker } = this.#program
    if (checker.isTupleType(type)) return this.#tuple(type, level)
    if (checker.isArrayType(type)) {
      const [item] = checker.getTypeArguments(type as ts.TypeReference)
      const items = item ? this.#of(item, level + 1) : {}
      return item && this.#isMessage(item) ? messageList(items) : { type: "array", items }
    }
    if (type.symbol?.name === "Date") return { type: "string", format: "date-time" }
    if (this.#isSpecial(type)) return {}
    return this.#named(type, level)
  }

  #tuple(type: ts.Type, level: number): Schema {
    const items = this.#program.checker
      .getTypeArguments(type as ts.TypeReference)
      .map((each) => this.#of(each, level + 1))
    return { type: "array", items, minItems: items.length }
  }

  #union({ types }: ts.UnionType, level: number): Schema {
    const present = types.filter((each) => !isLeftOut(each))
    // The many types that LangChain accepts as a message are shortened to the message itself.
    const lists = present.flatMap((each) => this.#itemsOf(each))
    if (lists.some((each) => this.#mayBeMessage(each))) return messageList(this.#message())
    if (present.some((each) => this.#isMessage(each))) return this.#message()
    const literals = present.filter((each) => each.isStringLiteral() || each.isNumberLiteral())
    const booleans = present.filter((each) => each.flags & ts.TypeFlags.BooleanLiteral)
    const others = present.filter((each) => !literals.includes(each as never) && !booleans.includes(each))
    const schemas = [
      ...(literals.length > 0 ? [enumOf(this.#asWritten(literals.map((each) => (each as ts.LiteralType).value)))] : []),
      ...(booleans.length > 1 ? [{ type: "boolean" }] : booleans.map((each) => simpleSchema(each) ?? {})),
      ...others.map((each) => this.#of(each, level + 1)),
    ]
    return schemas.length === 1 ? (schemas[0] ?? {}) : { anyOf: schemas }
  }

  /** The compiler sorts a union by when it met its members, also in other files; forms show the author's order. */
  #asWritten(values: readonly unknown[]): unknown[] {
    const { text } = this.#program.source
    if (!values.every((value) => typeof value === "string")) return [...values]
    const placeOf = (value: string) => {
      const places = [`"${value}"`, `'${value}'`].map((quoted) => text.indexOf(quoted)).filter((place) => place >= 0)
      return places.length === 0 ? text.length : Math.min(...places)
    }
    return values.toSorted((one, other) => placeOf(one) - placeOf(other))
  }

  #itemsOf(type: ts.Type): readonly ts.Type[] {
    const { checker } = this.#program
    return checker.isArrayType(type) ? checker.getTypeArguments(type as ts.TypeReference) : []
  }

  #mayBeMessage(type: ts.Type): boolean {
    return type.isUnion() ? type.types.some((each) => this.#isMessage(each)) : this.#isMessage(type)
  }

  /** A named type is defined once, which also ends recursive types. */
  #named(type: ts.Type, level: number): Schema {
    const symbol = type.aliasSymbol ?? type.symbol
    const isNamed = symbol !== undefined && !symbol.name.startsWith("__")
    if (!isNamed) return this.#object(type, level)
    const known = this.#names.get(type)
    if (known !== undefined) return { $ref: `#/definitions/${known}` }
    if (this.#names.size >= maxDefinitions) return {}
    const name = this.#free(symbol.name)
    this.#names.set(type, name)
    this.#definitions[name] = {}
    this.#definitions[name] = this.#object(type, level)
    return { $ref: `#/definitions/${name}` }
  }

  #free(name: string): string {
    for (let number = 1; ; number++) {
      const candidate = number === 1 ? name : `${name}${number}`
      if (!Object.hasOwn(this.#definitions, candidate)) return candidate
    }
  }

  #object(type: ts.Type, level: number): Schema {
    const { checker, source } = this.#program
    const properties: Record<string, Schema> = {}
    const required: string[] = []
    for (const property of checker.getPropertiesOfType(type)) {
      if (property.name.startsWith("__@") || property.flags & ts.SymbolFlags.Method) continue
      const each = checker.getTypeOfSymbolAtLocation(property, source)
      const description = ts.displayPartsToString(property.getDocumentationComment(checker))
      properties[property.name] = { ...this.#of(each, level + 1), ...(description && { description }) }
      if (!(property.flags & ts.SymbolFlags.Optional) && !mayBeAbsent(each)) required.push(property.name)
    }
    const index = checker.getIndexTypeOfType(type, ts.IndexKind.String)
    return {
      type: "object",
      ...(Object.keys(properties).length > 0 && { properties }),
      ...(required.length > 0 && { required }),
      ...(index && { additionalProperties: this.#of(index, level + 1) }),
    }
  }

  /** Whether a type has no natural JSON form. */
  #isSpecial(type: ts.Type): boolean {
    const { checker } = this.#program
    if (["Map", "Set", "Promise", "RegExp", "Uint8Array", "Buffer"].includes(type.symbol?.name ?? "")) return true
    const isCallable = checker.getSignaturesOfType(type, ts.SignatureKind.Call).length > 0
    return isCallable || checker.isArrayType(type) || checker.isTupleType(type)
  }

  /** Whether a type is a LangChain message, of any class. */
  #isMessage(type: ts.Type): boolean {
    if (!isObject(type)) return false
    const isBase = (each: ts.Type) => each.symbol?.name === "BaseMessage"
    if (isBase(type)) return true
    return type.isClassOrInterface() || type.symbol?.flags & ts.SymbolFlags.Class
      ? bases(this.#program.checker, type).some(isBase)
      : false
  }

  #message(): Schema {
    this.#definitions.BaseMessage ??= baseMessage
    return { $ref: "#/definitions/BaseMessage" }
  }
}

function bases(checker: ts.TypeChecker, type: ts.Type): ts.Type[] {
  const target = (type as ts.TypeReference).target ?? type
  if (!target.isClassOrInterface()) return []
  const direct = checker.getBaseTypes(target)
  return direct.flatMap((base) => [base, ...bases(checker, base)])
}

/** `undefined` is an absent field; an overwrite is LangGraph's own way to bypass a reducer. */
const isLeftOut = (type: ts.Type): boolean =>
  (type.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Void)) !== 0 || type.symbol?.name === "OverwriteValue"

const isObject = (type: ts.Type): boolean =>
  (type.flags & ts.TypeFlags.Object) !== 0 || (type.isIntersection() && type.types.some(isObject))

const mayBeAbsent = (type: ts.Type): boolean =>
  (type.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Any | ts.TypeFlags.Unknown)) !== 0 ||
  (type.isUnion() && type.types.some(mayBeAbsent))

/** The schema of a type without parts; undefined for all others. */
function simpleSchema(type: ts.Type): Schema | undefined {
  const { flags } = type
  if (type.isStringLiteral() || type.isNumberLiteral()) return { ...enumOf([type.value]) }
  if (flags & ts.TypeFlags.BooleanLiteral)
    return { const: (type as { intrinsicName?: string }).intrinsicName === "true" }
  if (flags & (ts.TypeFlags.StringLike | ts.TypeFlags.TemplateLiteral)) return { type: "string" }
  if (flags & ts.TypeFlags.NumberLike) return { type: "number" }
  if (flags & ts.TypeFlags.BigIntLike) return { type: "integer" }
  if (flags & ts.TypeFlags.BooleanLike) return { type: "boolean" }
  if (flags & ts.TypeFlags.Null) return { type: "null" }
  if (flags & ts.TypeFlags.NonPrimitive) return { type: "object" }
  return isObject(type) ? undefined : {}
}

function enumOf(values: readonly unknown[]): Schema {
  const types = [...new Set(values.map((each) => typeof each))]
  return { type: types.length === 1 ? types[0] : types, enum: values }
}

/** Clients show a conversation for fields with this marker, which state schemas use too (protocol-v2 §3.7). */
const messageList = (items: Schema): Schema => ({ type: "array", items, langgraph_type: "messages" })

/** A message as it is on the wire (agent-server API §2.11). */
const baseMessage: Schema = {
  type: "object",
  description: "A message of a conversation.",
  properties: {
    type: { type: "string", enum: ["human", "ai", "system", "tool", "function", "remove"] },
    content: { anyOf: [{ type: "string" }, { type: "array", items: { type: "object" } }] },
    id: { type: "string" },
    name: { type: "string" },
    tool_calls: { type: "array", items: { type: "object" } },
    tool_call_id: { type: "string" },
    additional_kwargs: { type: "object" },
    response_metadata: { type: "object" },
  },
  required: ["type", "content"],
}
