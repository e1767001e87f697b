import assert from "node:assert/strict"
import { test } from "node:test"
import { addressKind } from "./addresses.js"

const all = (kind: string, ...addresses: string[]) => {
  for (const address of addresses) assert.equal(addressKind(address), kind, address)
}

test("an address is public, private, loopback or never allowed (W4)", () => {
  all("public", "8.8.8.8", "172.32.0.1", "172.15.255.255", "100.63.0.1", "2606:4700::1111", "223.255.255.1")
  all("private", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "fd12::1", "fc00::1")
  all("loopback", "127.0.0.1", "127.255.0.3", "::1")
  all("never", "0.0.0.0", "0.1.2.3", "169.254.169.254", "100.100.100.200", "fd00:ec2::254", "fe80::1", "fe80::1%eth0")
  all("never", "224.0.0.1", "255.255.255.255", "::", "ff02::1", "192.0.2.1", "2001:db8::1", "example.com", "")
})

test("an IPv6 address that contains an IPv4 address has its class (W4)", () => {
  all("loopback", "::ffff:127.0.0.1", "::ffff:7f00:1", "64:ff9b::7f00:1", "2002:7f00:1::1", "::127.0.0.1")
  all("loopback", "::ffff:0:127.0.0.1", "::ffff:0:7f00:1")
  all("private", "::ffff:10.0.0.1", "::ffff:c0a8:1", "64:ff9b::a00:1", "2002:a00:1::")
  all("never", "::ffff:169.254.169.254", "::ffff:0:0", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "64:ff9b:1::1")
  all("public", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1")
})
