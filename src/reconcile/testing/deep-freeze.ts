/** Makes every change of `value` throw, Maps and Sets included. */
export function deepFreeze<T>(value: T): T {
  if (value === null || typeof value !== 'object' || Object.isFrozen(value)) return value
  if (value instanceof Map || value instanceof Set) {
    const refuse = () => {
      throw new TypeError('a frozen collection was changed')
    }
    Object.assign(value, value instanceof Map ? { set: refuse } : { add: refuse }, { delete: refuse, clear: refuse })
    value.forEach((item: unknown) => deepFreeze(item))
  } else {
    Object.values(value).forEach((item) => deepFreeze(item))
  }
  return Object.freeze(value)
}
