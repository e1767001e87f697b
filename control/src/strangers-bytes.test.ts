/** Every place of the control plane and the edge where bytes of strangers are read first, under a fuzzer (toolkit/src/testing/fuzz.ts). */
import assert from "node:assert/strict"
import { randomInt } from "node:crypto"
import { Readable } from "node:stream"
import { test } from "node:test"
import { parseBuildLine } from "@superstep/builder/build-log"
import { BuildFailed } from "@superstep/builder/faults/build-failed"
import { parseJobLine } from "@superstep/builder/job/job-log"
import { parseRange } from "@superstep/builder/node-range"
import { parseProjectConfig } from "@superstep/builder/project/project-config"
import {
  hasDotSegment,
  hostOf,
  isInternal,
  parseTarget,
  targetAtHost,
  threadOf,
  urlQuery,
} from "@superstep/edge/target"
import { piecesOf } from "@superstep/machines/docker/unit-output"
import { readPodLog } from "@superstep/machines/kubernetes/pod-log"
import {
  InvalidReply,
  parseIdle,
  parseOrphans,
  parsePins,
  parseStatus,
} from "@superstep/machines/unit-client/unit-replies"
import { parseChallenge } from "@superstep/oci/registry/credentials"
import { parseReference } from "@superstep/oci/registry/reference"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { type Entrance, fuzz } from "@superstep/toolkit/testing/fuzz"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { runsLongTests } from "@superstep/toolkit/testing/wide-tests"
import { cleanLine } from "@superstep/toolkit/text/clean-lines"
import { isPlainText } from "@superstep/toolkit/text/storable"
import { readSshKey } from "./integrations/ssh-key.js"
import { parseLine } from "./logs/structured-line.js"
import { reasonOfEnds } from "./pipeline/deploy-stage.js"
import { readDelivery } from "./pushes/delivery.js"
import { statusMessage } from "./revisions/status-message.js"
import { archiveSource } from "./sources/archive.js"
import { parseRef } from "./sources/git-command.js"
import { classifyGitFailure } from "./sources/git-failure.js"
import { SourceFailed } from "./sources/port.js"
import { tar, tarGz, uploaded } from "./sources/testing/tar-gz.js"
import { parseObjectPath } from "./uploads/upload.js"

// A failure names the seed; the long tests look elsewhere each time.
const seed = runsLongTests ? randomInt(2 ** 31) : 29
const inputs = runsLongTests ? 20_000 : 400

/** Postgres' text holds no NUL, and a line is short. Half a surrogate pair becomes U+FFFD on its way. */
const storable = (text: string) =>
  assert.ok(!text.includes("\0") && Buffer.byteLength(text) <= 17_000, JSON.stringify(text.slice(0, 80)))
const hide = (text: string) => text

const report = JSON.stringify({
  revision_id: "r", pid: 1, ready: true, graphs: ["a"], failed: [{ graph_id: "b", message: "no" }], serving: true,
  traffic: [{ revision_id: "r", weight: null }], runs: { ended: 1, failed: 0 }, run_latency: { sum_ms: 1.5, counts: [1, 2] },
  model_use: { input_tokens: 3, output_tokens: 4, first_token: { sum_ms: 1.5, counts: [1, 2] } },
  load: { free_slots: 1, waiting_ms: null, loop_utilization: 0.1 }, executes_pinned: true, running_runs: 0, open_streams: 0,
  worker_crashes: { count: 0, last: null }, cross_origin: null,
}) // biome-ignore format: an example

const push = JSON.stringify({
  ref: "refs/heads/main",
  after: "a".repeat(40),
  deleted: false,
  repository: { clone_url: "https://a.example/b.git", full_name: "a/b" },
})
const refusesInput = (error: unknown) => error instanceof InvalidInput
const delivery = (provider: "github" | "gitlab" | "bitbucket" | "gitea", event: string): Entrance => ({
  name: `a push of ${provider}`,
  examples: [
    push,
    JSON.stringify({
      object_kind: "push",
      ref: "refs/heads/main",
      checkout_sha: "b".repeat(40),
      project: { git_http_url: "https://a.example/b.git" },
    }),
  ],
  read: (text) => readDelivery({ provider, header: () => event, body: Buffer.from(text) } as never),
  refuses: refusesInput,
})

const dockerFrame = (stream: number, text: string) => {
  const head = Buffer.alloc(8)
  head[0] = stream
  head.writeUInt32BE(Buffer.byteLength(text), 4)
  return Buffer.concat([head, Buffer.from(text)]).toString("latin1")
}
const inPieces = (text: string) =>
  Readable.from(text.match(/[\s\S]{1,7000}/g)?.map((part) => Buffer.from(part, "latin1")) ?? [])
const all = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

const entrances: Entrance[] = [
  {
    name: "a line of a unit's log",
    examples: [
      '{"level":50,"time":1700000000000,"msg":"it failed","err":{"message":"no","stack":"Error: no\\n  at a (b.js:1:2)"}}',
      '{"severity":"warn","timestamp":"2026-01-01T00:00:00Z","message":"m","run_id":"01890000-0000-7000-8000-000000000000","thread_id":"t"}',
      "2026-01-01 00:00:00,000 ERROR root: plain \u001b[31mred\u001b[0m text",
    ],
    read: (text) => parseLine(text),
    check: (line) => storable(cleanLine((line as { message: string }).message, hide)),
  },
  {
    name: "a line of a build's log",
    examples: ['{"at":"2026-01-01T00:00:00.000Z","level":"INFO","message":"npm install"}', "npm error code E404"],
    read: (text) => parseBuildLine(text),
    check: (line) => storable(cleanLine((line as { message: string }).message, hide)),
  },
  {
    name: "a line of a build's pod",
    examples: ['{"n":1,"at":"2026-01-01T00:00:00.000Z","level":"INFO","message":"x"}'],
    read: parseJobLine,
  },
  ...[parseStatus, parseIdle, parsePins, parseOrphans].map(
    (parse): Entrance => ({
      name: "a unit's reply",
      examples: [
        report,
        '{"is_idle":true,"next_due_ms":5}',
        '{"threads":1,"has_runs":true}',
        '{"checked":1,"orphaned":1,"examples":[{"thread_id":"t","reason":"r"}],"is_complete":true}',
      ],
      read: parse,
      refuses: (error) => error instanceof InvalidReply && isPlainText(error.message),
      check: (value) => assert.ok(isPlainText(JSON.stringify(value))),
    }),
  ),
  {
    name: "the output of git",
    examples: [
      "fatal: unable to access 'https://a.example/': The requested URL returned error: 403",
      "remote: Repository not found.\nfatal: could not read Username",
    ],
    read: (text) =>
      classifyGitFailure(
        { exitCode: 128, killedBy: undefined, lastLines: text } as never,
        "https://a.example/b.git",
        "main",
      ),
  },
  { name: "a ref", examples: ["refs/heads/main", "feature/x.y", "a".repeat(40)], read: parseRef },
  {
    name: "langgraph.json",
    examples: [
      '{"graphs":{"a":"./a.ts:graph"},"node_version":"20","env":".env","dependencies":["."]}',
      '{"graphs":{"a":{"path":"./a.py:graph","description":"d"}},"python_version":"3.12","dependencies":["."],"env":{"A":"1"},"pip_config_file":"p"}',
    ],
    read: (text) => parseProjectConfig(text, "langgraph.json"),
    refuses: (error) => error instanceof BuildFailed,
  },
  { name: "engines of package.json", examples: [">=18 <23 || ^24.1.0", "20.x", "~20.1 - 22"], read: parseRange },
  {
    name: "a registry's challenge",
    examples: ['Bearer realm="https://a.example/token",service="a",scope="b:c:pull"', "Basic realm=x"],
    read: parseChallenge,
  },
  {
    name: "the name of an image",
    examples: ["a.example:5000/team/agent:v1", `team/a@sha256:${"0".repeat(64)}`],
    read: parseReference,
    refuses: refusesInput,
  },
  {
    name: "an ssh key",
    examples: [
      `-----BEGIN OPENSSH PRIVATE KEY-----\n${Buffer.from("openssh-key-v1\0\0\0\0\u0004none\0\0\0\u0004none").toString("base64")}\n-----END OPENSSH PRIVATE KEY-----`,
    ],
    read: readSshKey,
  },
  {
    name: "the place of an upload",
    examples: [
      "01890000-0000-7000-8000-000000000000/01890000-0000-7000-8000-000000000001.tar.gz",
      `${"-".repeat(36)}/${"0".repeat(36)}.tar.gz`,
    ],
    read: parseObjectPath,
    check: (found) => {
      const ids = Object.values((found ?? {}) as Record<string, string>)
      for (const id of ids) assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    },
  },
  {
    name: "the target of a request",
    examples: [
      "/d/agent/threads/01890000-0000-7000-8000-000000000000/runs?x=1",
      "http://user@a.example:80/d/b/%2e%2e/internal/live",
      "/d/a//internal",
    ],
    read: (text) => {
      const target = parseTarget(text) ?? targetAtHost(text, "a")
      return [
        target,
        hostOf(text, text),
        target && [hasDotSegment(target.path), isInternal(target.path), threadOf(target.path), urlQuery(target.path)],
      ]
    },
    check: (value) => {
      const [target] = value as [{ path: string } | undefined]
      if (target) assert.match(target.path, /^\/(?!\/)/)
    },
  },
  delivery("github", "push"),
  delivery("gitlab", "Push Hook"),
  delivery("bitbucket", "repo:push"),
  delivery("gitea", "push"),
  {
    name: "the log of a pod",
    examples: ["2026-01-01T00:00:00.000000001Z one\n2026-01-01T00:00:00.000000002Z two\n"],
    read: (text) => readPodLog(inPieces(text), { from: "", place: { lifeId: "a" }, hasEnded: true }),
    check: (logs) => {
      for (const line of (logs as { lines: string[] }).lines) storable(cleanLine(line, hide))
    },
  },
  {
    name: "the output of a container",
    examples: [
      dockerFrame(1, "2026-01-01T00:00:00.000000001Z one\n") + dockerFrame(2, "2026-01-01T00:00:00.000000002Z two\n"),
    ],
    read: (text) => all(piecesOf(inPieces(text))),
    refuses: (error) => error instanceof Error && "code" in error,
  },
  {
    name: "the end of a failed build's log",
    examples: ["  2 | import x\n    |   ^\nverify took 12 ms", "npm error 404"],
    read: (text) => [statusMessage("source_not_found", "it failed", [text]), reasonOfEnds([text])],
  },
]

for (const entrance of entrances) {
  test(`${entrance.name} is read, or refused as documented, in linear time`, async () => {
    assert.deepEqual(await fuzz(entrance, { seed, inputs }), [], `seed ${seed}`)
  })
}

test("an archive is unpacked, or refused as documented", async () => {
  const source = archiveSource()
  const folder = temporaryFolder()
  const whole = [
    { path: "langgraph.json", content: "{}" },
    { path: "a/b.mjs", content: "export {}" },
  ]
  let n = 0
  const unpack = async (bytes: Buffer) => {
    const location = uploaded(bytes)
    await source.fetch(location, `sha256:${location.sha256}`, `${folder}/${n++}`, AbortSignal.timeout(60_000))
  }
  const refuses = (error: unknown) => error instanceof SourceFailed
  const raw: Entrance = {
    name: "the bytes of an archive",
    examples: [tarGz(whole).toString("latin1")],
    read: (text) => unpack(Buffer.from(text, "latin1")),
    refuses,
  }
  const { gzipSync } = await import("node:zlib")
  const inside: Entrance = {
    name: "a tar",
    examples: [tar(whole).toString("latin1")],
    read: (text) => unpack(gzipSync(Buffer.from(text, "latin1"))),
    refuses,
  }

  assert.deepEqual(await fuzz({ ...raw }, { seed, inputs: inputs / 4 }), [], `seed ${seed}`)
  assert.deepEqual(await fuzz({ ...inside }, { seed, inputs: inputs / 4 }), [], `seed ${seed}`)
})
