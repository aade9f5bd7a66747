/** Frames of the exec WebSocket: binary, a byte that says what it is, then what it carries. */
export const clientFrame = { stdin: 0, end: 1, resize: 2 } as const
export const serverFrame = { stdout: 0, stderr: 1, exit: 2 } as const

export const execProtocol = 'evenkeel.exec.v1'

export type ClientFrame = { stdin: Buffer } | { end: true } | { columns: number; rows: number }

const sizeMost = 1_000

/** null for what is no frame. */
export function toClientFrame(bytes: Buffer): ClientFrame | null {
  const payload = bytes.subarray(1)
  switch (bytes[0]) {
    case clientFrame.stdin:
      return { stdin: payload }
    case clientFrame.end:
      return { end: true }
    case clientFrame.resize:
      return payload.length === 4 ? sizeOf(payload) : null
    default:
      return null
  }
}

function sizeOf(payload: Buffer): ClientFrame | null {
  const [columns, rows] = [payload.readUInt16BE(0), payload.readUInt16BE(2)]
  return [columns, rows].every((n) => n >= 1 && n <= sizeMost) ? { columns, rows } : null
}

export function fromServer(type: keyof typeof serverFrame, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([serverFrame[type]]), payload])
}
