/**
 * Selects the texts of a value to embed, by the paths of LangGraph's stores: `$` is the whole value, `a.b` a field in a
 * field, `a[0]`, `a[-1]` and `a[*]` entries of a list, `*` all fields, `{a,b}` several of them. Pure.
 * @see https://langchain-ai.github.io/langgraph/cloud/reference/cli (store.index.fields)
 */
import { toJsonText } from "@superstep/toolkit/http/json"

/** @returns an empty list when the path matches nothing, several texts when it matches several values */
export function textsAt(value: unknown, path: string): string[] {
  const tokens = tokensOf(path)
  return tokens[0] === "$" ? textsBelow(value, tokens.slice(1)) : textsBelow(value, tokens)
}

/** Splits `a[*].b` into `a`, `[*]`, `b`. */
const tokensOf = (path: string): string[] => path.match(/\[[^\]]*\]?|\{[^}]*\}?|[^.[{]+/g) ?? []

function textsBelow(value: unknown, [token, ...rest]: readonly string[]): string[] {
  if (token === undefined) return textOf(value)
  return valuesAt(value, token).flatMap((inner) => textsBelow(inner, rest))
}

function valuesAt(value: unknown, token: string): readonly unknown[] {
  if (typeof value !== "object" || value === null) return []
  if (token === "*") return Object.values(value)
  if (token.startsWith("[")) return Array.isArray(value) ? entriesAt(value, token.slice(1, -1)) : []
  if (Array.isArray(value)) return []
  const fields = value as Readonly<Record<string, unknown>>
  if (token.startsWith("{")) return fieldNames(token).flatMap((path) => valuesAlong(fields, tokensOf(path)))
  return Object.hasOwn(fields, token) ? [fields[token]] : []
}

function entriesAt(list: readonly unknown[], index: string): readonly unknown[] {
  if (index === "*") return list
  if (!/^-?\d+$/.test(index)) return []
  const entry = list.at(Number(index))
  return entry === undefined ? [] : [entry]
}

const fieldNames = (token: string): string[] =>
  token
    .slice(1, -1)
    .split(",")
    .map((name) => name.trim())

const valuesAlong = (value: unknown, [token, ...rest]: readonly string[]): readonly unknown[] =>
  token === undefined ? [value] : valuesAt(value, token).flatMap((inner) => valuesAlong(inner, rest))

function textOf(value: unknown): string[] {
  if (value === null || value === undefined) return []
  return [typeof value === "string" ? value : toJsonText(value)]
}
