import assert from "node:assert/strict"
import { test } from "node:test"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { testWebhooks } from "./testing/settings.js"
import { acceptedWebhook, type UrlRules, webhookProblem } from "./url-rules.js"

const usual: UrlRules = { ...testWebhooks, allowsLoopback: false }

const refused = (rules: UrlRules, reason: RegExp, ...urls: string[]) => {
  for (const url of urls) assert.match(webhookProblem(rules, url) ?? "it is allowed", reason, url)
}
const allowed = (rules: UrlRules, ...urls: string[]) => {
  for (const url of urls) assert.equal(webhookProblem(rules, url), undefined, url)
}

test("every public host is allowed, unless the project lists domains (W4)", () => {
  allowed(usual, "https://example.com/hook?a=b", "http://example.com:8080")
  allowed(usual, "https://8.8.8.8/", "https://[2606:4700::1]/")
  const rules = { ...usual, allowedDomains: ["hooks.example.com", "*.Corp.example"] }

  allowed(rules, "https://hooks.example.com/a", "https://HOOKS.example.com./", "https://a.b.corp.example/")
  refused(rules, /allowed_domains/, "https://example.com/", "https://corp.example/", "https://xcorp.example/")
  refused(rules, /allowed_domains/, "https://hooks.example.com.evil.net/", "https://hooks.example.com@evil.net/")
})

test("the project's rules for ports, https and length apply", () => {
  refused({ ...usual, requiresHttps: true }, /https/, "http://example.com/")
  const rules = { ...usual, allowedPorts: [443, 8443] }
  allowed(rules, "https://example.com/", "https://example.com:8443/")
  refused(rules, /port/, "http://example.com/", "https://example.com:444/")
  refused({ ...usual, maxUrlChars: 20 }, /20 characters/, "https://example.com/hook")
})

test("loopback, private networks and cloud metadata are rejected in every spelling (W4)", () => {
  const byName = ["http://localhost/", "http://a.localhost./", "http://127.0.0.1/", "http://127.1/"]
  const byNumber = ["http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://[::1]/"]
  const embedded = ["http://[::ffff:127.0.0.1]/", "http://user:word@127.0.0.1:80/"]
  const metadata = ["http://169.254.169.254/latest", "http://0.0.0.0/", "http://0/", "http://[fe80::1]/"]
  refused(usual, /is a loopback address/, ...byName, ...byNumber, ...embedded)
  refused(usual, /private network/, "http://10.0.0.1/", "http://192.168.1.1/", "http://[fd00::1]/", "http://0xa.1/")
  refused(usual, /must never call/, ...metadata)
  allowed({ ...usual, allowsLoopback: true }, "http://localhost:3000/", "http://127.0.0.1/", "http://[::1]/")
  allowed({ ...usual, allowsPrivate: true }, "http://10.0.0.1/")
  refused({ ...usual, allowsLoopback: true, allowsPrivate: true }, /must never call/, "http://169.254.169.254/")
})

test("text that is not a URL is rejected", () => {
  refused(usual, /expected/, "", "example.com", "ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)")
  const unfit = ["https://", "https://exa mple.com/", "https://example.com/\u0000", "https://example.com/\n"]
  refused(usual, /expected/, ...unfit)
  refused(usual, /expected/, "https://例え.jp/", "https://example.com:99999/", "//example.com/", "/\\example.com/")
})

test("a path is a route of the project's app", () => {
  refused(usual, /disable_loopback/, "/custom/hook")
  refused({ ...usual, allowsLoopback: true }, /http\.app/, "/custom/hook")
  allowed({ ...usual, allowsLoopback: true, hasOwnRoutes: true }, "/custom/hook?a=b")
})

test("a run's webhook is accepted, rejected with its path, or ignored when webhooks are disabled", () => {
  assert.equal(acceptedWebhook(usual, null), undefined)
  assert.equal(acceptedWebhook(usual, "https://example.com/"), "https://example.com/")
  assert.throws(() => acceptedWebhook(usual, "http://127.0.0.1/"), /body\.webhook: 127\.0\.0\.1 is a loopback address/)
  assert.throws(() => acceptedWebhook(usual, "nonsense"), InvalidInput)
  assert.equal(acceptedWebhook({ ...usual, isDisabled: true }, "http://127.0.0.1/"), undefined)
})
