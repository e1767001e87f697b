/** Hosts that only this machine can reach. */

const thisMachine = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i

/** @param host  a host name or an address, as in an address to listen at or in a URL */
export const isThisMachine = (host: string): boolean => thisMachine.test(host)
