import assert from "node:assert/strict"
import { test } from "node:test"
import { gzipSync } from "node:zlib"
import { z } from "@hono/zod-openapi"
import { fieldsOf } from "../testing/fields-of.js"
import { silent as log } from "../testing/test-cluster.js"
import { errorBody } from "./error-body.js"
import { errorHandler } from "./errors.js"
import { addRoute, createApi } from "./route.js"

function notesApi(detail: "text" | "list" = "list") {
  const api = createApi()
  api.onError(errorHandler({ log, detail }))
  addRoute(api, {
    method: "post",
    path: "/notes/{note_id}",
    summary: "Write a note",
    tags: ["notes"],
    params: z.object({ note_id: z.guid() }),
    query: z.object({
      limit: z.coerce.number().int().optional(),
      tag: z.union([z.string(), z.string().array()]).optional(),
    }),
    body: z.object({
      title: z.string().default("untitled"),
      kind: z.enum(["a", "b"]).optional(),
      parts: z.array(z.object({ text: z.string() })).optional(),
      stream_mode: z.union([z.string(), z.array(z.string())]).optional(),
    }),
    responses: { 200: { description: "The note", schema: z.object({ title: z.string() }) } },
    handle: ({ c, params, query, body, bodyText }) => c.json({ ...params, ...query, ...body, bodyText }),
  })
  return api
}

const id = "0190b6d8-3f43-0000-0000-000000000000"
const post = (body: string | Uint8Array<ArrayBuffer> | undefined, { query = "", headers = {} } = {}) =>
  notesApi().request(`/notes/${id}${query}`, { method: "POST", headers, ...(body !== undefined && { body }) })

/** The problems of a reply, one line each: where, what kind, and the words. */
async function problemsOf(response: Response): Promise<string[]> {
  assert.equal(response.status, 422)
  const { detail } = (await response.json()) as { detail: { loc: string[]; msg: string; type: string }[] }
  return detail.map(({ loc, msg, type }) => `${loc.join(".")} ${type}: ${msg}`)
}

test("a body is parsed as JSON whatever its content type, and an empty one is an empty object", async () => {
  for (const [body, headers] of [
    ['{"title":"t"}', { "content-type": "text/plain" }],
    ['{"title":"t"}', {}],
  ] as const) {
    assert.equal(((await (await post(body, { headers })).json()) as { title: string }).title, "t")
  }
  for (const body of [undefined, "", " \n"]) {
    assert.equal(((await (await post(body)).json()) as { title: string }).title, "untitled")
  }
})

test("all problems of path, query and body are reported together", async () => {
  const response = await notesApi().request("/notes/17?limit=many", {
    method: "POST",
    body: '{"kind":"c","parts":[{}]}',
  })

  const problems = await problemsOf(response)

  const kinds = problems.map((line) => line.replace(/:.*/, ""))
  assert.deepEqual(kinds, [
    "path.note_id value_error",
    "query.limit value_error",
    "body.kind value_error",
    "body.parts.0.text missing",
  ])
})

test("invalid JSON in a body is reported with the other problems", async () => {
  const problems = await problemsOf(await post("{oops", { query: "?limit=many" }))

  assert.equal(problems.length, 2)
  assert.match(problems[1] ?? "", /^body json_invalid: the body is not valid JSON/)
})

test("a value that matches no allowed form causes an error that lists what each form expects", async () => {
  assert.deepEqual(await problemsOf(await post('{"stream_mode": 7}')), [
    "body.stream_mode value_error: Invalid input: expected string, received number, or Invalid input: expected array, received number",
  ])
  assert.deepEqual(await problemsOf(await post('{"stream_mode": ["a", 7]}')), [
    "body.stream_mode.1 value_error: Invalid input: expected string, received number",
  ])
})

test("a body that is nested too deeply or is not UTF-8 is refused with a message", async () => {
  const nested = (levels: number) => `{"title": "t", "extra": ${"[".repeat(levels)}${"]".repeat(levels)}}`

  const deep = [await post(nested(5000)), await post("[".repeat(1_000_000)), await post(nested(500))]
  const allowed = [await post(nested(499)), await post(`{"title": "${"[".repeat(600)}\\"{${"[".repeat(600)}"}`)]
  const binary = await post(Uint8Array.of(0x22, 0xff, 0x22))

  for (const response of deep) {
    assert.deepEqual(await problemsOf(response), [
      "body value_error: the body is nested deeper than 500 levels: send flatter JSON",
    ])
  }
  assert.deepEqual(fieldsOf(allowed, "status"), [200, 200])
  assert.deepEqual(await problemsOf(binary), ["body json_invalid: the body is not valid UTF-8"])
})

test("a body with an encoding is refused with its name, and read when it is plain text all the same", async () => {
  const encoded = (encoding: string, body: string | Uint8Array<ArrayBuffer> | undefined = '{"title":"t"}') =>
    post(body, { headers: { "content-encoding": encoding } })

  const refused = await encoded("gzip", new Uint8Array(gzipSync('{"title":"t"}')))
  const allowed = await Promise.all(["identity", "Identity", "", "utf-8", "br, identity"].map((name) => encoded(name)))

  assert.equal(refused.status, 415)
  assert.deepEqual(
    await refused.json(),
    errorBody("the body has the encoding gzip: send it without Content-Encoding, uncompressed", "unsupported_body"),
  )
  assert.deepEqual(fieldsOf(allowed, "status"), [200, 200, 200, 200, 200])
})

test("a large body that is wrong everywhere is refused with its first problem", async () => {
  const many = (item: unknown) => Array.from({ length: 20_000 }, () => item)
  const cases = [
    [{ parts: many(1) }, "body.parts.0 value_error: Invalid input: expected object, received number"],
    [{ parts: many({}) }, "body.parts.0.text missing: this field is required"],
    [{ stream_mode: many(1) }, "body.stream_mode.0 value_error: Invalid input: expected string, received number"],
  ] as const

  for (const [body, problem] of cases) {
    assert.deepEqual(await problemsOf(await post(JSON.stringify(body))), [problem])
  }
})

test("of a small body all problems are told, up to a hundred", async () => {
  const parts = Array.from({ length: 150 }, () => 1)

  assert.equal((await problemsOf(await post(JSON.stringify({ kind: "c", parts })))).length, 100)
})
