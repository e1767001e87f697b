import assert from "node:assert/strict"
import test from "node:test"
import { hasDotSegment, isHealthCheck, isInternal, parseTarget } from "./target.js"

test("the prefix is removed, and the rest of the path is unchanged", () => {
  const pathOf = (url: string) => parseTarget(url)?.path

  assert.deepEqual(parseTarget("/d/chat/threads/1?limit=2"), {
    name: "chat",
    prefix: "/d/chat",
    path: "/threads/1?limit=2",
  })
  assert.equal(pathOf("/d/chat"), "/")
  assert.equal(pathOf("/d/chat/"), "/")
  assert.equal(pathOf("/d/chat?a=1"), "/?a=1")
  assert.equal(pathOf("/d/chat//threads"), "/threads")
  assert.equal(pathOf("/d/chat/store/a%2Fb/%C3%A9"), "/store/a%2Fb/%C3%A9")
  assert.equal(pathOf("/d/chat/x?next=/d/other/../y"), "/x?next=/d/other/../y")
  assert.equal(pathOf("http://elsewhere:80/d/chat/ok"), "/ok")
})

test("a path that is not below a name has no target, and names are never decoded", () => {
  for (const url of ["/", "/d", "/d/", "/d//x", "/D/chat", "/x/d/chat", "*", "/d/?x", "chat"]) {
    assert.equal(parseTarget(url), undefined, url)
  }
  assert.equal(parseTarget("/d/chat%2Fx/y")?.name, "chat%2Fx")
  assert.equal(parseTarget("/d/../d/chat")?.name, "..")
})

test("dot segments are detected in every encoding, and dots in names are allowed", () => {
  for (const path of ["/..", "/../x", "/a/./b", "/a/%2e%2e/b", "/a/.%2E", "/a\\..\\b", "/..?x"]) {
    assert.equal(hasDotSegment(path), true, path)
  }
  for (const path of ["/a..b", "/...", "/.hidden", "/a/b.c", "/x?y=/../z", "/a%2F..%2Fb"]) {
    assert.equal(hasDotSegment(path), false, path)
  }
})

test("the control plane's paths are detected in every spelling", () => {
  const spellings = ["/internal", "/Internal/x", "/%69nternal/x", "/internal%2Fstatus", "/\\internal/x"]
  for (const path of spellings) assert.equal(isInternal(path), true, path)
  for (const path of ["/internals", "/threads/internal", "/x?y=/internal/"]) assert.equal(isInternal(path), false, path)
})

test("only the exact path of the health check counts as one", () => {
  assert.equal(isHealthCheck("GET", "/ok?check_db=1"), true)
  assert.equal(isHealthCheck("HEAD", "/ok"), true)
  assert.equal(isHealthCheck("POST", "/ok"), false)
  for (const path of ["/ok/", "/okay", "/threads/ok", "/"]) assert.equal(isHealthCheck("GET", path), false, path)
})
