/** JSON texts of odd values, the same for the same seed. */

const numbers = [
  ...["0", "-0", "-0.0", "0.0", "1.0", "-1.0", "2.50", "1e20", "1E2", "1e-7", "1.5e300", "1e21", "123456.0", "0.1"],
  ...["9007199254740991", "9007199254740993", "12345678901234567890", "-12345678901234567890", "100000000000000000000"],
]
const strings = [
  '""',
  '"a"',
  '"1.0"',
  String.raw`"\"1.0\\"`,
  String.raw`"\ud83d\ude00"`,
  '"é\u2028"',
  String.raw`"\\\\"`,
  '"[{"',
]
// None that looks like an integer: JavaScript orders those.
const keys = ['"b"', '"a"', '"__proto__"', '"constructor"', '"toJSON"', '"text"', String.raw`"\u00e9"`]

/** @param more  numbers that may also occur */
export function randomJson(seed: number, more: readonly string[] = []): string {
  let state = (seed + 1) * 2_654_435_769
  const below = (limit: number): number => {
    // xorshift: any generator does that gives the same numbers again.
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % limit
  }
  const one = (list: readonly string[]): string => list[below(list.length)] ?? "null"
  const spaces = () => one(["", "", "", " ", "\n\t"])
  const value = (depth: number): string => {
    const kind = below(depth > 3 ? 4 : 8)
    if (kind < 2) return one([...numbers, ...more])
    if (kind === 2) return one(strings)
    if (kind === 3) return one(["true", "false", "null"])
    const size = below(4)
    if (kind < 6)
      return `[${spaces()}${Array.from({ length: size }, () => value(depth + 1)).join(`${spaces()},${spaces()}`)}]`
    const names = new Set(Array.from({ length: size }, () => one(keys)))
    return `{${[...names].map((name) => `${spaces()}${name}${spaces()}:${spaces()}${value(depth + 1)}`).join(",")}}`
  }
  return value(0)
}
