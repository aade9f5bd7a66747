import { posix } from 'node:path'
import type { EngineFile } from './engine.js'

const blockBytes = 512
/** A longer path does not fit into a header and goes before it in a record of its own. */
const nameBytesMost = 100

/** A tar archive of these files alone: folders are left to whoever unpacks it, so that none of the image's changes its mode. */
export function tarOf(files: EngineFile[], mtimeSeconds: number): Buffer {
  const entries = files.flatMap((file) => {
    const name = posix.normalize(file.path).replace(/^\/+/, '')
    return [...longName(name), header(name, file.content.length, '0', { ...file, mtimeSeconds }), padded(file.content)]
  })
  return Buffer.concat([...entries, Buffer.alloc(2 * blockBytes)])
}

/** GNU's way, which every unpacker knows. */
function longName(name: string): Buffer[] {
  if (Buffer.byteLength(name) <= nameBytesMost) return []
  const content = Buffer.from(`${name}\0`)
  const plain = { mode: 0o644, owner: { uid: 0, gid: 0 }, mtimeSeconds: 0 }
  return [header('././@LongLink', content.length, 'L', plain), padded(content)]
}

function header(
  name: string,
  bytes: number,
  type: '0' | 'L',
  { mode, owner, mtimeSeconds }: Pick<EngineFile, 'mode' | 'owner'> & { mtimeSeconds: number },
): Buffer {
  const block = Buffer.alloc(blockBytes)
  Buffer.from(name).copy(block, 0, 0, nameBytesMost)
  block.write(octal(mode & 0o7777, 7), 100)
  writeId(block, owner.uid, 108)
  writeId(block, owner.gid, 116)
  block.write(octal(bytes, 11), 124)
  block.write(octal(mtimeSeconds, 11), 136)
  block.write(type, 156)
  block.write('ustar  \0', 257)
  // Its own eight bytes count as blanks.
  const sum = block.reduce((total, byte) => total + byte, 8 * 32)
  block.write(`${octal(sum, 6)}\0 `, 148)
  return block
}

/** A number beyond seven octal digits stands as a binary one, marked by its first bit. */
function writeId(block: Buffer, id: number, at: number): void {
  if (id < 8 ** 7) return void block.write(octal(id, 7), at)
  block[at] = 0x80
  block.writeUIntBE(id, at + 2, 6)
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0')
}

function padded(content: Buffer): Buffer {
  return Buffer.concat([content, Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes)])
}
