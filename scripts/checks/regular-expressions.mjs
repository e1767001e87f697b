/**
 * Looks for regular expressions whose time grows with the square of a text, or faster: one long line of a tenant would stop a process for
 * all. Each expression in the sources is tried with texts that repeat its own characters.
 */

// The first length finds what doubles with each character, and each next one what grows more slowly.
const lengths = [26, 400, 4000, 32_000, 128_000]
// For the longest text a linear expression takes some milliseconds; one that grows with the square takes five seconds and more, so that a
// machine that is several times faster or slower finds the same ones.
const mostMs = 250
// What takes less is not tried with a longer text.
const suspectMs = 2

// Before an expression: what cannot end a value.
const literal =
  /(?<=(?:^|[(=:,[!&|?;>]|=>|return|case)\s*)\/(?![*/])((?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([dgimsuvy]*)/gm

/** @returns the expressions of a source, as `{ line, text, regExp }` */
export function expressionsIn(source) {
  return [...source.matchAll(literal)].flatMap(({ index, 0: text, 1: body, 2: flags }) => {
    try {
      return [{ line: source.slice(0, index).split("\n").length, text, regExp: new RegExp(body, flags) }]
    } catch {
      // A comment or a quotient that looks like one.
      return []
    }
  })
}

/** @returns the parts of a text that the expression takes too long for; undefined when none was found */
export function slowText(regExp) {
  for (const { begin, part } of attacks(regExp.source)) {
    for (const [index, length] of lengths.entries()) {
      const ms = timeOf(regExp, `${begin}${part.repeat(Math.ceil(length / part.length))}\0`)
      if (ms > mostMs) return JSON.stringify([begin, part])
      if (ms < suspectMs && index >= 2) break
    }
  }
  return undefined
}

/** @returns milliseconds of processor time, since the machine may be busy with something else */
function timeOf(regExp, text) {
  const begin = process.cpuUsage()
  // As `matchAll` and `split` do, this looks for all of them where the expression is for all.
  text.replace(regExp, "")
  const { user, system } = process.cpuUsage(begin)
  return (user + system) / 1000
}

function* attacks(source) {
  const words = [...new Set(source.replace(/\\[a-z]/gi, " ").match(/[a-z0-9 ]{2,}/gi) ?? [])].slice(0, 4)
  const letters = lettersOf(source)
  const parts = [...letters, ...words]
  for (const part of parts) yield { begin: "", part }
  for (const begin of parts) for (const part of letters) if (begin !== part) yield { begin, part }
  for (const one of parts)
    for (const other of letters.slice(0, 5)) if (one !== other) yield { begin: "", part: one + other }
}

const ofClass = { d: "1", w: "a", s: " ", n: "\n", t: "\t", r: "\r", b: " ", S: "x", D: "x", W: "-" }

/** Characters that the expression names, and one of each class. */
function lettersOf(source) {
  const letters = new Set()
  for (const [, escaped, plain] of source.matchAll(/\\(.)|([^\\()[\]{}|?*+^$])/gs)) {
    letters.add(escaped === undefined ? plain : (ofClass[escaped] ?? escaped))
  }
  return [...new Set([...[...letters].slice(0, 8), ..."a1 "])]
}
