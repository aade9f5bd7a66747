import { createServer } from 'node:net'

/**
 * Holds a name on this machine until it is let go, by the function that it resolves with, or this process ends, whatever
 * ends it; null when another process holds it. An abstract socket (man 7 unix), which unlike a file has no content that is
 * half written and leaves nothing stale behind. Names have at most 100 bytes.
 */
export function holdName(name: string): Promise<(() => Promise<void>) | null> {
  return new Promise((resolve, reject) => {
    const socket = createServer((client) => client.destroy())
    socket.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(null) : reject(error)))
    socket.listen(`\0${name}`, () => resolve(() => new Promise((closed) => socket.close(() => closed()))))
    socket.unref()
  })
}
