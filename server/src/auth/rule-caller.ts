/** A caller of a project with access rules: each event is decided by one handler. */
import type { AccessEvent, Caller, Permit, User } from "./caller.js"
import type { MetadataFilter } from "./metadata-filter.js"
import { handlerOf, parseFilter } from "./rules.js"

/** A call of a handler. */
export interface RuleQuestion {
  readonly event: AccessEvent
  /** Key of the handler. */
  readonly handler: string
  readonly value: object
  readonly user: User
}

export interface RuleAnswer {
  readonly value: unknown
  /** Unchecked, as the handler returned it. */
  readonly filter: unknown
}

/** Access to the project's handlers, which run in a worker. */
export interface Rules {
  /** Keys of the `on` handlers, known since the module was loaded: an event without a handler needs no call. */
  handlers(): readonly string[]
  /** @throws Denied  the handler rejected the request; carries its message and status */
  authorize(question: RuleQuestion): Promise<RuleAnswer>
}

export class RuleCaller implements Caller {
  readonly user: User
  readonly #rules: Rules

  constructor(user: User, rules: Rules) {
    this.user = user
    this.#rules = rules
  }

  async authorize<Value extends object>(event: AccessEvent, value: Value): Promise<Permit<Value>> {
    const handler = handlerOf(event, this.#rules.handlers())
    if (handler === undefined) return { value, filter: undefined }
    const answer = await this.#rules.authorize({ event, handler, value, user: this.user })
    return { value: checkedValue<Value>(answer.value, handler), filter: checkedFilter(answer.filter, handler) }
  }
}

/** Checks the value that a handler may have changed, since it is stored. */
function checkedValue<Value extends object>(value: unknown, handler: string): Value {
  const isObject = (one: unknown) => typeof one === "object" && one !== null && !Array.isArray(one)
  const { metadata } = (value ?? {}) as { metadata?: unknown }
  const isMetadata = metadata === undefined || metadata === null || isObject(metadata)
  if (isObject(value) && isMetadata) return value as Value
  throw new Error(`the auth handler for "${handler}" returned a value whose metadata is not an object`)
}

function checkedFilter(filter: unknown, handler: string): MetadataFilter | undefined {
  if (filter === undefined) return undefined
  try {
    return parseFilter(filter)
  } catch (cause) {
    throw new Error(`the auth handler for "${handler}" returned an invalid filter`, { cause })
  }
}
