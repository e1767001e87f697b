/** Requests of A2A clients: the parameters of each method, and the graph input that a message gives. Pure. */
import { checkExact } from "@superstep/toolkit/http/exact-number"
import { z } from "zod"
import { jsonObject } from "../http/parameters.js"
import { codes, RpcError } from "./wire.js"

const part = z.looseObject({
  kind: z.string().optional(),
  text: z.string().optional(),
  data: z.unknown().optional(),
})

const historyLength = z.int().min(0).max(10).nullish()

const configuration = z
  .looseObject({
    historyLength,
    /** A2A 0.3. In 1.0 the field is `returnImmediately`, with the opposite meaning. */
    blocking: z.boolean().nullish(),
    returnImmediately: z.boolean().nullish(),
  })
  .nullish()

export const sendParams = z.looseObject({
  message: z.looseObject({
    role: z.string(),
    parts: z.array(part).min(1),
    messageId: z.string().min(1),
    // Clients of 1.0 send "" for a missing id.
    contextId: z.string().nullish(),
    taskId: z.string().nullish(),
  }),
  configuration,
  context: jsonObject.nullish(),
})
export type SendParams = z.output<typeof sendParams>

export const taskParams = z.looseObject({ id: z.string(), contextId: z.string().nullish(), historyLength })

const maxPageSize = 100
export const listParams = z.looseObject({
  contextId: z.string(),
  pageSize: z.int().min(1).max(maxPageSize).nullish(),
  pageToken: z
    .string()
    .regex(/^\d{0,9}$/)
    .nullish(),
  historyLength,
})

/** @throws RpcError  naming the invalid parameters */
export function parseParams<S extends z.ZodType>(schema: S, params: unknown): z.output<S> {
  const { result: parsed } = checkExact(schema, params ?? {})
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map(({ path, message }) => `${["params", ...path].join(".")}: ${message}`)
  throw new RpcError(codes.invalidParams, problems.join("; "))
}

type Parts = SendParams["message"]["parts"]

/** The text parts of a message, joined by line breaks, and its data parts, merged into one object. */
function contentOf(parts: Parts) {
  const texts = parts.flatMap(({ text }) => (text === undefined ? [] : [text]))
  const data = parts.flatMap((each) => (each.text === undefined && "data" in each ? [each.data] : []))
  if (texts.length + data.length < parts.length) {
    throw new RpcError(codes.contentType, "only text and data parts are supported, not files")
  }
  const objects = data.map((each) => {
    const parsed = jsonObject.safeParse(each)
    if (parsed.success) return parsed.data
    throw new RpcError(codes.invalidParams, "params.message.parts: data must be an object")
  })
  const merged: Record<string, unknown> = Object.assign({}, ...objects)
  return { text: texts.length === 0 ? undefined : texts.join("\n"), data: merged, hasData: data.length > 0 }
}

/**
 * The graph's input: the text parts become a user message, the data parts the other fields.
 * @param takesMessages  whether the graph's input has `messages`
 * @throws RpcError
 */
export function inputOf({ message }: SendParams, takesMessages: boolean): Record<string, unknown> {
  const { text, data } = contentOf(message.parts)
  if (text === undefined) return data
  if (!takesMessages) {
    throw new RpcError(
      codes.invalidParams,
      "this assistant's input has no `messages`, so it does not accept text: send its input in a data part",
    )
  }
  return { ...data, messages: [{ role: "user", content: text, id: message.messageId }] }
}

const answers = z.object({ resume: z.array(z.object({ id: z.string(), value: z.unknown() })) })

/** The resume value for an interrupted graph: answers by interrupt id, else the data, else the text. @throws RpcError */
export function resumeOf({ message }: SendParams): unknown {
  const { text, data, hasData } = contentOf(message.parts)
  const byInterrupt = answers.safeParse(data)
  if (byInterrupt.success) return Object.fromEntries(byInterrupt.data.resume.map(({ id, value }) => [id, value]))
  return hasData ? data : text
}
