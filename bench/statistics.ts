/** The p-th percentile (0…100) by the nearest rank; NaN of nothing. */
export function percentile(values: number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil((p / 100) * sorted.length) - 1)] ?? Number.NaN
}

export const median = (values: number[]) => percentile(values, 50)

export function rounded(value: number, digits = 1): number {
  return Number(value.toFixed(digits))
}
