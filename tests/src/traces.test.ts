/** Traces of runs from a graph to the API and to a collector of OpenTelemetry, in both languages. */
import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { type CollectedSpan, type Collector, startCollector } from "@superstep/toolkit/testing/collector"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { type AgentServerProcess, startServerWithDatabase } from "./testing/agent-servers.js"
import { graphLanguages } from "./testing/languages.js"

interface TraceSpan {
  readonly kind: string
  readonly status: string
}

const question = { messages: [{ role: "user", content: "1 + 2?" }] }

async function runAgent({ client, url, headers }: AgentServerProcess) {
  const { thread_id } = await client.threads.create()
  let runId = ""
  for await (const { event, data } of client.runs.stream(thread_id, "agent", {
    input: question,
    streamMode: "messages-tuple",
  })) {
    if (event === "metadata") runId = (data as { run_id: string }).run_id
  }
  const path = `${url}/threads/${thread_id}/runs/${runId}`
  const trace = async () => (await (await fetch(`${path}/trace`, { headers })).json()) as TraceSpan[]
  return { thread_id, runId, trace }
}

const collectorEnv = ({ url }: Collector) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_BSP_SCHEDULE_DELAY: "50",
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true",
})

/** The spans of a run's execution, when all of them have come. */
async function exported({ spans }: Collector, runId: string): Promise<CollectedSpan[]> {
  const own = () => spans.filter(({ attributes }) => attributes["superstep.run_id"] === runId)
  await until(() => own().some(({ name }) => name === "run executed"), { what: "the run's span is exported" })
  return own()
}

for (const { name: language, env, skip } of graphLanguages) {
  describe(`in ${language}`, { skip }, () => {
    test("a run's trace is read when the run has ended, and sent to a collector in the words of its conventions", async () => {
      await using collector = await startCollector()
      await using server = await startServerWithDatabase({ env: { ...env, ...collectorEnv(collector) } })

      const { thread_id, runId, trace } = await runAgent(server)
      const spans = await trace()
      const sent = await exported(collector, runId)

      const work = spans.filter(({ kind }) => kind !== "chain")
      assert.deepEqual(
        work.map(({ kind, status }) => `${kind} ${status}`),
        ["graph", "node", "model", "node", "tool", "node", "model"].map((kind) => `${kind} success`),
      )

      const root = sent.find(({ name }) => name === "run executed")
      const agent = sent.find(({ name }) => name === "invoke_agent agent")
      assert.equal(agent?.parentSpanId, root?.spanId)
      assert.deepEqual(new Set(sent.map(({ traceId }) => traceId)), new Set([root?.traceId]))
      const chats = sent.filter(({ attributes }) => attributes["gen_ai.operation.name"] === "chat")
      const chat = chats.find(({ attributes }) => attributes["gen_ai.usage.input_tokens"] === 9)
      assert.equal(chats.length, 2)
      assert.deepEqual([chat?.kind, chat?.name], [3, "chat scripted-1"])
      assert.equal(chat?.attributes["gen_ai.conversation.id"], thread_id)
      assert.equal(chat?.attributes["gen_ai.response.model"], "scripted-1")
      assert.equal(chat?.attributes["gen_ai.request.model"], undefined, "its metadata does not say what was asked")
      assert.equal(chat?.attributes["gen_ai.usage.output_tokens"], 3)
      assert.match(String(chat?.attributes["gen_ai.input.messages"]), /1 \+ 2\?/)
    })

    for (const traces of ["timings", "off"]) {
      test(`tokens and the first token are counted, also of stateless runs, with traces ${traces}`, {
        skip: traces === "off" && unlessWide("starts a server"),
      }, async () => {
        await using server = await startServerWithDatabase({ env: { ...env, SUPERSTEP_TRACES: traces } })
        const { client, url, headers } = server
        const metric = async (name: string) => {
          const text = await (await fetch(`${url}/metrics`, { headers })).text()
          return text.split("\n").find((line) => line.startsWith(`${name} `))
        }

        await runAgent(server)
        await client.runs.wait(null, "agent", { input: question })
        const ended = 'superstep_runs_ended_total{status="success"}'
        await until(async () => (await metric(ended)) === `${ended} 2`, { what: "both runs are counted" })

        const isOff = traces === "off"
        const [input, output] = ["input", "output"].map((it) => `superstep_model_tokens_total{direction="${it}"}`)
        assert.equal(await metric(String(input)), isOff ? undefined : `${input} 24`)
        assert.equal(await metric(String(output)), isOff ? undefined : `${output} 14`)
        // The second run does not stream.
        const streamed = "superstep_time_to_first_token_seconds_count"
        assert.equal(await metric(streamed), `${streamed} ${isOff ? 0 : 1}`)
        const { model_use: use } = await server.status()
        const counted = use && [use.input_tokens, use.output_tokens, use.first_token.counts.reduce((a, b) => a + b)]
        assert.deepEqual(counted, isOff ? null : [24, 14, 1])
      })
    }
  })
}
