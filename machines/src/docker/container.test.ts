import assert from "node:assert/strict"
import test from "node:test"
import { commonFolder, outermost } from "@superstep/oci/runtime-files"
import { Secret } from "@superstep/toolkit/config/settings"
import { unfitReason } from "../parts/images/base-fit.js"
import type { UnitSpec } from "../port/port.js"
import { unitSpec } from "../port/testing/unit-spec.js"
import { withTag } from "./base-image.js"
import { containerOf, databaseOf, labels, withCertificates } from "./container.js"
import { measuredOf } from "./containers.js"

const spec: UnitSpec = unitSpec({
  unitId: "u1",
  deploymentId: "d1",
  deploymentNumber: 1,
  revisionId: "r1",
  artifactId: "a1",
  token: new Secret("the-token"),
  databaseUri: new Secret("postgres://unit:password@localhost/unit"),
  secrets: { MODEL_KEY: new Secret("the-key") },
  limits: { memoryMb: 512, cpu: 1.5 },
})

const place = {
  homeId: "h1",
  image: "superstep/h1:a1",
  network: "superstep-h1",
  user: { uid: 200_001, gid: 200_001 },
  environment: { SUPERSTEP_NAME: "my-agent" },
  unitFolder: "/data/units/u1",
  socketFolder: "/data/run/units/u1.own",
  schemas: { from: "/data/artifacts/a1/.superstep", to: "/superstep/app/.superstep" },
  databaseFolder: "/data/postgres/run",
  certificates: [],
}

test("a container has its limits, our labels and no right, and contains no secret (M2, M4)", () => {
  const { HostConfig: host, ...container } = containerOf(spec, place)

  assert.equal(container.User, "200001:200001")
  assert.deepEqual(container.Labels, {
    [labels.home]: "h1",
    [labels.unit]: "u1",
    [labels.deployment]: "d1",
    [labels.revision]: "r1",
    [labels.artifact]: "a1",
    [labels.memoryMb]: "512",
  })
  assert.deepEqual([host.Memory, host.MemorySwap, host.NanoCpus], [512 * 1024 * 1024, 512 * 1024 * 1024, 1.5e9])
  assert.deepEqual([host.ReadonlyRootfs, host.CapDrop, host.SecurityOpt], [true, ["ALL"], ["no-new-privileges"]])
  assert.deepEqual(host.RestartPolicy, { Name: "no" })
  const writable = host.Binds.filter((bind) => !bind.endsWith(":ro"))
  assert.deepEqual(writable, [
    "/data/units/u1/data:/superstep/unit/data",
    "/data/units/u1/tmp:/superstep/unit/tmp",
    "/data/run/units/u1.own:/superstep/sockets",
  ])
  for (const secret of ["the-token", "password", "the-key"])
    assert.ok(!JSON.stringify({ host, container }).includes(secret), secret)
})

test("a database is reached by its socket, by its name, or at this computer", () => {
  const at = (uri: string, network = "superstep-h1") => {
    const { uri: found, folder } = databaseOf(new Secret(uri), network)
    return [found.reveal(), folder]
  }

  const socket = "postgres://u:p@localhost/d?host=/data/postgres/run"
  assert.deepEqual(at(socket), [socket, "/data/postgres/run"])
  assert.deepEqual(at("postgres://u:p@db.example.com/d"), ["postgres://u:p@db.example.com/d", undefined])
  assert.deepEqual(at("postgres://u:p@127.0.0.1:5433/d"), ["postgres://u:p@host.docker.internal:5433/d", undefined])
  assert.deepEqual(at("postgres://u:p@127.0.0.1/d", "host"), ["postgres://u:p@127.0.0.1/d", undefined])
})

test("certificates of this computer are mounted, and variables lead to them", () => {
  const { environment, certificates } = withCertificates({ NODE_EXTRA_CA_CERTS: "/etc/ca.pem", SSL_CERT_FILE: "" })

  const mounts = certificates.map(({ from, to }) => [from, to])
  assert.deepEqual(mounts, [["/etc/ca.pem", "/superstep/certificates/NODE_EXTRA_CA_CERTS.pem"]])
  assert.equal(environment.NODE_EXTRA_CA_CERTS, "/superstep/certificates/NODE_EXTRA_CA_CERTS.pem")
})

test("a base image is refused when packages that were compiled here would not run in it", () => {
  const here = { node: "v20.20.2", arch: "x64", glibc: "2.36" }

  for (const [change, reason] of [
    [{ node: "v20.19.0" }, /^undefined$/],
    [{ glibc: "2.41" }, /^undefined$/],
    [{ glibc: "2.9" }, /glibc 2.9/],
    [{ glibc: undefined }, /no glibc/],
    [{ node: "v22.1.0" }, /Node v22.1.0/],
    [{ arch: "arm64" }, /arm64/],
  ] as const)
    assert.match(String(unfitReason(here, { ...here, ...change })), reason)
})

test("one image is fetched, also where its name has no tag", () => {
  for (const [name, tagged] of [
    ["node", "node:latest"],
    ["localhost:5000/node", "localhost:5000/node:latest"],
  ])
    assert.equal(withTag(name ?? ""), tagged)
  for (const name of ["node:20", "localhost:5000/node:20", "node@sha256:ab"]) assert.equal(withTag(name), name)
})

test("memory is counted without what the kernel would give up, in both versions of control groups", () => {
  const cpu_stats = { cpu_usage: { total_usage: 2_500_000_000 } }
  const first = { usage: 300, stats: { total_inactive_file: 100, inactive_file: 1 } }

  assert.deepEqual(measuredOf({ cpu_stats, memory_stats: first }), { cpuSeconds: 2.5, memoryBytes: 200 })
  assert.equal(measuredOf({ memory_stats: { usage: 300, stats: { inactive_file: 50 } } })?.memoryBytes, 250)
  assert.equal(measuredOf({ memory_stats: {} }), undefined)
})

test("the files of a runtime are named from their common folder, and none is named twice", () => {
  assert.equal(commonFolder(["/a/b/c", "/a/b/d/e"]), "/a/b")
  assert.equal(commonFolder(["/a/b", "/a/b/c"]), "/a/b")
  assert.equal(commonFolder(["/a", "/b"]), "/")
  assert.deepEqual(outermost(["/a/b", "/a/b/c", "/a/bc", "/a/b"]), ["/a/b", "/a/bc"])
})
