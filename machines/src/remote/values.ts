/** Values of the machine's port as JSON, and back. Pure, apart from the functions and signals that the caller keeps. */
import { type BuildCode, BuildFailed } from "@superstep/builder/faults/build-failed"
import { Secret } from "@superstep/toolkit/config/settings"
import type { ErrorCode as AnyCode, CodeOf } from "@superstep/toolkit/errors/codes"
import { Conflict, KnownError, Unavailable } from "@superstep/toolkit/errors/errors"
import { AddressInUse } from "@superstep/toolkit/http/listen"
import { ImageRefused, type RefusedImageCode, TooManyDeployments } from "../port/errors.js"

// biome-ignore lint/suspicious/noExplicitAny: functions of every shape
export type AnyFunction = (...args: any[]) => any

/** What cannot be copied stays where it is, and crosses as a number. */
export interface References {
  keep(value: AnyFunction | AbortSignal): number
  functionOf(reference: number): AnyFunction
  signalOf(reference: number): AbortSignal
}

/** The key of an object that stands for something else. */
const tag = "$"

export function encode(value: unknown, references: Pick<References, "keep">): unknown {
  const inside = (it: unknown) => encode(it, references)
  if (value === undefined) return { [tag]: "undefined" }
  if (typeof value === "function") return { [tag]: "function", value: references.keep(value as AnyFunction) }
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(inside)
  if (value instanceof AbortSignal) return { [tag]: "signal", value: references.keep(value) }
  if (value instanceof Secret) return { [tag]: "secret", value: value.reveal() }
  if (value instanceof Date) return { [tag]: "date", value: value.getTime() }
  if (value instanceof Map) return { [tag]: "map", value: [...value].map(inside) }
  if (value instanceof Set) return { [tag]: "set", value: [...value].map(inside) }
  const entries = Object.entries(value).map(([key, it]) => [key, inside(it)])
  return Object.hasOwn(value, tag) ? { [tag]: "object", value: entries } : Object.fromEntries(entries)
}

type Arriving = Pick<References, "functionOf" | "signalOf">

type Decoder = (value: unknown, inside: (value: unknown) => unknown, references: Arriving) => unknown

const decoders: Readonly<Record<string, Decoder>> = {
  undefined: () => undefined,
  function: (value, _, { functionOf }) => functionOf(numberIn(value)),
  signal: (value, _, { signalOf }) => signalOf(numberIn(value)),
  secret: (value) => new Secret(String(value)),
  date: (value) => new Date(numberIn(value)),
  map: (value, inside) => new Map(listIn(value).map((entry) => inside(entry) as [unknown, unknown])),
  set: (value, inside) => new Set(listIn(value).map(inside)),
  object: (value, inside) => Object.fromEntries(listIn(value).map((entry) => inside(entry) as [string, unknown])),
}

/** @throws TypeError  it was made by no `encode` */
export function decode(value: unknown, references: Arriving): unknown {
  const inside = (it: unknown): unknown => decode(it, references)
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(inside)
  if (!Object.hasOwn(value, tag)) return Object.fromEntries(Object.entries(value).map(([key, it]) => [key, inside(it)]))
  const { [tag]: kind, value: content } = value as { [tag]: unknown; value?: unknown }
  if (typeof kind !== "string" || !Object.hasOwn(decoders, kind)) throw new TypeError("unknown kind of value")
  return decoders[kind]?.(content, inside, references)
}

function numberIn(value: unknown): number {
  if (typeof value !== "number") throw new TypeError("expected a number")
  return value
}

function listIn(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new TypeError("expected a list")
  return value
}

interface SentError {
  readonly name: string
  readonly message: string
  readonly stack?: string | undefined
  readonly code?: string | undefined
  readonly isKnown: boolean
}

export function encodeError(error: unknown): SentError {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error))
  const code = (error as { code?: unknown } | null)?.code
  return {
    name,
    message,
    stack,
    code: typeof code === "string" ? code : undefined,
    isKnown: error instanceof KnownError,
  }
}

class MachineError extends KnownError {
  readonly code: AnyCode
  constructor(message: string, code: AnyCode) {
    super(message)
    this.code = code
  }
}

/** Errors that somebody tells from others. */
const known: Readonly<Record<string, (message: string, code: string) => Error>> = {
  BuildFailed: (message, code) => new BuildFailed(code as BuildCode, message),
  ImageRefused: (message, code) => new ImageRefused(code as RefusedImageCode, message),
  TooManyDeployments: (message) => new TooManyDeployments(message),
  Conflict: (message, code) => new Conflict(message, code as CodeOf<409>),
  Unavailable: (message) => new Unavailable(message),
  AddressInUse: (message) => new AddressInUse(message),
}

export function decodeError({ name, message, stack, code = "", isKnown }: SentError): Error {
  const make = Object.hasOwn(known, name) ? known[name] : undefined
  if (isKnown) return make ? make(message, code) : new MachineError(message, code as AnyCode)
  return Object.assign(new Error(message), { name, stack }, code !== "" && { code })
}
