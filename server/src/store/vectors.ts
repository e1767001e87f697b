/** The vectors of items that are put: which texts to embed, and the statement's parameters. */
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import type { Put } from "./item.js"
import type { Store, StoreIndex } from "./store-settings.js"
import { textsAt } from "./text-at-path.js"

/** A text of an item; `item` is the item's index in the list, counted from 0. */
export interface ItemText {
  readonly item: number
  readonly fieldName: string
  readonly text: string
}

/** Vectors as columns; each vector is a text such as `[0.1,0.2]`. */
export interface ItemVectors {
  /** Counted from 1, like SQL arrays. */
  readonly items: readonly number[]
  readonly fieldNames: readonly string[]
  readonly vectors: readonly string[]
}

// A value may contain a list of any length, and one put is one call of the embedding.
const maxTexts = 1000

/**
 * Which texts to embed. Several texts of one path are numbered, as in the libraries: `notes[*].0`.
 * @throws InvalidInput  for an item with more than 1000 texts
 */
const textsOfPuts = (index: StoreIndex, puts: readonly Put[]): ItemText[] =>
  puts.flatMap((put, item) => {
    if (put.value === null || put.index === false) return []
    const value: unknown = parseJson(put.value)
    const texts = (put.index ?? index.fields).flatMap((path) => namedTexts(value, path))
    const named = new Map(texts.map(({ fieldName, text }) => [fieldName, { item, fieldName, text }]))
    if (named.size <= maxTexts) return [...named.values()]
    const message = `expected at most ${maxTexts} texts to embed, found ${named.size}`
    throw new InvalidInput([{ path: ["body", "index"], message, type: "value_error" }])
  })

function namedTexts(value: unknown, path: string) {
  const texts = textsAt(value, path).filter((text) => text.trim() !== "")
  return texts.map((text, number) => ({ fieldName: texts.length > 1 ? `${path}.${number}` : path, text }))
}

/** Embeds the texts of all puts in one call; undefined without an index. @throws EmbeddingFailed */
export async function vectorsOfPuts({ index, embed }: Store, puts: readonly Put[]): Promise<ItemVectors | undefined> {
  if (!index) return undefined
  const texts = textsOfPuts(index, puts)
  const different = [...new Set(texts.map(({ text }) => text))]
  const vectors = await embed(index, different)
  const byText = new Map(different.map((text, number) => [text, vectorText(vectors[number])]))
  return {
    items: texts.map(({ item }) => item + 1),
    fieldNames: texts.map(({ fieldName }) => fieldName),
    vectors: texts.map(({ text }) => byText.get(text) ?? ""),
  }
}

/**
 * The `index` of a put that replaces an item and embeds the same paths, as far as the item's vectors tell them: without vectors none.
 * @param fieldNames  of the item's vectors
 */
export function indexOfVectors(index: StoreIndex | undefined, fieldNames: readonly string[]): Put["index"] {
  if (fieldNames.length === 0) return false
  const paths = [...new Set(fieldNames.map(pathOf))]
  return paths.every((path) => index?.fields.includes(path)) ? undefined : paths
}

// Only a path that matches several texts numbers them.
const pathOf = (fieldName: string): string => (/[*{]/.test(fieldName) ? fieldName.replace(/\.\d+$/, "") : fieldName)

/** The vector of a search's query; undefined without a query, or without an index (S4). @throws EmbeddingFailed */
export async function vectorOfQuery({ index, embed }: Store, query: string | undefined): Promise<string | undefined> {
  if (!index || !query) return undefined
  const [vector] = await embed(index, [query])
  return vectorText(vector)
}

const vectorText = (vector: readonly number[] = []): string => toJsonText(vector)
