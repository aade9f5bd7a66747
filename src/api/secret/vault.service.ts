import { Inject, Injectable } from '@nestjs/common'
import { GraphQLError } from 'graphql'
import { timingSafeEqual } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KeyNotKnown, PlacedValue, SealableValue } from '../../persistence/sealed.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'

/** A rotation makes its key known some milliseconds after it has written it to the file. */
const triesMost = 10
const betweenTriesMs = 100

/** Where values are sealed and opened: the one part of the API that knows the master key. */
@Injectable()
export class Vault {
  constructor(@Inject(API_OPTIONS) private readonly options: ApiOptions) {}

  sealable(plain: Buffer): SealableValue {
    return {
      seal: (place) => this.options.keys.seal(plain, place),
      equals: (sealed) => this.holds(sealed, plain),
    }
  }

  /** Fails when it does not open: it is never garbage. */
  open({ place, keyId, sealed }: PlacedValue): string {
    return this.options.keys.open({ keyId, sealed: Buffer.from(sealed) }, place).toString('utf8')
  }

  /** Repeats a write that met a rotation. */
  async sealing<Result extends { outcome: string }>(write: () => Promise<Result | KeyNotKnown>): Promise<Exclude<Result, KeyNotKnown>> {
    for (let tries = 1; ; tries++) {
      const result = await write()
      if (result.outcome !== 'keyNotKnown') return result as Exclude<Result, KeyNotKnown>
      if (tries === triesMost)
        throw new GraphQLError(
          "nothing was written: this API reads a master key that is not the database's current one. Try again; if it stays, bring its copy of the key file up to date",
          { extensions: { code: 'NOT_AVAILABLE' } },
        )
      await sleep(betweenTriesMs)
    }
  }

  private holds({ place, keyId, sealed }: PlacedValue, plain: Buffer): boolean {
    try {
      const opened = this.options.keys.open({ keyId, sealed: Buffer.from(sealed) }, place)
      return opened.length === plain.length && timingSafeEqual(opened, plain)
    } catch {
      return false // what opens no more is replaced by what is given now
    }
  }
}
