import { Inject, Injectable } from '@nestjs/common'
import { OrphanRepository, type InventoryEntry, type LateResource } from '../../persistence/orphan.repository.js'
import { ResourceRepository } from '../../persistence/resource.repository.js'
import { isReconciledKind } from '../../reconcile/kind.js'
import { API_OPTIONS, type ApiOptions } from '../api.options.js'
import { Nudger } from '../nudge/nudger.service.js'
import { teardownSpec } from '../orphan/teardown-spec.js'

/** Compares what a node has with what the database knows. */
@Injectable()
export class Inventory {
  constructor(
    @Inject(OrphanRepository) private readonly orphans: OrphanRepository,
    @Inject(ResourceRepository) private readonly resources: ResourceRepository,
    @Inject(Nudger) private readonly nudger: Nudger,
    @Inject(API_OPTIONS) private readonly options: ApiOptions,
  ) {}

  /**
   * What nobody ever knew is shown as an orphan; what was deleted and came late is torn down once more; and who has
   * something where it does not look begins to look there.
   */
  async record(node: string, entries: readonly InventoryEntry[]): Promise<void> {
    const { late, found } = await this.orphans.record(node, entries, new Date(this.options.clock()))
    for (const resource of late) await this.tearDown(node, resource)
    if (found.length > 0) this.nudger.allSoon(await this.resources.addressesOf(found))
  }

  private async tearDown(nodeId: string, { id, kind }: LateResource): Promise<void> {
    if (!isReconciledKind(kind)) return
    const node = await this.resources.get(nodeId, 'node')
    if (!node) return
    const revived = await this.orphans.revive({ id, kind }, teardownSpec(kind, node.name), new Date(this.options.clock()))
    if (!revived) return
    this.options.log.warn({ resource: id, node: nodeId }, 'containers of a deleted resource appeared late: they are removed')
    this.nudger.allSoon(await this.resources.addressesOf([id]))
  }
}
