/**
 * Calls between two processes over one stream, in both directions: a line of JSON for each call and each reply. A function that is
 * passed can be called by the other side until the call has returned; if the call returned a function itself (as a watch returns what
 * ends it), until that one has been called.
 */
import type { Duplex } from "node:stream"
import { StringDecoder } from "node:string_decoder"
import { type AnyFunction, decode, decodeError, encode, encodeError, type References } from "./values.js"

/** Answers calls by name. @throws  what the caller gets */
export type Answer = (name: string, args: readonly unknown[]) => unknown

export interface Channel {
  call(name: string, args: readonly unknown[]): Promise<unknown>
}

// Far above what a table of an edge or the log of a unit takes. A longer one is an error of the call that would send it.
const longestLine = 64 * 1024 * 1024

interface Message {
  /** Of a call and its reply; each side numbers its own calls. */
  readonly id: number
  /** A call by name, or of a function that was passed. */
  readonly call?: string | number
  readonly args?: unknown
  readonly aborted?: number
  readonly result?: unknown
  readonly error?: Parameters<typeof decodeError>[0]
}

/**
 * @param onEnd  the other side has ended, or has sent something that is no message. Calls under way then never return: neither process
 *               goes on without the other
 */
export function openChannel(stream: Duplex, answer: Answer, onEnd: (why: Error | undefined) => void): Channel {
  const pending = new Map<number, (reply: Message) => void>()
  /** Functions that the other side may call. */
  const functions = new Map<number, AnyFunction>()
  /** For the signals of calls that run here. */
  const aborting = new Map<number, AbortController>()
  let lastId = 0
  /** @throws RangeError  the message is too long: then nothing was sent */
  const send = (message: Message): void => {
    const line = JSON.stringify(message)
    requireFit(line.length)
    if (stream.writable) stream.write(`${line}\n`)
  }

  const keep = (value: AnyFunction | AbortSignal, atEnd: (() => void)[]): number => {
    const reference = ++lastId
    if (typeof value === "function") {
      functions.set(reference, value)
      atEnd.push(() => functions.delete(reference))
      return reference
    }
    const abort = () => send({ id: 0, aborted: reference })
    value.addEventListener("abort", abort)
    atEnd.push(() => value.removeEventListener("abort", abort))
    // After the call that passes it.
    if (value.aborted) queueMicrotask(abort)
    return reference
  }
  const functionOf: References["functionOf"] =
    (reference) =>
    (...args) =>
      invoke(reference, args)
  const signalOf: References["signalOf"] = (reference) => {
    const controller = new AbortController()
    aborting.set(reference, controller)
    return controller.signal
  }

  const invoke = async (call: string | number, args: readonly unknown[]): Promise<unknown> => {
    const atEnd: (() => void)[] = []
    const release = () => {
      for (const work of atEnd) work()
    }
    const id = ++lastId
    const replied = new Promise<Message>((resolve) => pending.set(id, resolve))
    try {
      send({ id, call, args: args.map((arg) => encode(arg, { keep: (it) => keep(it, atEnd) })) })
    } catch (error) {
      pending.delete(id)
      release()
      throw error
    }
    const { error, result: sent } = await replied
    const result = error ? undefined : decode(sent, { functionOf, signalOf })
    if (typeof result !== "function") release()
    if (error) throw decodeError(error)
    if (typeof result !== "function") return result
    return () => {
      release()
      return (result as AnyFunction)()
    }
  }

  const perform = async ({ id, call, args }: Message): Promise<void> => {
    const signals: number[] = []
    const ownSignalOf = (reference: number) => {
      signals.push(reference)
      return signalOf(reference)
    }
    try {
      const decoded = decode(args, { functionOf, signalOf: ownSignalOf })
      if (!Array.isArray(decoded)) throw new TypeError("expected a list of arguments")
      // A watch may call just as it is ended: then nobody is left to hear it.
      const result = await (typeof call === "number"
        ? functions.get(call)?.(...decoded)
        : answer(String(call), decoded))
      send({ id, result: encode(result, { keep: keepOnce }) })
    } catch (error) {
      fail(id, error)
    } finally {
      for (const reference of signals) aborting.delete(reference)
    }
  }
  const fail = (id: number, error: unknown): void => {
    try {
      send({ id, error: encodeError(error) })
    } catch (tooLong) {
      send({ id, error: encodeError(tooLong) })
    }
  }
  /** What ends a watch is called once. */
  const keepOnce = (value: AnyFunction | AbortSignal): number => {
    const atEnd: (() => void)[] = []
    const end = () => {
      for (const work of atEnd) work()
      return (value as AnyFunction)()
    }
    return keep(end, atEnd)
  }

  const receive = (line: string) => {
    const message = JSON.parse(line) as Message
    if (message.aborted !== undefined) return aborting.get(message.aborted)?.abort()
    if (message.call !== undefined) return void perform(message)
    pending.get(message.id)?.(message)
    pending.delete(message.id)
  }
  readLines(stream, receive, onEnd)
  return { call: invoke }
}

function requireFit(length: number): void {
  if (length > longestLine) throw new RangeError(`a message is longer than ${longestLine} characters`)
}

function readLines(stream: Duplex, onLine: (line: string) => void, onEnd: (why: Error | undefined) => void): void {
  const decoder = new StringDecoder("utf8")
  let parts: string[] = []
  let length = 0
  let hasEnded = false
  const end = (why?: Error) => {
    if (hasEnded) return
    hasEnded = true
    stream.destroy()
    onEnd(why)
  }
  const read = (chunk: Buffer) => {
    const [first = "", ...others] = decoder.write(chunk).split("\n")
    parts.push(first)
    length += first.length
    requireFit(length)
    for (const part of others) {
      onLine(parts.join(""))
      parts = [part]
      length = part.length
    }
  }
  stream.on("data", (chunk: Buffer) => {
    try {
      if (!hasEnded) read(chunk)
    } catch (error) {
      end(error as Error)
    }
  })
  stream.once("close", () => end())
  stream.once("end", () => end())
  stream.once("error", end)
}
