/** Every place of the agent server where bytes of clients, workers and other servers are read first, under a fuzzer. */
import assert from "node:assert/strict"
import { randomInt } from "node:crypto"
import { test } from "node:test"
import { FrameReader } from "@superstep/protocol/worker/frame-reader"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { parseJsonBody } from "@superstep/toolkit/http/body"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import { type Entrance, fuzz } from "@superstep/toolkit/testing/fuzz"
import { runsLongTests } from "@superstep/toolkit/testing/wide-tests"
import { parseFilter } from "./auth/rules.js"
import { parseLastEventId } from "./events/event.js"
import { parseProtocolName } from "./events/protocol-event.js"
import { parseThreadPlace } from "./runs/thread-stream-routes.js"
import { parseMessage } from "./servers/server.js"
import { ProtocolViolation, parseHeader } from "./workers/headers.js"

// A failure names the seed; the long tests look elsewhere each time.
const seed = runsLongTests ? randomInt(2 ** 31) : 29
const inputs = runsLongTests ? 20_000 : 400

const call = '{"type":"call","call_id":"1","method":"put","payload":["a"]}\n{"x":1}\n'
const event = '{"type":"event","claim_id":"c","event":"values|a:1","payload":["d"]}\n[1]\n'
const hello =
  '{"type":"hello","protocol":1,"worker_id":"w","pid":1,"language":"python","language_version":"3.12"}\n{"type":"loaded","graphs":[],"failed":[]}\n'

/** All frames of a stream that arrives in pieces of this size. */
function framesOf(text: string, size: number): unknown[] {
  const frames: unknown[] = []
  const reader = new FrameReader(parseHeader, (header, payload) => frames.push([header, payload.map(String)]))
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size))
  return frames
}

const entrances: Entrance[] = [
  {
    name: "the frames of a worker",
    examples: [call, event, hello, hello + event + call],
    read: (text) => framesOf(text, 1000),
    refuses: (error) => error instanceof ProtocolViolation,
    // However they are cut on their way.
    check: (frames, text) => text.length < 2000 && assert.deepEqual(framesOf(text, 7), frames),
  },
  {
    name: "the body of a request",
    examples: [
      '{"input":{"messages":[{"role":"user","content":"h\\u00e9"}]},"n":[1,-2.5e3,12345678901234567890]}',
      "[[[[]]]]",
    ],
    read: parseJsonBody,
    refuses: (error) => error instanceof InvalidInput,
    // Exact numbers are written as they were read.
    check: (value) => assert.deepEqual(parseJson(toJsonText(value)), value),
  },
  { name: "Last-Event-ID of a run", examples: ["17", "-1", "1000000003"], read: parseLastEventId },
  {
    name: "Last-Event-ID of a thread",
    examples: ["01890000-0000-7000-8000-000000000000:17", "-"],
    read: parseThreadPlace,
  },
  {
    name: "a message of another server",
    examples: ["cancel 01890000-0000-7000-8000-000000000000", "look alone"],
    read: parseMessage,
  },
  { name: "the name of an event", examples: ["protocol:messages|a:1|b:2", "values"], read: parseProtocolName },
  {
    name: "the filter of an access rule",
    examples: ['{"owner":{"$eq":"a"},"$or":[{"a":{"$contains":["b"]}},{"c":1}]}'],
    read: (text) => {
      const value = JSON.parse(text)
      try {
        return parseFilter(value)
      } catch (error) {
        // It speaks to the author of the rule.
        assert.equal((error as Error).constructor, Error)
        return undefined
      }
    },
    refuses: (error) => error instanceof SyntaxError,
  },
]

for (const entrance of entrances) {
  test(`${entrance.name} is read, or refused as documented, in linear time`, async () => {
    assert.deepEqual(await fuzz(entrance, { seed, inputs }), [], `seed ${seed}`)
  })
}
