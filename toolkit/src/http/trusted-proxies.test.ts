import assert from "node:assert/strict"
import { test } from "node:test"
import { isTrusted, networks } from "./trusted-proxies.js"

test("addresses and networks of both versions are trusted, also in the form of a dual-stack socket, and nothing else", () => {
  const proxies = networks.parse("192.0.2.7, 10.0.0.0/8,fd00::/8")
  const inside = ["192.0.2.7", "10.255.0.1", "::ffff:10.0.0.1", "fd12::1"]
  const outside = ["192.0.2.8", "11.0.0.1", "::ffff:11.0.0.1", "fe80::1", "unknown", ""]

  const trusted = [...inside, ...outside].filter((address) => isTrusted(proxies, address))
  assert.deepEqual(trusted, inside)
  assert.equal(isTrusted(networks.parse(""), "127.0.0.1"), false)
})

test("a list names each part that is neither an address nor a network", () => {
  const { error } = networks.safeParse("10.0.0.0/33,10.0.0.1/x,proxy.example,192.0.2.7")

  const named = error?.issues.map(({ message }) => message.split(" ")[0])
  assert.deepEqual(named, ["10.0.0.0/33", "10.0.0.1/x", "proxy.example"])
})
