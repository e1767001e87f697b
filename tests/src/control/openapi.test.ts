/** The control plane's document is valid OpenAPI, whole, and lacks nothing of the original's (control-plane §2.6, C6). */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { startApi, type TestApi } from "@superstep/control/testing/api"
import { assertWellFormed, operationsOf } from "../testing/openapi-routes.js"
import { bodySchema, type Document, fieldOf, replySchema } from "./document.js"
import {
  promisedBodies,
  promisedOperations,
  promisedParameters,
  promisedReplies,
  promisedValues,
} from "./promised-api.js"

let api: TestApi
let document: Document
before(async () => {
  api = await startApi()
  document = (await api.call("GET", "/openapi.json", { headers: { "x-api-key": "" } })).body
})
after(() => api[Symbol.asyncDispose]())

const operation = (name: string) => {
  const found = operationsOf(document).get(name)
  assert.ok(found, `${name} is missing`)
  return found
}

test("the document is valid OpenAPI 3.1, the same at the root and below /api-host, with a page beside it", async () => {
  await assertWellFormed(document, "Error")

  assert.deepEqual((await api.call("GET", "/api-host/openapi.json")).body, document)
  for (const path of ["/docs/api", "/redoc", "/api-host/docs", "/api-host/redoc", "/api-host/docs/api"]) {
    const page = await api.call("GET", path, { headers: { "x-api-key": "" } })
    assert.equal(page.status, 200, path)
    for (const listed of Object.keys(document.paths)) assert.ok(page.text.includes(listed), `${path}: ${listed}`)
  }
})

test("every operation has a tag", () => {
  const operations = operationsOf(document)

  assert.ok(operations.size > 25)
  for (const [name, { tags }] of operations) assert.ok(tags[0], name)
})

test("every operation of the original is there, with its statuses", () => {
  for (const [name, statuses] of promisedOperations) {
    const listed = Object.keys(operation(name).responses)
    for (const status of statuses) assert.ok(listed.includes(String(status)), `${name} lacks ${status}`)
  }
})

test("no parameter and no field of the original is missing", () => {
  const lacking = (promised: typeof promisedBodies, schemaOf: typeof bodySchema) =>
    Object.entries(promised).flatMap(([name, fields]) => {
      const schema = schemaOf(operation(name))
      return fields.filter((field) => !fieldOf(document, schema, field)).map((field) => `${name}: ${field}`)
    })
  const parameters = Object.entries(promisedParameters).flatMap(([name, wanted]) => {
    const listed = operation(name).parameters?.map((parameter) => parameter.name) ?? []
    return wanted.filter((parameter) => !listed.includes(parameter)).map((parameter) => `${name}: ?${parameter}`)
  })

  assert.deepEqual(parameters, [])
  assert.deepEqual(lacking(promisedBodies, bodySchema), [])
  assert.deepEqual(lacking(promisedReplies, replySchema), [])
})

test("enumerations have every value of the original", () => {
  const schema = replySchema(operation("GET /v2/deployments/{deployment_id}"))

  for (const [field, values] of Object.entries(promisedValues)) {
    const listed = JSON.stringify(fieldOf(document, schema, field))
    for (const value of values) assert.ok(listed.includes(`"${value}"`), `${field} lacks ${value}`)
  }
})
