/** For tests of parts of the pipeline: a context of which a test gives only what they use. */
import { randomBytes } from "node:crypto"
import { MemberFailures } from "@superstep/toolkit/log/member-failures"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { realClock } from "@superstep/toolkit/time/clock"
import { masterKey } from "../../secrets/seal.js"
import type { PipelineContext } from "../context.js"

export const pipelineContext = (given: object): PipelineContext =>
  ({
    key: masterKey(randomBytes(32)),
    log: silent,
    clock: realClock,
    failures: new MemberFailures(silent),
    crashPoint: () => undefined,
    ...given,
  }) as unknown as PipelineContext
