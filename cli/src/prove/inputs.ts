/** Which input a graph gets, where its user names none: worked out from its JSON Schema. Pure. */
import { KnownError } from "@superstep/toolkit/errors/errors"

export class NoInput extends KnownError {
  readonly code = "no_input"
}

export type Input = Readonly<Record<string, unknown>>

type Schema = Readonly<Record<string, unknown>>

const texts = ["Hello! What can you do?", "Thank you. And what else?"]

/** How many runs a conversation has. */
export const runsPerConversation = texts.length

/**
 * The inputs of a conversation's runs, one after the other: a message in `messages`, and a word in each text that is needed.
 * @throws NoInput  when the graph needs something else; the message has an example for `--input`
 */
export function inputsFor(schema: unknown, graph: string): Input[] {
  const properties = propertiesOf(schema)
  const takesMessages = isSchema(properties.messages) && properties.messages.type === "array"
  const required = requiredOf(schema) ?? (takesMessages ? [] : Object.keys(properties))
  const others = required.filter((name) => !(takesMessages && name === "messages"))
  const isSimple = others.every((name) => isSchema(properties[name]) && properties[name].type === "string")
  if (!isSimple || (!takesMessages && others.length === 0)) throw new NoInput(adviceFor(graph, properties))
  const words = (text: string) => Object.fromEntries(others.map((name) => [name, text]))
  return texts.map((text) => ({
    ...(takesMessages && { messages: [{ role: "user", content: text }] }),
    ...words(text),
  }))
}

/** A copy of an input, the last message of which has this id; unchanged when it has no list of messages. */
export function withMessageId(input: Input, id: string): Input {
  const { messages } = input
  const last = Array.isArray(messages) ? messages.at(-1) : undefined
  if (!Array.isArray(messages) || !isSchema(last)) return input
  return { ...input, messages: [...messages.slice(0, -1), { ...last, id }] }
}

function adviceFor(graph: string, properties: Schema): string {
  const fields = Object.entries(properties).map(([name, schema]) => [name, exampleOf(schema)])
  const example = fields.length > 0 ? Object.fromEntries(fields) : { messages: [{ role: "user", content: texts[0] }] }
  const why = fields.length > 0 ? "needs more than a message or a text" : "does not say what its input is"
  return `the graph ${graph} ${why}: give an input, for example --graph ${graph} --input '${JSON.stringify(example)}'`
}

function exampleOf(schema: unknown): unknown {
  if (!isSchema(schema)) return "…"
  if (schema.default !== undefined) return schema.default
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const [choice] = [schema.anyOf, schema.oneOf].flatMap((list) => (Array.isArray(list) ? list : []))
  if (choice !== undefined) return exampleOf(choice)
  const examples: Readonly<Record<string, unknown>> = { string: "…", number: 1, integer: 1, boolean: true, array: [] }
  return examples[String(schema.type)] ?? {}
}

const propertiesOf = (schema: unknown): Schema =>
  isSchema(schema) && isSchema(schema.properties) ? schema.properties : {}

const requiredOf = (schema: unknown): string[] | undefined =>
  isSchema(schema) && Array.isArray(schema.required) ? schema.required.map(String) : undefined

const isSchema = (value: unknown): value is Schema => typeof value === "object" && value !== null
