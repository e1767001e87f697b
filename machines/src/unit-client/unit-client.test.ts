import assert from "node:assert/strict"
import type { IncomingMessage, ServerResponse } from "node:http"
import { type TestContext, test } from "node:test"
import { unixAddress } from "@superstep/protocol/http/address"
import { Secret } from "@superstep/toolkit/config/settings"
import { socketServer } from "@superstep/toolkit/testing/http-server"
import { processorMsOf } from "@superstep/toolkit/testing/processor-time"
import { askActs, askRuns } from "./unit-client.js"

/** A unit that answers as code of a deployment may: every request in the same way. */
async function hostileUnit(t: TestContext) {
  let answer = (_: IncomingMessage, response: ServerResponse): unknown => response.end()
  const server = await socketServer((request, response) => void answer(request, response))
  t.after(() => server[Symbol.dispose]())
  const address = { address: unixAddress(server.socketPath), token: new Secret("t") }
  return { address, answerWith: (next: typeof answer) => (answer = next) }
}

test("the numbers of runs come from the server, not from a project's app", async (t) => {
  const { address, answerWith } = await hostileUnit(t)
  const metrics = 'superstep_runs{status="pending"} 7\nsuperstep_runs{status="running"} 8\n'
  const server = (runs: string) =>
    answerWith(({ url }, response) => response.end(url === "/internal/runs" ? runs : metrics))

  server('{"pending":1,"running":2}')
  assert.deepEqual(await askRuns(address), { pending: 1, active: 2 })
  for (const invalid of ['{"pending":1.5,"running":2}', '{"pending":-1,"running":2}', "[".repeat(1000), "no", "{}"]) {
    server(invalid)
    assert.equal(await askRuns(address), undefined, invalid)
  }
})

test("invalid, endless or repeated numbers in the metrics of an older release or of an app are ignored", async (t) => {
  const { address, answerWith } = await hostileUnit(t)
  const metrics = (answer: (response: ServerResponse) => unknown) =>
    answerWith(({ url }, response) => {
      if (url === "/metrics") return answer(response)
      response.statusCode = 404
      return response.end("{}")
    })
  const counts = (pending: string) =>
    `superstep_runs{status="pending"} ${pending}\nsuperstep_runs{status="running"} 2\n`

  metrics((response) => response.end(counts("1")))
  assert.deepEqual(await askRuns(address), { pending: 1, active: 2 })
  for (const invalid of ["99999999999", "1e300", "-1", "0.5", ""]) {
    metrics((response) => response.end(counts(invalid)))
    assert.equal(await askRuns(address), undefined, invalid)
  }
  for (const part of ["superstep_runs{\n", "superstep_runs{", "\n", 'superstep_runs{status="pending"} ', " "]) {
    metrics((response) => response.end(part.repeat((512 * 1024) / part.length)))
    const usedMs = await processorMsOf(async () => assert.equal(await askRuns(address), undefined))
    assert.ok(usedMs < 3000, part)
  }
  let sent = 0
  metrics((response) => {
    const block = Buffer.alloc(1024 * 1024)
    const send = () => {
      if (response.destroyed) return
      sent += block.length
      response.write(block)
    }
    response.on("drain", send)
    send()
  })
  assert.equal(await askRuns(address), undefined)
  assert.ok(sent < 64 * 1024 * 1024, `${sent} bytes were read`)
})

test("acts that can never be read are a failure with its reason, not no acts", async (t) => {
  const { address, answerWith } = await hostileUnit(t)
  const outcomeOf = (answer: (response: ServerResponse) => unknown) => {
    answerWith((_, response) => answer(response))
    return askActs(address).then(
      (acts) => acts.length,
      ({ message }: Error) => message,
    )
  }
  const withStatus = (status: number) => (response: ServerResponse) => {
    response.statusCode = status
    response.end("no")
  }

  assert.equal(await outcomeOf((response) => response.end("[]")), 0)
  assert.equal(await outcomeOf(withStatus(503)), 0)
  assert.equal(await outcomeOf((response) => response.destroy()), 0)
  assert.match(String(await outcomeOf((response) => response.end("no"))), /reply is invalid|not JSON/)
  assert.match(
    String(await outcomeOf((response) => response.end(" ".repeat(5 * 1024 * 1024)))),
    /more than 4194304 bytes/,
  )
  assert.match(String(await outcomeOf(withStatus(500))), /answered the question for acts with 500: no/)
})
