/** Reads JSON that has exact numbers. `JSON.parse` gives a reviver no source text before Node 21, and is slow with one. Pure. */

import { endOfNumber, endOfString, isChangedNumber } from "../text/scan-json.js"
import { ExactNumber } from "./exact-number.js"

/** @param text  valid JSON: the caller has parsed it */
export function parseExact(text: string): unknown {
  return new Reader(text).value()
}

const [quote, minus, zero, nine, comma] = [0x22, 0x2d, 0x30, 0x39, 0x2c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(): unknown {
    const code = this.#next()
    if (code === openObject) return this.#object()
    if (code === openList) return this.#list()
    if (code === quote) return this.#string()
    if (code === minus || (code >= zero && code <= nine)) return this.#number()
    const literal = /(?:true|false|null)/y
    literal.lastIndex = this.#at
    const [word = ""] = literal.exec(this.#text) ?? []
    this.#at += word.length
    return word === "null" ? null : word === "true"
  }

  #object(): object {
    const object: Record<string, unknown> = {}
    this.#at++
    while (this.#next() !== closeObject) {
      if (this.#next() === comma) this.#at++
      this.#next()
      const key = this.#string()
      this.#next()
      // The colon.
      this.#at++
      const value = this.value()
      // An assignment would set the prototype.
      if (key === "__proto__")
        Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true })
      else object[key] = value
    }
    this.#at++
    return object
  }

  #list(): unknown[] {
    const list: unknown[] = []
    this.#at++
    while (this.#next() !== closeList) {
      if (this.#next() === comma) this.#at++
      list.push(this.value())
    }
    this.#at++
    return list
  }

  #string(): string {
    const end = endOfString(this.#text, this.#at)
    const inside = this.#text.slice(this.#at + 1, end)
    this.#at = end + 1
    return inside.includes("\\") ? JSON.parse(`"${inside}"`) : inside
  }

  #number(): unknown {
    const end = endOfNumber(this.#text, this.#at)
    const number = this.#text.slice(this.#at, end)
    this.#at = end
    return isChangedNumber(number) ? new ExactNumber(number) : Number(number)
  }

  /** Skips white space. @returns the code of the next character */
  #next(): number {
    let code = this.#text.charCodeAt(this.#at)
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = this.#text.charCodeAt(++this.#at)
    return code
  }
}
