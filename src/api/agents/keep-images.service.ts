import { Inject, Injectable } from '@nestjs/common'
import { ApplicationRepository } from '../../persistence/application.repository.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'

/** A fleet's heartbeats share one answer for this long; images are cleaned up only when they are much older. */
const freshMs = 10_000

/** Which images clean-up on the nodes must keep. */
@Injectable()
export class KeepImages {
  private read: Promise<string[]> | undefined
  private readAt = 0

  constructor(
    @Inject(ApplicationRepository) private readonly applications: ApplicationRepository,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  current(): Promise<string[]> {
    const now = this.options.clock()
    // Also when the clock was set back: else the answer would be kept until the clock has caught up.
    if (!this.read || Math.abs(now - this.readAt) > freshMs) {
      this.readAt = now
      this.read = this.applications.imagesToKeep()
      this.read.catch(() => (this.read = undefined))
    }
    return this.read
  }
}
