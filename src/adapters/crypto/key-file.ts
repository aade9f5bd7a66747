import { Keyring, type Sealed } from './keyring.js'

/**
 * The key file as a process sees it that outlives rotations: it is read again when something is sealed with a key that
 * was not in it, and each time that something is to be sealed.
 */
export class KeyFile {
  private known: Keyring | null = null

  /** `read`: the file's text, null when there is none. */
  constructor(
    private readonly path: string,
    private readonly read: () => string | null,
  ) {}

  /** Under the key that the file names now: one that was read earlier may be about to go. */
  seal(plain: Buffer, place: string): Sealed {
    return this.reread().seal(plain, place)
  }

  open(value: Sealed, place: string): Buffer {
    const ring = this.known?.has(value.keyId) ? this.known : this.reread()
    return ring.open(value, place)
  }

  private reread(): Keyring {
    const text = this.read()
    if (text === null) throw new Error(`the master key ${this.path} is missing`)
    this.known = Keyring.parse(text)
    return this.known
  }
}
