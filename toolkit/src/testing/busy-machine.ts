/**
 * A limit for tests of time limits, in milliseconds. What hangs exceeds it soon; what answers stays below it, also when other processes use
 * all processors. Limits below a second have failed tests whose answering part was late.
 */
export const lateOnBusyMachineMs = 2000
