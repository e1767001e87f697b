/** What nobody should send, as text of JSON and as the value that a reader makes of it. */

export interface Odd {
  readonly text: string
  readonly value: unknown
}

const odd = (text: string): Odd => ({ text, value: JSON.parse(text) })

const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`

/** Values for a field of a body. */
export const oddValues: readonly Odd[] = [
  ...["null", "true", "0", "-1", "1.5", "1e400", "-1e400", "99999999999999999999999", '""', '"x"', '"\\u0000"'].map(
    odd,
  ),
  ...['"\\ud800"', '"a\\udc00b"', "[]", "{}", "[[]]", "[null]", '[{"a":1}]', '{"a":"\\u0000"}', '{"\\u0000":1}'].map(
    odd,
  ),
  ...['{"\\ud800":1}', '{"a":{"__proto__":{"b":1}}}', '{"constructor":null}', '["\\u0000"]', '["a","b",{}]'].map(odd),
  ...['"00000000-0000-0000-0000-00000000000g"', '"1970-13-45T99:99:99Z"', '"../../etc"', `"${"x".repeat(70_000)}"`].map(
    odd,
  ),
  odd(nested(400)),
]

/** Bodies that are no object, or no JSON. */
export const oddBodies: readonly (string | Uint8Array<ArrayBuffer>)[] = [
  ...[
    "{",
    "}",
    "[1,",
    "{'a':1}",
    "null",
    "1",
    '"text"',
    "[]",
    "true",
    "NaN",
    "\u0000",
    "{}{}",
    '{"a":1e}',
    "undefined",
  ],
  nested(100_000),
  `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`,
  Uint8Array.of(0x7b, 0xff, 0xfe, 0x7d),
]

/** Segments of a path, encoded, that are no id of anything. */
export const oddSegments: readonly string[] = [
  ...[
    "%00",
    "%zz",
    "%ff",
    "%ed%a0%80",
    "%2F",
    "..%2f..",
    "%F0%9F%92%A5",
    "-1",
    "1e400",
    "%5B%5D",
    "x".repeat(5000),
    "%25",
  ],
  ..."'--|%22|%3Bselect|null|undefined|NaN|*|%7B%7D|__proto__|%0d%0aset-cookie:a".split("|"),
]

/** Texts for a key of a query. */
export const oddQueryValues: readonly string[] = [
  ...["", "x", "-1", "1e400", "NaN", "1.5", "99999999999999999999999", "%00", "%ff", "%ed%a0%80", "[", "[]", "[[1]]"],
  ...["{}", "%5B%22a%22", '{"a":"%5Cu0000"}', "null", "true,false", "a,b,,", "x".repeat(5000), "1&KEY=2", "%zz"],
]

/** Headers that some route reads. */
export const oddHeaders: readonly Readonly<Record<string, string>>[] = [
  ...["x", "-99", "1e400", "NaN", "99999999999999999999999999", "0-0-0", "1;2"].map((value) => ({
    "last-event-id": value,
  })),
  { "idempotency-key": "k".repeat(5000) },
  { "content-type": "text/plain; charset=utf-16" },
  { "content-type": "multipart/form-data; boundary=x" },
  { "content-encoding": "gzip" },
  { prefer: "return=nothing, , ;;" },
  { accept: "nothing/at-all" },
  { "x-request-id": "x".repeat(5000) },
  { "x-auth-scheme": "unknown" },
  { traceparent: "00-zz-zz-zz" },
  { range: "bytes=9-1" },
]
