/**
 * What an interrupt asks, by its schema or by its shape, and the answer that its graph expects. Pure.
 * The shapes: `response_schema` of an interrupt; `HumanInterrupt` of LangChain's agent inbox (an object, or a list of one);
 * `HITLRequest` of LangChain's human-in-the-loop middleware, in both languages' spelling; else any value.
 */
import type { JsonSchema } from "../schema-form/fields.js"

export interface Interrupt {
  readonly id?: string | undefined
  readonly value?: unknown
  readonly response_schema?: unknown
}

/** Whether both ask the same: all questions of a task, one after the other, have one id. */
export const isSame = (a: Interrupt, b: Interrupt): boolean =>
  a.id === b.id && JSON.stringify(a.value) === JSON.stringify(b.value)

/** A tool call that waits for a decision. */
export interface Action {
  readonly name: string
  readonly args: unknown
  readonly description: string | undefined
  readonly allowed: readonly Decision["type"][]
}

/** What a person decides about one action. */
export type Decision =
  | { readonly type: "approve" }
  | { readonly type: "edit"; readonly args: unknown }
  | { readonly type: "respond"; readonly text: string }
  | { readonly type: "reject"; readonly text: string }

export type Question =
  | {
      readonly kind: "schema"
      readonly text: string | undefined
      readonly details: unknown
      readonly schema: JsonSchema
    }
  | {
      readonly kind: "actions"
      readonly style: "inbox" | "middleware" | "middleware_js"
      readonly actions: readonly Action[]
    }
  | {
      readonly kind: "choice"
      readonly text: string | undefined
      readonly details: unknown
      readonly options: readonly unknown[]
    }
  | { readonly kind: "open"; readonly text: string | undefined; readonly details: unknown }

export function questionOf({ value, response_schema: schema }: Interrupt): Question {
  const actions = actionsOf(value)
  if (actions) return actions
  const { text, details } = toldBy(value)
  if (isObject(schema) || typeof schema === "boolean") return { kind: "schema", text, details, schema }
  const options = isObject(value) ? (listOf(value.options) ?? listOf(value.choices)) : undefined
  if (options?.length) {
    const { options: _, choices: __, ...others } = isObject(details) ? details : {}
    return { kind: "choice", text, details: emptied(others), options }
  }
  return { kind: "open", text, details }
}

function actionsOf(value: unknown): Question | undefined {
  const inbox = Array.isArray(value) ? value[0] : value
  if (isObject(inbox) && isObject(inbox.action_request)) {
    const { action, args } = inbox.action_request
    const config = isObject(inbox.config) ? inbox.config : {}
    const allowed = [
      ...(config.allow_accept ? (["approve"] as const) : []),
      ...(config.allow_edit ? (["edit"] as const) : []),
      ...(config.allow_respond ? (["respond"] as const) : []),
      ...(config.allow_ignore ? (["reject"] as const) : []),
    ]
    const name = typeof action === "string" ? action : "action"
    return {
      kind: "actions",
      style: "inbox",
      actions: [{ name, args, description: textOf(inbox.description), allowed }],
    }
  }
  if (!isObject(value)) return undefined
  const isJs = Array.isArray(value.actionRequests)
  const requests = isJs ? value.actionRequests : value.action_requests
  if (!Array.isArray(requests) || requests.length === 0 || !requests.every(isObject)) return undefined
  const configs = listOf(isJs ? value.reviewConfigs : value.review_configs) ?? []
  const actions = requests.map((request) => middlewareAction(request, configs.filter(isObject)))
  return { kind: "actions", style: isJs ? "middleware_js" : "middleware", actions }
}

const decisions = ["approve", "edit", "respond", "reject"] as const

function middlewareAction(request: JsonObject, configs: readonly JsonObject[]): Action {
  const name = String(request.name ?? request.action ?? "action")
  const config = configs.find((one) => (one.actionName ?? one.action_name) === name)
  const named = config && listOf(config.allowedDecisions ?? config.allowed_decisions)
  const allowed = named
    ? decisions.filter((decision) => named.includes(decision))
    : (["approve", "edit", "reject"] as const)
  return { name, args: request.args ?? request.arguments, description: textOf(request.description), allowed }
}

/** The answer to an interrupt with actions, one decision for each. */
export function answerOf(question: Extract<Question, { kind: "actions" }>, made: readonly Decision[]): unknown {
  if (question.style === "inbox") return made.map((decision, n) => inboxAnswer(decision, question.actions[n]))
  return {
    decisions: made.map((decision, n) =>
      middlewareAnswer(decision, question.actions[n], question.style === "middleware_js"),
    ),
  }
}

function inboxAnswer(decision: Decision, action: Action | undefined) {
  switch (decision.type) {
    case "approve":
      return { type: "accept", args: { action: action?.name, args: action?.args } }
    case "edit":
      return { type: "edit", args: { action: action?.name, args: decision.args } }
    case "respond":
      return { type: "response", args: decision.text }
    case "reject":
      return { type: "ignore", args: null }
  }
}

function middlewareAnswer(decision: Decision, action: Action | undefined, isJs: boolean) {
  switch (decision.type) {
    case "approve":
      return { type: "approve" }
    case "edit":
      return { type: "edit", [isJs ? "editedAction" : "edited_action"]: { name: action?.name, args: decision.args } }
    case "respond":
      return { type: "respond", message: decision.text }
    case "reject":
      return decision.text === "" ? { type: "reject" } : { type: "reject", message: decision.text }
  }
}

/** Whether "approve" answers the whole interrupt: only then can it be approved together with others. */
export const canApprove = (question: Question): question is Extract<Question, { kind: "actions" }> =>
  question.kind === "actions" && question.actions.every(({ allowed }) => allowed.includes("approve"))

export const canReject = (question: Question): question is Extract<Question, { kind: "actions" }> =>
  question.kind === "actions" && question.actions.every(({ allowed }) => allowed.includes("reject"))

/** One line that tells a person what is asked. */
export function titleOf(question: Question): string {
  if (question.kind === "actions") return question.actions.map(({ name }) => name).join(", ")
  if (question.text !== undefined) return question.text
  const details = JSON.stringify(question.details)
  return details === undefined ? "An answer is needed" : details
}

/** A second line: what would be done, or what else the graph tells. */
export function summaryOf(question: Question): string {
  if (question.kind === "actions") return question.actions.map(({ args }) => argsText(args)).join(" · ")
  return question.details === undefined ? "" : argsText(question.details)
}

function argsText(args: unknown): string {
  if (!isObject(args)) return args === undefined ? "" : JSON.stringify(args)
  return Object.entries(args)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ")
}

const questionFields = ["question", "message", "prompt", "text", "description", "instruction", "q"] as const

/** The question as text, and what else the graph tells. */
function toldBy(value: unknown): { text: string | undefined; details: unknown } {
  if (typeof value === "string") return { text: value, details: undefined }
  if (!isObject(value)) return { text: undefined, details: value }
  const field = questionFields.find((name) => textOf(value[name]) !== undefined)
  if (field === undefined) return { text: undefined, details: emptied(value) }
  const { [field]: text, ...details } = value
  return { text: textOf(text), details: emptied(details) }
}

const emptied = (details: JsonObject): unknown => (Object.keys(details).length === 0 ? undefined : details)

type JsonObject = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value : undefined
const listOf = (value: unknown): readonly unknown[] | undefined => (Array.isArray(value) ? value : undefined)
