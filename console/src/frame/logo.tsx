/** Three steps, the last one the highest. */
export function Logo({ size = 18 }: { size?: number }) {
  return (
    <svg className="logo" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <rect x="1" y="10" width="4" height="4" rx="1" />
      <rect x="6" y="6" width="4" height="8" rx="1" />
      <rect x="11" y="2" width="4" height="12" rx="1" />
    </svg>
  )
}
