import { type TestContext, test } from "node:test"

/**
 * `test` for a file whose tests need something that may be missing.
 * @param why  it is missing, which skips them; else false
 */
export const testUnless =
  (why: string | false | undefined) =>
  (name: string, work: (t: TestContext) => Promise<void> | void): void =>
    void test(name, { skip: why ?? false }, work)
